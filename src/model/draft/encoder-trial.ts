/**
 * Trial runs of an encoder: two different rows together and each of them alone show whether the graph must run rows alone.
 */
import { portNamed } from '../sessions/ports.js'
import type { TrialInput, TrialOutput } from '../sessions/trial-runs.js'
import { vectorDifference } from '../verification/trial-model.js'
import { batchOfOneReasons, type TrialGraph } from './trial-graph.js'

const trialRows = 2
/** Half precision rounds more than sums in another order differ. */
const aloneTolerances = { float16: 1e-2, other: 1e-4 } as const

export interface EncoderTrial {
  readonly outputs: readonly TrialOutput[]
  /** Rows of the run that computed them. */
  readonly rows: number
  /** Why the graph must run each row alone; null: it need not. */
  readonly batchOfOne: string | null
}

export interface EncoderRows {
  /** Inputs for `count` rows from the row `first` on; neighbours differ. */
  inputs(first: number, count: number): readonly TrialInput[]
  /** The output with a vector, or several, for each of `count` rows; undefined: there is none. */
  output(outputs: readonly TrialOutput[], count: number): TrialOutput | undefined
}

/** Rejects with the error of the graph if it runs neither two rows nor one. */
export async function tryEncoder(graph: TrialGraph, rows: EncoderRows): Promise<EncoderTrial> {
  const size = graph.entry.batch ?? trialRows
  const run = (first: number, count: number) => graph.run(rows.inputs(first, count))
  const running = run(0, size).then((outputs) => ({ outputs, rows: size, batchOfOne: null }))
  if (graph.entry.batch !== undefined) return running
  const both = await running.catch(() => undefined)
  const together = both && rows.output(both.outputs, size)
  for (let row = 0; row < size; row++) {
    const outputs = await run(row, 1).catch(() => [])
    const alone =
      together === undefined ? rows.output(outputs, 1) : outputs.find(({ name }) => name === together.name)
    if (alone === undefined) continue
    if (together === undefined) return { outputs, rows: 1, batchOfOne: batchOfOneReasons.hidden }
    const { length } = alone.values
    const difference = vectorDifference(
      alone.values,
      together.values.subarray(row * length, (row + 1) * length),
    )
    const isHalf = portNamed(graph.ports.outputs, alone.name)?.dtype === 'float16'
    const tolerance = aloneTolerances[isHalf ? 'float16' : 'other']
    const largest = alone.values.reduce((max, value) => Math.max(max, Math.abs(value)), 1)
    if (difference > tolerance * largest) return { ...both!, batchOfOne: batchOfOneReasons.differs }
  }
  return running
}
