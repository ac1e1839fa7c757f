/**
 * Makes the plans of a model's child processes from its package and the configuration, with every default filled in.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { headNames } from '../../contract/index.js'
import type { ModelLog } from '../log.js'
import { ModelError } from '../model.js'
import {
  featureNames,
  headGraphs,
  headsOf,
  namedGraphs,
  type GraphManifest,
  type HeadManifest,
  type ImageManifest,
  type Manifest,
  type ModelPackage,
  type TextManifest,
} from '../package/index.js'
import type {
  GraphPlan,
  HeadColumn,
  HeadGraphPlan,
  HeadPorts,
  HeadsPlan,
  HeadWidths,
  ImagePlan,
  ImagePorts,
  MatrixName,
  TextPlan,
  TextPorts,
} from './plan.js'

const intraOpThreadsDefault = Math.min(2, availableParallelism())

export interface PlanOptions {
  /** ONNX Runtime's names, such as `cuda` and `cpu`; of each graph the first that can serve it does. */
  readonly executionProviders: readonly string[]
  /** Default: the manifest's number, else 2, or 1 on a single core. */
  readonly intraOpThreads?: number
  readonly log: ModelLog
}

export interface ModelPlans {
  readonly heads: HeadsPlan
  readonly text: TextPlan | null
  readonly image: ImagePlan | null
}

/** Throws a `ModelError` when a graph is left without a provider. */
export function planModel({ directory, manifest }: ModelPackage, options: PlanOptions): ModelPlans {
  const providers = chooseProviders(manifest, options)
  const planGraph = (graph: GraphManifest): GraphPlan => ({
    file: join(directory, graph.file),
    sha256: graph.sha256,
    providers: providers.get(graph) as readonly string[],
    intraOpThreads:
      options.intraOpThreads ?? graph.intra_op_threads ?? manifest.intra_op_threads ?? intraOpThreadsDefault,
  })
  const { text, image } = manifest
  return {
    heads: planHeads(manifest, planGraph),
    text: text === undefined ? null : planText(text, directory, planGraph(text)),
    image: image === undefined ? null : planImage(image, planGraph(image)),
  }
}

function planHeads(manifest: Manifest, planGraph: (graph: GraphManifest) => GraphPlan): HeadsPlan {
  return {
    role: 'heads',
    graphs: headGraphs(manifest).map((graph): HeadGraphPlan => ({
      ...planGraph(graph),
      ...planHeadPorts(graph),
    })),
    ...planHeadWidths(manifest),
    heads: headsOf(manifest),
  }
}

/** Widths of the matrices of the heads; 0: no graph reads that matrix. */
export function planHeadWidths(manifest: Manifest): HeadWidths {
  const graphs = headGraphs(manifest)
  const uses = (matrix: MatrixName): boolean => graphs.some(({ inputs }) => inputs[matrix] !== undefined)
  return {
    featureCount: uses('features') ? featureNames(manifest).length : 0,
    textDim: uses('text') ? (manifest.text?.dim ?? 0) : 0,
    imageDim: uses('image') ? (manifest.image?.dim ?? 0) : 0,
  }
}

/** The ports that a graph of heads must have. */
export function planHeadPorts({ inputs, outputs }: HeadManifest): HeadPorts {
  return {
    inputs,
    heads: headNames.flatMap((head): HeadColumn[] => {
      const output = outputs[head]
      if (output === undefined) return []
      const { name, column = null, activation = 'none' } = output
      return [{ head, output: name, column, activation }]
    }),
  }
}

function planText(text: TextManifest, directory: string, graph: GraphPlan): TextPlan {
  const { tokenizer, template, normalize = false } = text
  return {
    role: 'text',
    ...graph,
    tokenizer: { file: join(directory, tokenizer.file), sha256: tokenizer.sha256 },
    template,
    tokensMax: text.tokens_max,
    normalize,
    ...planTextPorts(text),
    padTokenId: text.pad_token_id ?? null,
    goldenTokens: text.golden_tokens ?? [],
  }
}

/** The ports that the graph of a text encoder must have. */
export function planTextPorts({ inputs, output, dim, pooling }: TextManifest): TextPorts {
  return {
    dim,
    pooling: pooling ?? null,
    inputs: {
      inputIds: inputs?.input_ids ?? 'input_ids',
      attentionMask: inputs?.attention_mask ?? 'attention_mask',
      tokenTypeIds: inputs?.token_type_ids ?? 'token_type_ids',
    },
    output: output ?? 'last_hidden_state',
  }
}

function planImage(image: ImageManifest, graph: GraphPlan): ImagePlan {
  const { mean, std } = image
  return {
    role: 'image',
    ...graph,
    ...planImagePorts(image),
    interpolation: image.interpolation ?? 'bicubic',
    channels: image.channels ?? 'rgb',
    scale: image.scale ?? 1 / 255,
    mean,
    std,
  }
}

/** The ports that the graph of an image encoder must have. */
export function planImagePorts({
  input,
  output,
  dim,
  resize,
  crop,
  layout,
  pool,
}: ImageManifest): ImagePorts {
  return {
    input,
    output,
    dim,
    resize: 'shortest_edge' in resize ? { shortestEdge: resize.shortest_edge } : resize,
    crop: crop ?? null,
    layout: layout ?? 'nchw',
    pool: pool ?? null,
  }
}

/** The providers to try for each graph: those configured that the manifest allows. Logs those that it does not. */
function chooseProviders(
  manifest: Manifest,
  { executionProviders, log }: PlanOptions,
): Map<GraphManifest, readonly string[]> {
  const chosen = new Map<GraphManifest, readonly string[]>()
  // A list for the whole model may exclude a provider for several graphs, and is logged once.
  const excluded = new Map<string, string>()
  for (const { place, graph } of namedGraphs(manifest)) {
    const isOwn = graph.execution_providers !== undefined
    const listed: readonly string[] | undefined = graph.execution_providers ?? manifest.execution_providers
    const usable = executionProviders.filter((provider) => listed?.includes(provider) ?? true)
    for (const provider of executionProviders.filter((name) => !usable.includes(name))) {
      const [where, lister] = isOwn ? [` for ${place}`, `${place} in the manifest`] : ['', 'the manifest']
      excluded.set(`execution provider ${provider} is not used${where}: ${lister} does not list it`, provider)
    }
    if (usable.length === 0) {
      throw new ModelError(
        `model ${manifest.model_version} has no execution provider${isOwn ? ` for ${place}` : ''}: configured are ` +
          `${executionProviders.join(', ') || 'none'}, its manifest lists ${listed?.join(', ') ?? 'any'}`,
      )
    }
    chosen.set(graph, usable)
  }
  for (const [message, provider] of excluded) log.warn({ provider }, message)
  return chosen
}
