/**
 * Plans: what each child process of a model opens, made from its package and the configuration. An encoder's plan is its
 * part of the manifest with every default filled in and absolute paths.
 */
import { availableParallelism } from 'node:os'
import { join, posix } from 'node:path'
import type { Log } from '../../base/index.js'
import { headNames, type HeadName } from '../../contract/index.js'
import type { HeadColumn, HeadPorts, MatrixWidths } from './head-ports.js'
import { ModelError } from '../model.js'
import type { MostlyOnCpu } from './placement.js'
import { featureNames, headGraphs, headsOf, namedGraphs } from '../package/parse-manifest.js'
import {
  headSettings,
  imageSettings,
  textSettings,
  type ImageSettings,
  type TextSettings,
} from '../package/settings.js'
import type { GraphManifest, HeadManifest, Manifest } from '../package/manifest.js'
import type { PackageFiles } from '../package/package-files.js'
import type { ModelPackage } from '../package/read-package.js'

const intraOpThreadsDefault = Math.min(2, availableParallelism())

/** A file of a package. The process that uses it reads it, and refuses bytes with another hash. */
export interface FilePlan {
  /** Absolute path. */
  readonly file: string
  readonly sha256: string
  /** A private copy, which is read instead. Default: there is none. */
  readonly copy?: string
}

/** An ONNX graph and how to run it. */
export interface GraphPlan extends FilePlan {
  /** Tried in this order, each alone. */
  readonly providers: readonly string[]
  readonly intraOpThreads: number
  /** Default `refuse`. */
  readonly mostlyOnCpu?: MostlyOnCpu
  /** Rows of each run. Default: any number. */
  readonly batch?: number
  /** Files of weights. Default: there are none. */
  readonly externalData?: readonly DataPlan[]
}

/** A file in which a graph keeps weights. */
export interface DataPlan extends FilePlan {
  /** Relative to the directory of the graph, in its simplest form. */
  readonly location: string
}

/** The roles that serve batches. */
export type ServingPlan = HeadsPlan | TextPlan | ImagePlan
export type Role = ServingPlan['role']

/** All heads of a model: one graph or several, over the same rows. */
export interface HeadsPlan {
  readonly role: 'heads'
  readonly graphs: readonly HeadGraphPlan[]
  readonly widths: MatrixWidths
  /** The heads in the order of the reply; each comes from exactly one graph. */
  readonly heads: readonly HeadName[]
}

export type HeadGraphPlan = GraphPlan & HeadPorts
export type TextPlan = Omit<TextSettings, 'tokenizer'> &
  GraphPlan & { readonly role: 'text'; readonly tokenizer: FilePlan }
/** What the tokens of a text depend on. */
export type TextReaderPlan = Pick<
  TextPlan,
  'tokenizer' | 'template' | 'tokens_max' | 'pad_token_id' | 'golden_tokens'
>
export type ImagePlan = ImageSettings & GraphPlan & { readonly role: 'image' }

export interface PlanOptions {
  /** ONNX Runtime's names, such as `cuda` and `cpu`; of each graph the first that can serve it does. */
  readonly executionProviders: readonly string[]
  /** Default: the manifest's number, else 2, or 1 on a single core. */
  readonly intraOpThreads?: number
  /** Default `refuse`. */
  readonly mostlyOnCpu?: MostlyOnCpu
  readonly log: Log
}

export const timeLimitMsDefault = 30_000
export const latencyMsMaxDefault = 1000

/** What loading a model takes. */
export interface LoadOptions extends PlanOptions {
  readonly modelsDir: string
  readonly version: string
  /** The directory of private copies of the files, which processes read. Default: they read the package. */
  copiesDir?: string
  /** Time limit of one batch; past it the process is replaced. Texts have it on top of their budget. Default 30 s. */
  readonly timeLimitMs?: number
  /** Time limit of the median batch of a full pool: a slower model fails its checks. Default 1 s. */
  readonly latencyMsMax?: number
  /** Resident memory of each process, in bytes; past it the process is replaced. Linux only. Default 4 GiB. */
  readonly processBytesMax?: number
  /** Called when a process that served has ended. The service starts another one. */
  readonly onProcessLost?: (role: Role) => void
  /** Cancels the load: it rejects with a `ModelDownError`, and its processes end. */
  readonly signal?: AbortSignal
}

export interface ModelPlans {
  readonly heads: HeadsPlan
  readonly text: TextPlan | null
  readonly image: ImagePlan | null
}

/** Throws a `ModelError` when a graph is left without a provider. */
export function planModel(
  { directory, manifest }: ModelPackage,
  options: PlanOptions,
  files: Pick<PackageFiles, 'copyOf'> | null = null,
): ModelPlans {
  const providers = chooseProviders(manifest, options)
  const planFile = ({ file, sha256 }: FilePlan): FilePlan => {
    const copy = files?.copyOf(file)
    return { file: join(directory, file), sha256, ...(copy === undefined ? {} : { copy }) }
  }
  const planGraph = (graph: GraphManifest): GraphPlan => ({
    ...planGraphFiles(graph, planFile),
    providers: providers.get(graph)!,
    intraOpThreads:
      options.intraOpThreads ?? graph.intra_op_threads ?? manifest.intra_op_threads ?? intraOpThreadsDefault,
    ...(options.mostlyOnCpu === undefined ? {} : { mostlyOnCpu: options.mostlyOnCpu }),
    ...(graph.batch === undefined ? {} : { batch: graph.batch }),
  })
  const { text, image } = manifest
  return {
    heads: {
      role: 'heads',
      graphs: headGraphs(manifest).map((graph) => ({ ...planGraph(graph), ...planHeadPorts(graph) })),
      widths: matrixWidths(manifest),
      heads: headsOf(manifest),
    },
    text:
      text === undefined
        ? null
        : { ...textSettings(text), ...planGraph(text), role: 'text', tokenizer: planFile(text.tokenizer) },
    image: image === undefined ? null : { ...imageSettings(image), ...planGraph(image), role: 'image' },
  }
}

export type GraphFiles = FilePlan & Pick<GraphPlan, 'externalData'>

export function planGraphFiles(graph: GraphManifest, planFile: (file: FilePlan) => FilePlan): GraphFiles {
  const { external_data: data } = graph
  if (data === undefined) return planFile(graph)
  const folder = posix.dirname(graph.file)
  const externalData = data.map((one) => ({ ...planFile(one), location: posix.relative(folder, one.file) }))
  return { ...planFile(graph), externalData }
}

export function matrixWidths(manifest: Manifest): MatrixWidths {
  const { text, image, galleries } = manifest
  return {
    features: featureNames(manifest).length,
    text: text?.dim ?? 0,
    image: image?.dim ?? 0,
    gallery_index: galleries === undefined ? 0 : 1,
  }
}

/** The ports that a graph of heads must have. */
export function planHeadPorts({ inputs, outputs, batch }: HeadManifest): HeadPorts {
  return {
    inputs,
    ...(batch === undefined ? {} : { batch }),
    heads: headNames.flatMap((head): HeadColumn[] => {
      const output = outputs[head]
      if (output === undefined) return []
      const { name, ...settings } = headSettings(output)
      return [{ head, output: name, ...settings }]
    }),
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
  for (const { member, graph } of namedGraphs(manifest)) {
    const isOwn = graph.execution_providers !== undefined
    const listed: readonly string[] | undefined = graph.execution_providers ?? manifest.execution_providers
    const usable = executionProviders.filter((provider) => listed?.includes(provider) ?? true)
    for (const provider of executionProviders.filter((name) => !usable.includes(name))) {
      const [where, lister] = isOwn ? [` for ${member}`, `${member} in the manifest`] : ['', 'the manifest']
      excluded.set(`execution provider ${provider} is not used${where}: ${lister} does not list it`, provider)
    }
    if (usable.length === 0) {
      throw new ModelError(
        `model ${manifest.model_version} has no execution provider${isOwn ? ` for ${member}` : ''}: configured are ` +
          `${executionProviders.join(', ') || 'none'}, its manifest lists ${listed?.join(', ') ?? 'any'}`,
      )
    }
    chosen.set(graph, usable)
  }
  for (const [message, provider] of excluded) log.warn({ provider }, message)
  return chosen
}
