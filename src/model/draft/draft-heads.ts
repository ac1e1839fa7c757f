/**
 * Drafts the heads: the inputs of their graphs, and by a trial batch the output, column and activation of each head.
 */
import { basename } from 'node:path'
import { headNames, type HeadName } from '../../contract/index.js'
import type { HeadManifest, HeadOutput } from '../package/manifest.js'
import { matrixNames, rowsAndColumns, type MatrixWidths } from '../sessions/head-ports.js'
import type { HeadsBatch } from '../sessions/batches.js'
import { runsOf } from '../sessions/fixed-batch.js'
import { portNamed } from '../sessions/ports.js'
import type { TrialInput, TrialOutput } from '../sessions/trial-runs.js'
import { guess, read, type Findings, type Known } from './findings.js'
import type { DraftedInputs } from './head-inputs.js'
import { interpretOutput, type HeadCandidate } from './interpret-output.js'
import { plural } from '../verification/report.js'
import { trialRows, type TrialBatch } from './trial-batch.js'
import { takeBatch, trialType, type TrialGraph } from './trial-graph.js'

export interface HeadGraph {
  readonly graph: TrialGraph
  /** `head`, or `head[1]` of several. */
  readonly member: string
  readonly inputs: DraftedInputs
  /** Whether every input has a meaning: then the graph can be run. */
  readonly isRunnable: boolean
  /** Why the graph must run each row alone; null: it need not. */
  readonly batchOfOne: string | null
}

/** A value that a graph computes, and the head that it may be. */
interface Candidate extends HeadCandidate {
  readonly owner: HeadGraph
  readonly output: Pick<HeadOutput, 'name' | 'squeeze' | 'transposed'>
  readonly columnCount: number
  /** The head that the output or the file is named for; null: neither is. */
  readonly named: Known<HeadName> | null
}

/** What a graph computes for the trial batch. */
export type TrialResult = readonly TrialOutput[]

/** Runs the graph for the batch, in runs of a fixed number of rows if it needs that. */
export async function runBatch(
  head: HeadGraph,
  { matrices }: Pick<TrialBatch, 'matrices'>,
  widths: MatrixWidths,
): Promise<TrialResult> {
  const size = rowsOf(head) ?? trialRows
  const runs: TrialResult[] = []
  for (const run of runsOf({ count: trialRows, matrices }, widths, size))
    runs.push(await head.graph.run(feedsOf(head, run, widths)))
  const [first = []] = runs
  return runs.length === 1
    ? first
    : first.map((output, index) =>
        joined(
          output,
          runs.map((run) => run[index]),
          size,
        ),
      )
}

/** Whether the graph runs a few rows at once: then it has no hidden batch of one. */
export function runsFew(
  head: HeadGraph,
  { matrices }: Pick<TrialBatch, 'matrices'>,
  widths: MatrixWidths,
): Promise<boolean> {
  const [few] = runsOf({ count: trialRows, matrices }, widths, 3)
  return head.graph.run(feedsOf(head, few!, widths)).then(
    () => true,
    () => false,
  )
}

/** Rows of each run; undefined: any number. */
function rowsOf({ graph, batchOfOne }: HeadGraph): number | undefined {
  return batchOfOne === null ? graph.entry.batch : 1
}

/** The outputs of several runs as one; those without a row for each row of a run keep the shape of a run. */
function joined(output: TrialOutput, parts: readonly (TrialOutput | undefined)[], size: number): TrialOutput {
  const { name, dims } = output
  const axis = rowAxis(dims, size)
  if (axis === null) return output
  const width = dims.reduce((product, length) => product * length, 1) / size
  const values = new Float32Array(trialRows * width)
  for (let row = 0; row < trialRows; row++) {
    const part = parts[Math.floor(row / size)]?.values ?? []
    for (let index = 0; index < width; index++)
      values[placeOf(axis, row, index, trialRows, width)] =
        part[placeOf(axis, row % size, index, size, width)] ?? NaN
  }
  return { name, dims: dims.with(axis === 'first' ? 0 : -1, trialRows), values }
}

type RowAxis = 'first' | 'last'

/** Which size is that of the rows; null: none. */
function rowAxis(dims: readonly number[], rows: number): RowAxis | null {
  return dims[0] === rows ? 'first' : dims.at(-1) === rows ? 'last' : null
}

/** Where a value of a row is, of `width` for each of `rows`. */
function placeOf(axis: RowAxis, row: number, index: number, rows: number, width: number): number {
  return axis === 'first' ? row * width + index : index * rows + row
}

function feedsOf(
  { graph, inputs }: HeadGraph,
  { count, matrices }: Pick<HeadsBatch, 'count' | 'matrices'>,
  widths: MatrixWidths,
): TrialInput[] {
  return matrixNames.flatMap((matrix): TrialInput[] => {
    const given = inputs[matrix] ?? []
    const columnCount = widths[matrix]
    const names = typeof given === 'string' ? [given] : given
    return names.flatMap((name, column) => {
      const port = portNamed(graph.ports.inputs, name)
      if (port === undefined) return []
      const type = trialType(port)
      const isVector = port.shape?.length === 1
      if (typeof given === 'string')
        return [{ name, type, dims: isVector ? [count] : [count, columnCount], values: matrices[matrix] }]
      const values = Float32Array.from(
        { length: count },
        (_, row) => matrices[matrix][row * columnCount + column]!,
      )
      return [{ name, type, dims: isVector ? [count] : [count, 1], values }]
    })
  })
}

const aloneRows = 8
const aloneTolerance = 1e-5

/** Whether rows get other values alone than in a batch, as with dynamic quantisation. */
export async function dependsOnBatch(
  head: HeadGraph,
  { matrices }: Pick<TrialBatch, 'matrices'>,
  widths: MatrixWidths,
  together: TrialResult,
): Promise<boolean> {
  if (head.graph.entry.batch !== undefined) return false
  const [one] = runsOf({ count: trialRows, matrices }, widths, aloneRows)
  for (const run of one === undefined ? [] : runsOf(one, widths, 1)) {
    const alone = await head.graph.run(feedsOf(head, run, widths))
    const differs = alone.some(({ name, dims, values }) => {
      const all = together.find((output) => output.name === name)
      const axis = rowAxis(all?.dims ?? [], trialRows)
      if (all === undefined || axis === null || rowAxis(dims, 1) === null) return false
      return values.some((value, index) => {
        const other = all.values[placeOf(axis, run.start, index, trialRows, values.length)]!
        return Math.abs(value - other) > aloneTolerance * Math.max(1, Math.abs(other))
      })
    })
    if (differs) return true
  }
  return false
}

/** Whether an output has a value for each row. */
export function hasRows(result: TrialResult): boolean {
  return result.some((output) => tableOf(output) !== null)
}

/** The graphs with their heads. `results`: those of the graphs for the trial batch, in the same order; null: it was not run. */
export function draftHeads(
  graphs: readonly HeadGraph[],
  results: readonly (TrialResult | null)[],
  findings: Findings,
): HeadManifest[] {
  const candidates = graphs.flatMap((owner, index) => {
    const outputs = results[index] ?? null
    return outputs === null ? [] : candidatesOf(owner, outputs, findings)
  })
  const chosen = chooseHeads(candidates, findings)
  return graphs.map((owner) => {
    const outputs = headNames.flatMap((head) => {
      const candidate = chosen.get(head)
      return candidate?.owner === owner ? [[head, outputOf(head, candidate, findings)] as const] : []
    })
    const { graph, inputs } = owner
    const batch = takeBatch(owner.member, graph, owner.batchOfOne, findings)
    return { ...graph.entry, ...batch, inputs, outputs: Object.fromEntries(outputs) }
  })
}

function candidatesOf(owner: HeadGraph, outputs: TrialResult, findings: Findings): Candidate[] {
  const tables = outputs.flatMap((output) => tableOf(output) ?? [])
  const lists = owner.graph.ports.outputs.filter(({ dtype }) => dtype === null)
  if (tables.length === 0) {
    findings.need(
      `${owner.member}.outputs`,
      lists.length > 0
        ? `output ${lists[0]?.name} is no tensor: export with options={"zipmap": False} (skl2onnx) or zipmap=False (onnxmltools)`
        : `no output of ${owner.graph.entry.file} is a float tensor with a value for each row, [N], [N, columns] or [columns, N]${shapesOf(owner, outputs)}`,
    )
    return []
  }
  const named = tables.filter(({ output }) => headNamed(output.name) !== null)
  const relevant = named.length > 0 ? named : likeliest(tables)
  const fileName = headNamed(basename(owner.graph.entry.file, '.onnx'))
  const classes = named.length > 0 ? null : outputPerClass(relevant)
  if (classes !== null)
    return [{ ...classes, owner, named: fileName && guess(fileName.value, classes.column.source) }]
  return relevant.flatMap(({ output, columns }) => {
    const candidates = interpretOutput(output.name, columns)
    const name = candidates.length === 1 ? (headNamed(output.name) ?? fileName) : null
    return candidates.map((candidate) => ({
      ...candidate,
      owner,
      output,
      columnCount: columns.length,
      named: name,
    }))
  })
}

/** The shapes that a run returned, for a graph with a fixed number of rows. */
function shapesOf(head: HeadGraph, outputs: TrialResult): string {
  const batch = rowsOf(head)
  if (batch === undefined || outputs.length === 0) return ''
  const shapes = outputs.map(({ name, dims }) => `${name} [${dims.join(', ')}]`)
  return `: with ${plural(batch, 'row')} it returns ${shapes.join(', ')}; keep the dimension of the rows in the export`
}

interface Table {
  readonly output: Pick<HeadOutput, 'name' | 'squeeze' | 'transposed'>
  readonly columns: readonly Float32Array[]
}

/** null: the output has no value for each row. */
function tableOf({ name, dims, values }: TrialOutput): Table | null {
  for (const [squeeze, transposed] of [
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ] as const) {
    const [rows, columnCount = 1, ...more] = rowsAndColumns(dims, { squeeze, transposed })
    if (more.length > 0 || rows !== trialRows || values.length !== rows * columnCount) continue
    const columns = Array.from({ length: columnCount }, (_, column) =>
      Float32Array.from({ length: rows }, (_, row) =>
        transposed ? values[column * rows + row]! : values[row * columnCount + column]!,
      ),
    )
    return {
      output: { name, ...(squeeze ? { squeeze } : {}), ...(transposed ? { transposed } : {}) },
      columns,
    }
  }
  return null
}

/** The outputs to use if none has the name of a head: those of one column each, or else one, a probability rather than a logit. */
function likeliest(tables: readonly Table[]): readonly Table[] {
  const probable = tables.filter(({ output }) => /prob|share/i.test(output.name))
  const [first] = probable.length > 0 ? probable : tables
  if (first === undefined) return []
  const single = (probable.length > 0 ? probable : tables).filter(({ columns }) => columns.length === 1)
  return single.includes(first) ? single.slice(0, headNames.length) : [first]
}

/** The last of the outputs if each has the probability of a class, as with `zipmap="columns"` of skl2onnx; null: they have not. */
function outputPerClass(tables: readonly Table[]): Omit<Candidate, 'owner' | 'named'> | null {
  const columns = tables.flatMap((table) => (table.columns.length === 1 ? table.columns : []))
  const [candidate, ...others] = interpretOutput('', columns)
  const last = tables.at(-1)
  if (columns.length < 2 || candidate === undefined || last === undefined || others.length > 0) return null
  return candidate.activation.value === 'none' ? { ...candidate, output: last.output, columnCount: 1 } : null
}

/** Names in other words, for example `comments_prob`. */
const headWords: readonly (readonly [HeadName, RegExp])[] = [
  ['downvote_share', /(^|[^a-z])(downvotes?|down|dislikes?)([^a-z]|$)/i],
  ['p_comments', /(^|[^a-z])(comments?|replies)([^a-z]|$)/i],
  ['p_views', /(^|[^a-z])(views?|hits?)([^a-z]|$)/i],
  ['p_up', /(^|[^a-z])(up|upvotes?|ups|recommend(ation)?s?|likes?)([^a-z]|$)/i],
]

function headNamed(name: string): Known<HeadName> | null {
  const exact = headNames.find((head) => head === name)
  if (exact !== undefined) return read(exact, `the name ${name}`)
  const head = headWords.find(([, words]) => words.test(name))?.[0]
  return head === undefined ? null : guess(head, `the name ${name}`)
}

/** Named ones first; the others become the heads that are left, in the order of the contract. */
function chooseHeads(candidates: readonly Candidate[], findings: Findings): Map<HeadName, Candidate> {
  const chosen = new Map<HeadName, Candidate>()
  const others: Candidate[] = []
  for (const candidate of candidates) {
    const head = candidate.named?.value
    if (head === undefined || chosen.has(head)) others.push(candidate)
    else chosen.set(head, candidate)
  }
  const free = headNames.filter((head) => !chosen.has(head))
  if (others.length > free.length) {
    const count = `${candidates.length} values for each row`
    findings.need(
      'head.outputs',
      `the graphs compute ${count}: name the output and column of each of ${headNames.join(', ')}`,
    )
  }
  free.forEach((head, index) => {
    const candidate = others[index]
    if (candidate !== undefined)
      chosen.set(head, { ...candidate, named: guess(head, 'the order of the heads in the contract') })
  })
  return chosen
}

function outputOf(head: HeadName, candidate: Candidate, findings: Findings): HeadOutput {
  const { owner, output, columnCount, column, scale, activation, named } = candidate
  const member = `${owner.member}.outputs.${head}`
  if (named !== null) findings.take(member, { ...named, value: output.name })
  if (columnCount > 1) findings.take(`${member}.column`, column)
  if (scale !== undefined) findings.take(`${member}.scale`, scale)
  findings.take(`${member}.activation`, activation)
  for (const layout of ['squeeze', 'transposed'] as const)
    if (output[layout] === true)
      findings.take(`${member}.${layout}`, read(true, 'the shape of the output in a trial run'))
  return {
    ...output,
    ...(columnCount > 1 ? { column: column.value } : {}),
    ...(scale === undefined ? {} : { scale: scale.value }),
    ...(activation.value === 'none' ? {} : { activation: activation.value }),
  }
}
