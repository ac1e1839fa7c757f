/**
 * New columns from rows of two older ones. One list of sources serves all columns of a group:
 *
 *   slot       0    1    2    3          a pool of four posts, of which the first leaves while another enters
 *   source     1    2    3   -2          rows 1 to 3 of the first column, then row 0 of the second
 *   run        0              3          rows 1 to 3 are copied as a whole: posts mostly keep their neighbours
 */
import { uninitializedBuffer } from '../base/index.js'
import { assert } from '../contract/index.js'

/** Source of a row that has no value: NaN in a column of doubles, 0 in one of integers. */
export const noSource = -1

/** The source that denotes a row of the second column. The row of a source below -1 is `secondRow(source)` too. */
export function secondRow(row: number): number {
  return -2 - row
}

/** With shorter runs on average, copying row by row is faster. */
const runRowsMin = 32

/** Where the rows of a column come from. */
export class Sources {
  readonly rows: Int32Array
  /** First slot of each run; null if runs are short. */
  readonly runs: readonly number[] | null

  constructor(rows: Int32Array) {
    this.rows = rows
    const runs = rows.length > 0 ? [0] : []
    const runCountMax = rows.length / runRowsMin
    for (let slot = 1; slot < rows.length && runs.length <= runCountMax; slot++) {
      const before = rows[slot - 1]!
      const step = before >= 0 ? 1 : before === noSource ? 0 : -1
      if (rows[slot] !== before + step) runs.push(slot)
    }
    this.runs = runs.length <= runCountMax ? runs : null
  }
}

// One loop for each type of array: a loop that sees several types runs several times slower. `column` receives the rows.
export function gatherFloat64(
  { rows, runs }: Sources,
  first: Float64Array,
  second: Float64Array,
  column = new Float64Array(uninitializedBuffer(rows.length * 8)),
): Float64Array {
  if (runs !== null) return copyRuns(rows, runs, first, second, column, NaN)
  for (let i = 0; i < rows.length; i++) {
    const source = rows[i]!
    if (source >= 0) column[i] = first[source]!
    else column[i] = source === noSource ? NaN : second[secondRow(source)]!
  }
  return column
}

export function gatherUint32(
  { rows, runs }: Sources,
  first: Uint32Array,
  second: Uint32Array,
  column = new Uint32Array(uninitializedBuffer(rows.length * 4)),
): Uint32Array {
  if (runs !== null) return copyRuns(rows, runs, first, second, column, 0)
  for (let i = 0; i < rows.length; i++) {
    const source = rows[i]!
    if (source >= 0) column[i] = first[source]!
    else column[i] = source === noSource ? 0 : second[secondRow(source)]!
  }
  return column
}

export function gatherUint8({ rows, runs }: Sources, first: Uint8Array, second: Uint8Array): Uint8Array {
  const column = new Uint8Array(uninitializedBuffer(rows.length))
  if (runs !== null) return copyRuns(rows, runs, first, second, column, 0)
  for (let i = 0; i < rows.length; i++) {
    const source = rows[i]!
    if (source >= 0) column[i] = first[source]!
    else column[i] = source === noSource ? 0 : second[secondRow(source)]!
  }
  return column
}

function copyRuns<Column extends Float64Array | Uint32Array | Uint8Array>(
  rows: Int32Array,
  runs: readonly number[],
  first: Column,
  second: Column,
  column: Column,
  missing: number,
): Column {
  assert(column.length === rows.length, 'a column has a value for each row')
  for (let run = 0; run < runs.length; run++) {
    const slot = runs[run]!
    const end = runs[run + 1] ?? rows.length
    const source = rows[slot]!
    if (source === noSource) column.fill(missing, slot, end)
    else if (source >= 0) column.set(first.subarray(source, source + end - slot), slot)
    else column.set(second.subarray(secondRow(source), secondRow(source) + end - slot), slot)
  }
  return column
}
