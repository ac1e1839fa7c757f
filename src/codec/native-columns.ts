/**
 * Memory for the columns of one cycle: a part of an arena that holds all columns of the plan, and typed arrays over it as
 * members of `CycleColumns`.
 */
import type { Arena } from '../contract/index.js'
import type { ColumnType } from './native-layout.js'
import type { NativePlan } from './native-plan.js'

export interface ColumnMemory {
  readonly buffer: ArrayBuffer
  /** Byte offset of each column of the plan. */
  readonly starts: Uint32Array
  /** Rows that fit, by object. */
  readonly capacities: Uint32Array
}

type Column = Float64Array | Uint32Array | Uint8Array

/** Columns by name, some of them in groups such as `title`, and the number of their rows. */
export interface ColumnGroup {
  [name: string]: Column | ColumnGroup | number
}

const entryBytes: Readonly<Record<ColumnType, number>> = { f64: 8, u32: 4, u8: 1 }

/** Capacity of a list without a maximum. A cycle with more rows is decoded a second time, with more memory. */
const uncappedRowCount = 1024
/** Columns whose starts differ by a multiple of 4 KiB would map to the same cache sets, so each gets one extra line. */
const lineBytes = 64

/** Memory for all rows that each list may have, and at least `rowCounts`. */
export function allocateColumns(
  plan: NativePlan,
  arena: Arena,
  rowCounts: readonly number[] = [],
): ColumnMemory {
  const capacities = plan.rowCountsMax.map((max, object) =>
    Math.max(max === Infinity ? uncappedRowCount : max, rowCounts[object] ?? 0),
  )
  let bytes = 0
  const starts = plan.columns.map(({ object, type }) => {
    const start = bytes
    const columnBytes = (capacities[object] as number) * entryBytes[type]
    bytes += (Math.ceil(columnBytes / lineBytes) + 1) * lineBytes
    return start
  })
  const { buffer, start } = arena.bytes(bytes)
  return {
    buffer,
    starts: Uint32Array.from(starts, (offset) => start + offset),
    capacities: Uint32Array.from(capacities),
  }
}

/** The first `count` rows of an object of the plan; a column `title.chars` is `chars` in the group `title`. */
export function columnsOf(
  plan: NativePlan,
  memory: ColumnMemory,
  object: number,
  count: number,
): ColumnGroup {
  const columns: ColumnGroup = { count }
  plan.columns.forEach((column, index) => {
    if (column.object !== object) return
    const array = arrayOf(column.type, memory.buffer, memory.starts[index] as number, count)
    const [first = '', second] = column.names
    if (second === undefined) columns[first] = array
    else ((columns[first] ??= {}) as ColumnGroup)[second] = array
  })
  return columns
}

function arrayOf(type: ColumnType, buffer: ArrayBuffer, start: number, count: number): Column {
  switch (type) {
    case 'f64':
      return new Float64Array(buffer, start, count)
    case 'u32':
      return new Uint32Array(buffer, start, count)
    case 'u8':
      return new Uint8Array(buffer, start, count)
  }
}
