/**
 * Drafts the features of a package: their number, their names in the order of the columns, and whether missing ones are NaN.
 */
import { findFeature, nearestFeature } from '../features/catalogue.js'
import type { FeatureColumn } from '../package/manifest.js'
import type { MatrixWidths } from '../sessions/head-ports.js'
import { portNamed } from '../sessions/ports.js'
import { runBatch, type HeadGraph } from './draft-heads.js'
import { chooseFeatures, packageSources, type ChosenFeatures, type FeatureSource } from './feature-source.js'
import { guess, read, type Findings } from './findings.js'
import type { Inventory } from './inventory.js'
import type { TrialBatch } from './trial-batch.js'

/** Columns of the feature inputs; 0: no graph has one, null: the graphs do not declare it. */
export function featureWidth(graphs: readonly HeadGraph[], findings: Findings): number | null {
  const sizes = graphs.flatMap(({ graph, inputs: { features } }) => {
    if (features === undefined) return []
    return typeof features === 'string'
      ? [portNamed(graph.ports.inputs, features)?.shape?.[1]]
      : [features.length]
  })
  if (sizes.length === 0) return 0
  const widths = [...new Set(sizes.filter((size) => typeof size === 'number'))]
  if (widths.length > 1)
    findings.need(
      'features',
      `the graphs read ${widths.join(' and ')} features, but all graphs of a package read the same ones`,
    )
  return widths[0] ?? null
}

export interface ChosenSource {
  readonly source: FeatureSource
  readonly features: ChosenFeatures
}

export async function featuresOf(
  inventory: Inventory,
  graphs: readonly HeadGraph[],
  width: number | null,
  { given, findings }: { readonly given: FeatureSource | null; readonly findings: Findings },
): Promise<ChosenSource | null> {
  const inputs = columnInputs(graphs)
  const sources = given === null ? [...inputNames(graphs), ...(await packageSources(inventory))] : [given]
  for (const source of sources) {
    const features = chooseFeatures(source, width, inputs)
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
    `the names of ${columns}, in order: init again with --force --features and a file or a list of names${seen}`,
  )
  return null
}

/** The names of inputs that are a feature each, if the catalogue has them all. They do not state the order of a matrix. */
function inputNames(graphs: readonly HeadGraph[]): FeatureSource[] {
  if (graphs.some(({ inputs: { features } }) => typeof features === 'string')) return []
  return graphs.flatMap(({ member, inputs: { features } }) =>
    Array.isArray(features) && features.every((name) => findFeature(name) !== undefined)
      ? [{ from: `the inputs of ${member}`, names: features, rows: null }]
      : [],
  )
}

/** The inputs of the first graph that has one for each feature; null: no graph has. */
function columnInputs(graphs: readonly HeadGraph[]): readonly string[] | null {
  return (
    graphs.map(({ inputs: { features } }) => features).find((features) => Array.isArray(features)) ?? null
  )
}

/** The graphs with their inputs in the order of the features: by name, or as the graph has them, which is a guess. */
export function inFeatureOrder(
  graphs: readonly HeadGraph[],
  chosen: ChosenSource | null,
  findings: Findings,
): HeadGraph[] {
  const first = columnInputs(graphs) ?? []
  const order = chosen?.features.names ?? first
  return graphs.map((head) => {
    const { features } = head.inputs
    if (!Array.isArray(features)) return head
    const byName = ordered(features, order)
    const inputs = byName ?? ordered(features, first) ?? features
    const known =
      byName === null
        ? guess(inputs, `by position: ${chosen?.source.from ?? 'another graph'} has other names`)
        : read(inputs, 'an input for each feature')
    const member = `${head.member}.inputs.features`
    findings.take(member, known, `${inputs.length}: ${inputs.join(', ')}`)
    return { ...head, inputs: { ...head.inputs, features: inputs } }
  })
}

/** The names in the given order; null: the order has other names. */
function ordered(names: readonly string[], order: readonly string[]): string[] | null {
  return names.length === order.length && names.every((name) => order.includes(name)) ? [...order] : null
}

/** Placeholders stand for names that are not known. */
export function featureMembers(
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
export async function missingOf(
  graphs: readonly HeadGraph[],
  widths: MatrixWidths,
  { matrices }: TrialBatch,
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
