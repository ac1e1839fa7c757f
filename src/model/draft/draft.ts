/**
 * Drafts the manifest of a package from its files: the graphs are opened and run, configuration files of libraries are read.
 * Each member has a finding that states where its value comes from.
 */
import type { Log } from '../../base/index.js'
import { findFeature, nearestFeature } from '../features/catalogue.js'
import { ModelError } from '../model.js'
import type { FeatureColumn, HeadManifest, Manifest } from '../package/manifest.js'
import type { MatrixWidths } from '../sessions/head-ports.js'
import { portNamed, portText } from '../sessions/ports.js'
import { draftHeads, runBatch, type HeadGraph, type TrialResult } from './draft-heads.js'
import { draftImage } from './draft-image.js'
import { draftText } from './draft-text.js'
import {
  chooseFeatures,
  givenSource,
  packageSources,
  type ChosenFeatures,
  type FeatureSource,
} from './feature-source.js'
import { Findings, guess, inOrder, read, type Finding } from './findings.js'
import { kindOf, preferredEncoder, withoutVariants, type GraphKind } from './graph-kinds.js'
import { draftInputs } from './head-inputs.js'
import { Inventory } from './inventory.js'
import { trialBatch } from './trial-batch.js'
import { openTrialGraph, type TrialGraph } from './trial-graph.js'

export interface DraftOptions {
  readonly directory: string
  readonly version: string
  /** A file, or names separated by commas. */
  readonly features?: { readonly given: string; readonly isFile: boolean } | undefined
  readonly log: Log
}

export interface Draft {
  /** Lacks members that are needed. null: there is no graph of heads. */
  readonly manifest: Manifest | null
  readonly findings: readonly Finding[]
  /** Graphs that the manifest does not name, each with the reason. */
  readonly unused: readonly string[]
}

const headGraphsMax = 4

/** Rejects with a `ModelError` if the directory cannot be read, or the given features cannot. */
export async function draftManifest({ directory, version, features, log }: DraftOptions): Promise<Draft> {
  const inventory = await Inventory.read(directory)
  const given = features && (await givenSource(features.given, features.isFile))
  const findings = new Findings()
  const opened = await openGraphs(inventory, log)
  try {
    return await draftOf(inventory, opened, { version, given: given ?? null, findings })
  } finally {
    await Promise.all(opened.graphs.map((graph) => graph.close()))
  }
}

interface Opened {
  readonly graphs: readonly TrialGraph[]
  readonly unused: string[]
}

async function openGraphs(inventory: Inventory, log: Log): Promise<Opened> {
  const files = inventory.ending('.onnx')
  if (files.length === 0) throw new ModelError(`${inventory.directory} has no file that ends in .onnx`)
  const graphs: TrialGraph[] = []
  const unused: string[] = []
  for (const file of files)
    await openTrialGraph(inventory, file, log).then(
      (graph) => graphs.push(graph),
      (error: unknown) => unused.push(`${file}: ${(error as Error).message}`),
    )
  return { graphs, unused }
}

interface Context {
  readonly version: string
  readonly given: FeatureSource | null
  readonly findings: Findings
}

async function draftOf(inventory: Inventory, opened: Opened, context: Context): Promise<Draft> {
  const { version, findings } = context
  const unused = [...opened.unused]
  const byKind = (kind: GraphKind): TrialGraph[] =>
    opened.graphs.filter(({ ports }) => kindOf(ports) === kind)
  for (const { file, ports } of opened.graphs.filter(({ ports }) => kindOf(ports) === null))
    unused.push(
      `${file}: neither heads nor an encoder, by its inputs ${ports.inputs.map((port) => `${port.name} ${portText(port)}`).join(', ')}`,
    )
  const heads = withoutVariants(byKind('head'))
  if (heads.length === 0) {
    findings.need('head', 'add the graph that computes the heads: its inputs are float matrices [N, columns]')
    return { manifest: null, findings: findings.list, unused }
  }
  const encoderOf = (kind: 'text' | 'image'): TrialGraph | undefined => {
    const graphs = byKind(kind)
    const chosen = preferredEncoder(graphs)
    for (const { file } of graphs.filter((graph) => graph !== chosen))
      unused.push(`${file}: a package has one ${kind} encoder, and ${chosen?.file} was chosen`)
    return chosen
  }
  findings.take('model_version', read(version, 'the name of the directory'))
  findings.take('kind', guess('trained', 'transport-test is a model that predicts nothing'))
  const [textGraph, imageGraph] = [encoderOf('text'), encoderOf('image')]
  const text = textGraph && (await draftText(textGraph, inventory, findings))
  const image = imageGraph && (await draftImage(imageGraph, inventory, findings))
  const dims = { text: text?.dim ?? 0, image: image?.dim ?? 0 }
  for (const { file } of heads.slice(headGraphsMax))
    unused.push(`${file}: a package has at most ${headGraphsMax} graphs of heads`)
  const graphs = headGraphs(heads.slice(0, headGraphsMax), dims, findings)
  const drafted = await draftHeadPart(inventory, graphs, dims, context)
  const isRead = (encoder: 'text' | 'image'): boolean =>
    graphs.some(({ inputs }) => inputs[encoder] !== undefined)
  for (const [encoder, graph] of [
    ['text', textGraph],
    ['image', imageGraph],
  ] as const)
    if (graph !== undefined && !isRead(encoder)) unused.push(`${graph.file}: no head reads its vector`)
  const manifest: Manifest = {
    model_version: version,
    kind: 'trained',
    ...(drafted.features.length === 0 ? {} : { features: drafted.features }),
    ...(drafted.missing === 'nan' ? { missing: 'nan' as const } : {}),
    head: drafted.head.length === 1 ? (drafted.head[0] as HeadManifest) : [...drafted.head],
    ...(text && isRead('text') ? { text } : {}),
    ...(image && isRead('image') ? { image } : {}),
  }
  const stated = inOrder(findings.list).filter(
    ({ member, state }) => state === 'needed' || isStated(member, manifest),
  )
  const draft = [...new Set(stated.filter(({ state }) => state === 'guessed').map(({ member }) => member))]
  return { manifest: { ...manifest, draft }, findings: stated, unused }
}

/** What is known of an encoder that no head reads is left out. */
function isStated(member: string, manifest: Manifest): boolean {
  const [root] = member.split('.')
  return (root !== 'text' && root !== 'image') || manifest[root] !== undefined
}

/** Graphs whose inputs have no meaning here keep those that have. */
function headGraphs(
  heads: readonly TrialGraph[],
  dims: Readonly<Record<'text' | 'image', number>>,
  findings: Findings,
): HeadGraph[] {
  return heads.map((graph, index) => {
    const place = heads.length === 1 ? 'head' : `head[${index}]`
    const inputs = draftInputs(graph.ports.inputs, dims, place, findings)
    return { graph, place, inputs: inputs ?? {}, isRunnable: inputs !== null }
  })
}

interface HeadPart {
  readonly features: (string | FeatureColumn)[]
  readonly missing: 'imputed' | 'nan'
  readonly head: readonly HeadManifest[]
}

async function draftHeadPart(
  inventory: Inventory,
  graphs: readonly HeadGraph[],
  dims: Readonly<Record<'text' | 'image', number>>,
  context: Context,
): Promise<HeadPart> {
  const { findings } = context
  const width = featureWidth(graphs, findings)
  const chosen = width === 0 ? null : await featuresOf(inventory, width, context)
  const widths: MatrixWidths = { ...dims, features: width ?? chosen?.features.names.length ?? 0 }
  const table = chosen && { source: chosen.source, columns: chosen.features.columns }
  const batch = trialBatch(widths, chosen?.features.names ?? null, table)
  const results: (TrialResult | null)[] = []
  for (const head of graphs)
    results.push(
      !head.isRunnable
        ? null
        : await runBatch(head, batch, widths).catch((error: unknown) => {
            const problem = (error as Error).message
            findings.need(
              `${head.place}.outputs`,
              `the graph fails on a trial batch of ${batch.origin}: ${problem}${batchHint(head)}`,
            )
            return null
          }),
    )
  const head = draftHeads(graphs, results, findings)
  const missing = width === 0 ? 'imputed' : await missingOf(graphs, widths, batch, chosen, findings)
  return { features: featureMembers(chosen, widths.features, findings), missing, head }
}

function batchHint({ graph }: HeadGraph): string {
  return graph.ports.inputs.some(({ shape }) => typeof shape?.[0] === 'number')
    ? ': free its batch size: `python3 models/rewrite_graph.py free-batch IN.onnx OUT.onnx`'
    : ''
}

/** Columns of the feature inputs; 0: no graph has one, null: the graphs do not declare it. */
function featureWidth(graphs: readonly HeadGraph[], findings: Findings): number | null {
  const ports = graphs.flatMap(
    ({ graph, inputs }) => portNamed(graph.ports.inputs, inputs.features ?? '') ?? [],
  )
  if (ports.length === 0) return 0
  const widths = [...new Set(ports.map(({ shape }) => shape?.[1]).filter((size) => typeof size === 'number'))]
  if (widths.length > 1)
    findings.need(
      'features',
      `the graphs read ${widths.join(' and ')} features, but all graphs of a package read the same ones`,
    )
  return widths[0] ?? null
}

interface ChosenSource {
  readonly source: FeatureSource
  readonly features: ChosenFeatures
}

async function featuresOf(
  inventory: Inventory,
  width: number | null,
  { given, findings }: Context,
): Promise<ChosenSource | null> {
  const sources = given === null ? await packageSources(inventory) : [given]
  for (const source of sources) {
    const features = chooseFeatures(source, width)
    if (features !== null) return { source, features }
  }
  const columns = width === null ? 'its feature columns' : `its ${width} feature columns`
  const others = sources.map(({ from, names }) => {
    const known = names.filter((name) => findFeature(name) !== undefined).length
    return `${from} has ${names.length} names, ${known} of them in the catalogue`
  })
  const seen = others.length === 0 ? '' : `; ${others.join('; ')}`
  findings.need(
    'features',
    `the names of ${columns}, in order: pass --features with a file or a list of names${seen}`,
  )
  return null
}

/** Placeholders stand for names that are not known. */
function featureMembers(
  chosen: ChosenSource | null,
  width: number,
  findings: Findings,
): (string | FeatureColumn)[] {
  if (chosen === null) return Array.from({ length: width }, (_, index) => `column_${index + 1}`)
  const { source, features } = chosen
  findings.take(
    'features',
    read(features.names, source.from),
    `${features.names.length}: ${features.names.join(', ')}`,
  )
  const unknown = features.names.filter((name) => findFeature(name) === undefined)
  if (unknown.length > 0)
    findings.need(
      'features',
      `not in the catalogue: ${unknown.map((name) => `${name}${nearestFeature(name)}`).join(', ')}`,
    )
  return features.names.map((name) => {
    const inner = /^log1p\((.+)\)$/.exec(name)?.[1]
    return inner === undefined ? name : { name: inner, transform: 'log1p' }
  })
}

/** Whether missing features are NaN: only if the graphs accept that, and the table of the training has empty cells. */
async function missingOf(
  graphs: readonly HeadGraph[],
  widths: MatrixWidths,
  { matrices }: ReturnType<typeof trialBatch>,
  chosen: ChosenSource | null,
  findings: Findings,
): Promise<'imputed' | 'nan'> {
  const empty = { ...matrices, features: new Float32Array(matrices.features.length).fill(NaN) }
  let acceptsNaN = true
  for (const head of graphs.filter(({ inputs, isRunnable }) => isRunnable && inputs.features !== undefined)) {
    const outputs = await runBatch(head, { matrices: empty }, widths).catch(() => null)
    acceptsNaN &&= outputs?.every(({ values }) => values.every((value) => !Number.isNaN(value))) ?? false
  }
  if (!acceptsNaN)
    return findings.take('missing', read('imputed' as const, 'the heads are NaN if a feature is'))
  const { source, features } = chosen ?? {}
  const hasEmptyCells = source?.rows?.some((row) =>
    features?.columns.some((column) => Number.isNaN(row[column])),
  )
  if (hasEmptyCells === true)
    return findings.take(
      'missing',
      guess('nan' as const, `${source?.from} has empty cells, and the heads accept NaN`),
    )
  return findings.take(
    'missing',
    guess('imputed' as const, 'the heads accept NaN too: set nan if the training had empty cells'),
  )
}
