/**
 * What the checks need from a model, and how they compare its outputs.
 */
import { headNames, type HeadColumns, type HeadName } from '../../contract/index.js'
import type { LoadedModel } from '../loaded-model.js'

/** The part of a model that the checks use. */
export type TrialModel = Pick<LoadedModel, 'text' | 'image' | 'predict' | 'predictRows'> &
  Partial<Pick<LoadedModel, 'galleries'>>

/** Rows of a full pool. */
export const trialRowCount = 5000

/** Largest absolute difference between heads of the same rows, and where. `rows`: row i of `b` is `rows[i]` of `a`. */
export function differenceOf(
  a: HeadColumns,
  b: HeadColumns,
  rows: readonly number[],
): { readonly value: number; readonly head: HeadName; readonly row: number } {
  let worst = { value: 0, head: headNames[0] as HeadName, row: 0 }
  for (const head of headNames) {
    const [columnA, columnB] = [a[head], b[head]]
    if (columnA === null || columnB === null) continue
    rows.forEach((row, index) => {
      const value = Math.abs(columnA[row]! - columnB[index]!)
      // NaN is the worst.
      if (!(value <= worst.value)) worst = { value, head, row }
    })
  }
  return worst
}

/** Largest difference of vectors of one length; NaN where one of them has a NaN. */
export function vectorDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((max, value, i) => Math.max(max, Math.abs(value - b[i]!)), 0)
}

/** What helps when a graph gives the same item other values: dropout and batch normalisation do so in training mode. */
export const evaluationMode =
  'Export it in evaluation mode: call .eval() of the PyTorch module before the export.'

const digitsMax = 9

/** Two numbers that differ, with as many digits as it takes to see that: nine identify a float32. */
export function differingFigures(a: number, b: number): [a: string, b: string] {
  for (let digits = 3; digits < digitsMax; digits++) {
    const texts: [string, string] = [a.toPrecision(digits), b.toPrecision(digits)]
    if (texts[0] !== texts[1]) return texts
  }
  return [a.toPrecision(digitsMax), b.toPrecision(digitsMax)]
}

/** A number in a report, with three digits. */
export function figure(value: number): string {
  return value === 0 ? '0' : value.toPrecision(3)
}
