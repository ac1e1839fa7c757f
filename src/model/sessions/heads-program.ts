/**
 * The heads of a model: one graph or several, run one after the other over the same rows.
 */
import type * as ort from 'onnxruntime-node'
import { assert } from '../../contract/index.js'
import {
  headInputs,
  headPortProblems,
  matrixNames,
  type HeadColumn,
  type HeadInput,
  type MatrixWidths,
} from './head-ports.js'
import { runsOf } from './fixed-batch.js'
import { readHead } from './head-values.js'
import type { HeadGraphPlan, HeadsPlan } from './plans.js'
import { numberTensor } from './floats.js'
import type { Ports } from './ports.js'
import { openGraph, quietly, type GraphSession, type OpenedGraph } from './graph-session.js'
import type { ItemFailure } from '../model.js'
import { byMatrix, type HeadsBatch, type HeadsReply, type Matrices } from './batches.js'
import { isolateErrors } from './isolate-errors.js'
import { itemReasonOf } from './onnx-errors.js'
import type { OpenProgram } from './program.js'

interface OpenGraph extends GraphSession {
  readonly plan: HeadGraphPlan
  readonly inputs: readonly HeadInput[]
}

/** Rows of a trial run. */
const trialRowCount = 256

/** A search for a failing row that takes longer is given up. It takes about two batches. */
const searchMsMax = 5000

/** The heads of a reply are in the order of the plan, one value a row. */
export const openHeadsProgram: OpenProgram<HeadsPlan, HeadsBatch, HeadsReply> = async (
  plan,
  log,
  onOpened,
) => {
  const graphs: OpenGraph[] = []
  for (const graph of plan.graphs) {
    const inputsOf = ({ ports }: Pick<GraphSession, 'ports'>): HeadInput[] =>
      headInputs(ports, graph, plan.widths)
    const trial = async (opened: OpenedGraph): Promise<void> => {
      onOpened?.()
      const zeros = byMatrix((name) => new Float32Array(trialRowCount * plan.widths[name]))
      const batch = { count: trialRowCount, matrices: zeros }
      const { session } = opened
      await runGraph(
        { session, plan: graph, inputs: inputsOf(opened) },
        batch,
        plan.widths,
        () => new Float32Array(trialRowCount),
      )
    }
    const problemsOf = (ports: Ports): string[] => headPortProblems(ports, graph, plan.widths)
    const open = await openGraph(graph, { problemsOf, trial }, log)
    graphs.push({ ...open, plan: graph, inputs: inputsOf(open) })
  }
  const run = async (batch: HeadsBatch): Promise<Float32Array[]> => {
    const heads = plan.heads.map(() => new Float32Array(batch.count))
    for (const graph of graphs) {
      await runGraph(graph, batch, plan.widths, (head) => heads[plan.heads.indexOf(head)] as Float32Array)
    }
    return heads
  }
  return {
    placements: graphs.map(({ placement }) => placement),
    ports: graphs.map(({ ports }) => ports),
    async run(batch) {
      for (const name of matrixNames)
        assert(
          batch.matrices[name].length === batch.count * plan.widths[name],
          'a batch has the matrices that the plan states',
        )
      try {
        return { heads: await run(batch), failure: null }
      } catch (error) {
        const failure = await findFailingRow(batch, plan.widths, run).catch(() => null)
        if (failure === null) throw error
        return { heads: [], failure }
      }
    },
  }
}

/** The first row for which a graph returns an error; null if no single row is the cause. Rejects if the sessions are broken. */
async function findFailingRow(
  { count, matrices }: HeadsBatch,
  widths: MatrixWidths,
  run: (batch: HeadsBatch) => Promise<unknown>,
): Promise<ItemFailure | null> {
  let failure: ItemFailure | null = null
  const endMs = performance.now() + searchMsMax
  const rowsOf = (rows: readonly number[]): HeadsBatch => ({
    count: rows.length,
    matrices: byMatrix((name) => {
      const values = new Float32Array(rows.length * widths[name])
      rows.forEach((row, at) => values.set(rowOf(matrices[name], row, widths[name]), at * widths[name]))
      return values
    }),
  })
  await isolateErrors([Array.from({ length: count }, (_, row) => row)], {
    run: (rows) => run(rowsOf(rows)),
    // A row of zeros, which passed in the warm-up.
    control: () => run({ count: 1, matrices: byMatrix((name) => new Float32Array(widths[name])) }),
    onError: (item, error) => (failure ??= { item, reason: itemReasonOf(error) }),
    isLate: () => failure !== null || performance.now() > endMs,
  })
  return failure
}

function rowOf(matrix: Float32Array, row: number, width: number): Float32Array {
  return matrix.subarray(row * width, (row + 1) * width)
}

async function runGraph(
  { session, plan, inputs }: Pick<OpenGraph, 'session' | 'plan' | 'inputs'>,
  batch: HeadsBatch,
  widths: MatrixWidths,
  targetOf: (head: HeadColumn['head']) => Float32Array,
): Promise<void> {
  const names = [...new Set(plan.heads.map(({ output }) => output))]
  const runs = plan.batch === undefined ? [{ ...batch, start: 0 }] : runsOf(batch, widths, plan.batch)
  for (const { start, count, matrices } of runs) {
    const feeds = Object.fromEntries(inputs.map((input) => [input.name, tensorOf(input, matrices, count)]))
    const outputs = await session.run(feeds, names, quietly)
    for (const column of plan.heads) {
      const target = targetOf(column.head).subarray(start, start + count)
      const values = target.length === count ? target : new Float32Array(count)
      readHead(outputs[column.output], column, values)
      // Rows that only fill up the last run have no place in the batch.
      if (values !== target) target.set(values.subarray(0, target.length))
    }
  }
}

function tensorOf(
  { matrix, columns: { start, count }, columnCount, type, isVector }: HeadInput,
  matrices: Matrices,
  rowCount: number,
): ort.Tensor {
  const dims = isVector ? [rowCount] : [rowCount, count]
  const all = matrices[matrix]
  if (count === columnCount) return numberTensor(type, all, dims)
  const values = new Float32Array(rowCount * count)
  for (let row = 0, to = 0; row < rowCount; row++)
    for (let at = row * columnCount + start, end = at + count; at < end; at++) values[to++] = all[at]!
  return numberTensor(type, values, dims)
}
