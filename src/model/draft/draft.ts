/**
 * Drafts the manifest of a package from its files: the graphs are opened and run, configuration files of libraries are read.
 * Each member has a finding that states where its value comes from.
 */
import type { Log } from '../../base/index.js'
import { ModelError } from '../model.js'
import type { FeatureColumn, HeadManifest, Manifest } from '../package/manifest.js'
import type { MatrixWidths } from '../sessions/head-ports.js'
import { portText } from '../sessions/ports.js'
import { featureMembers, featuresOf, featureWidth, inFeatureOrder, missingOf } from './draft-features.js'
import {
  dependsOnBatch,
  draftHeads,
  hasRows,
  runBatch,
  runsFew,
  type HeadGraph,
  type TrialResult,
} from './draft-heads.js'
import { draftGalleries } from './draft-galleries.js'
import { draftImage } from './draft-image.js'
import { draftText } from './draft-text.js'
import { givenSource, type FeatureSource } from './feature-source.js'
import { Findings, guess, inOrder, read, type Finding } from './findings.js'
import { kindOf, originalOf, preferredEncoder, type GraphKind } from './graph-kinds.js'
import { draftInputs } from './head-inputs.js'
import { Inventory } from './inventory.js'
import { trialBatch, type TrialBatch } from './trial-batch.js'
import { batchOfOneReasons, openTrialGraph, type TrialGraph } from './trial-graph.js'

export interface DraftOptions {
  readonly directory: string
  readonly version: string
  /** A file, or names separated by commas. */
  readonly features?: { readonly given: string; readonly isFile: boolean } | undefined
  readonly log: Log
}

export interface Draft {
  /** Lacks members that are needed. null: there is no graph of heads, and no encoder. */
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
  const isCopy = (file: string): boolean => originalOf(file, files) !== null
  // Originals first: each graph has a process, and a copy needs one only if its original cannot be opened.
  for (const file of files.toSorted((a, b) => Number(isCopy(a)) - Number(isCopy(b)))) {
    const opened = graphs.map(({ entry }) => entry.file)
    const original = originalOf(file, opened)
    if (original !== null)
      unused.push(`${file}: by its name ${original} in another precision or optimisation`)
    else
      await openTrialGraph(inventory, file, log).then(
        (graph) => graphs.push(graph),
        (error: unknown) => unused.push(`${file}: ${(error as Error).message}`),
      )
  }
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
  for (const { entry, ports } of opened.graphs.filter(({ ports }) => kindOf(ports) === null))
    unused.push(
      `${entry.file}: neither heads nor an encoder, by its inputs ${ports.inputs.map((port) => `${port.name} ${portText(port)}`).join(', ')}`,
    )
  const heads = byKind('head')
  const encoderOf = (kind: 'text' | 'image'): TrialGraph | undefined => {
    const graphs = byKind(kind)
    const chosen = preferredEncoder(graphs, ({ entry }) => entry.file)
    for (const { entry } of graphs.filter((graph) => graph !== chosen))
      unused.push(`${entry.file}: a package has one ${kind} encoder, and ${chosen?.entry.file} was chosen`)
    return chosen
  }
  const [textGraph, imageGraph] = [encoderOf('text'), encoderOf('image')]
  const hasHeads = heads.length > 0
  if (!hasHeads) {
    findings.need('head', 'add the graph that computes the heads: its inputs are float matrices [N, columns]')
    if (!textGraph && !imageGraph) return { manifest: null, findings: findings.list, unused }
  }
  findings.take('model_version', read(version, 'the name of the directory'))
  findings.take('kind', guess('trained', 'transport-test is a model that predicts nothing'))
  const text = textGraph && (await draftText(textGraph, inventory, findings))
  const image = imageGraph && (await draftImage(imageGraph, inventory, findings))
  const dims = { text: text?.dim ?? 0, image: image?.dim ?? 0 }
  for (const { entry } of heads.slice(headGraphsMax))
    unused.push(`${entry.file}: a package has at most ${headGraphsMax} graphs of heads`)
  const graphs = headGraphs(heads.slice(0, headGraphsMax), dims, findings)
  const drafted = await draftHeadPart(inventory, graphs, dims, context)
  const isRead = (encoder: 'text' | 'image'): boolean =>
    !hasHeads || graphs.some(({ inputs }) => inputs[encoder] !== undefined)
  for (const [encoder, graph] of [
    ['text', textGraph],
    ['image', imageGraph],
  ] as const)
    if (graph !== undefined && !isRead(encoder)) unused.push(`${graph.entry.file}: no head reads its vector`)
  const manifest: Manifest = {
    model_version: version,
    kind: 'trained',
    ...(drafted.features.length === 0 ? {} : { features: drafted.features }),
    ...(drafted.missing === 'nan' ? { missing: 'nan' as const } : {}),
    ...(drafted.galleries === null ? {} : { galleries: drafted.galleries }),
    head: drafted.head.length === 1 ? drafted.head[0]! : [...drafted.head],
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
    const member = heads.length === 1 ? 'head' : `head[${index}]`
    const inputs = draftInputs(graph.ports.inputs, dims, member, findings)
    return { graph, member, inputs: inputs ?? {}, isRunnable: inputs !== null, batchOfOne: null }
  })
}

interface HeadPart {
  readonly features: (string | FeatureColumn)[]
  readonly missing: 'imputed' | 'nan'
  /** null: no head reads the index of a gallery. */
  readonly galleries: string[] | null
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
  const chosen = width === 0 ? null : await featuresOf(inventory, graphs, width, context)
  const galleries = await draftGalleries(inventory, graphs, findings)
  const widths: MatrixWidths = {
    ...dims,
    features: width ?? chosen?.features.names.length ?? 0,
    gallery_index: galleries === null ? 0 : 1,
  }
  const table = chosen && { source: chosen.source, columns: chosen.features.columns }
  const batch = trialBatch(widths, chosen?.features.names ?? null, table)
  const ordered = inFeatureOrder(graphs, chosen, findings)
  const tried = await Promise.all(ordered.map((head) => tryHead(head, batch, widths, findings)))
  const heads = tried.map(({ head }) => head)
  const results = tried.map(({ result }) => result)
  const head = draftHeads(heads, results, findings)
  const missing = width === 0 ? 'imputed' : await missingOf(heads, widths, batch, chosen, findings)
  return { features: featureMembers(chosen, widths.features, findings), missing, galleries, head }
}

/** The graph with its results; one that needs it is run for each row alone. */
async function tryHead(
  head: HeadGraph,
  batch: TrialBatch,
  widths: MatrixWidths,
  findings: Findings,
): Promise<{ readonly head: HeadGraph; readonly result: TrialResult | null }> {
  if (!head.isRunnable) return { head, result: null }
  const inRunsOfOne = async (batchOfOne: string) => {
    const alone = { ...head, batchOfOne }
    return { head: alone, result: await runBatch(alone, batch, widths) }
  }
  const tryAlone = () =>
    head.graph.entry.batch === undefined ? inRunsOfOne(batchOfOneReasons.hidden).catch(() => null) : null
  try {
    const result = await runBatch(head, batch, widths)
    if (await dependsOnBatch(head, batch, widths, result)) return await inRunsOfOne(batchOfOneReasons.differs)
    const alone = hasRows(result) ? null : await tryAlone()
    return alone !== null && hasRows(alone.result) ? alone : { head, result }
  } catch (error) {
    const alone = (await runsFew(head, batch, widths)) ? null : await tryAlone()
    if (alone !== null) return alone
    const problem = (error as Error).message
    findings.need(`${head.member}.outputs`, `the graph fails on a trial batch of ${batch.origin}: ${problem}`)
    return { head, result: null }
  }
}
