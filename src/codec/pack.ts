/**
 * Packs columns of numbers for the disk, each in the narrowest form that holds it: counters of a full pool shrink to
 * about a quarter, columns that are all one value to a few bytes.
 *
 *   u32 magic "UPK1" · u32 header bytes · u32 column count · u32 row count · header (JSON, padded to 8)
 *   per column: u8 kind · 3 bytes 0 · u32 data bytes · f64 base · data (padded to 8)
 *
 * Numbers are little-endian. A value of an offset kind is base + offset; the highest offset means NaN.
 */

import { assert } from '../contract/index.js'

export interface PackedTable {
  /** Anything that JSON holds: names, string tables. */
  readonly header: unknown
  readonly rowCount: number
  readonly columns: readonly Float64Array[]
}

const magic = 0x314b5055
const fixedBytes = 16
const columnHeadBytes = 16

/** Kinds of columns: every row the same value, an offset of 1, 2 or 4 bytes, or the doubles themselves. */
const kind = { constant: 0, offset8: 1, offset16: 2, offset32: 3, float64: 4 } as const
/** The array of the data of each kind. */
const dataTypes = [null, Uint8Array, Uint16Array, Uint32Array, Float64Array] as const

interface Plan {
  readonly kind: number
  readonly base: number
  readonly dataBytes: number
}

/** A table as bytes. Every column has at least `rowCount` rows. */
export function packTable(
  header: unknown,
  rowCount: number,
  columns: readonly Float64Array[],
): Uint8Array<ArrayBuffer> {
  const headerText = Buffer.from(JSON.stringify(header))
  const plans = columns.map((column) => planColumn(column, rowCount))
  const dataStart = fixedBytes + align(headerText.length)
  const bytes = new Uint8Array(
    plans.reduce((end, { dataBytes }) => end + columnHeadBytes + align(dataBytes), dataStart),
  )
  const view = new DataView(bytes.buffer)
  ;[magic, headerText.length, columns.length, rowCount].forEach((value, i) =>
    view.setUint32(i * 4, value, true),
  )
  bytes.set(headerText, fixedBytes)
  let at = dataStart
  columns.forEach((column, index) => {
    const plan = plans[index]!
    view.setUint8(at, plan.kind)
    view.setUint32(at + 4, plan.dataBytes, true)
    view.setFloat64(at + 8, plan.base, true)
    writeData(bytes.buffer, at + columnHeadBytes, column, plan, rowCount)
    at += columnHeadBytes + align(plan.dataBytes)
  })
  assert(at === bytes.length, 'the columns fill the table')
  return bytes
}

/** The inverse of `packTable`. Throws when the bytes are not what it writes. */
export function unpackTable(packed: Uint8Array): PackedTable {
  // A separate copy, so that typed arrays over it are aligned.
  const bytes = Uint8Array.from(packed)
  const view = new DataView(bytes.buffer)
  if (bytes.length < fixedBytes || view.getUint32(0, true) !== magic) throw new Error('not a packed table')
  const [headerBytes, columnCount, rowCount] = [4, 8, 12].map((at) => view.getUint32(at, true)) as [
    number,
    number,
    number,
  ]
  const header: unknown = JSON.parse(Buffer.from(bytes.buffer, fixedBytes, headerBytes).toString())
  const columns: Float64Array[] = []
  let at = fixedBytes + align(headerBytes)
  for (let i = 0; i < columnCount; i++) {
    const plan: Plan = {
      kind: view.getUint8(at),
      dataBytes: view.getUint32(at + 4, true),
      base: view.getFloat64(at + 8, true),
    }
    columns.push(readData(bytes.buffer, at + columnHeadBytes, plan, rowCount))
    at += columnHeadBytes + align(plan.dataBytes)
  }
  return { header, rowCount, columns }
}

function planColumn(column: Float64Array, rowCount: number): Plan {
  if (column.length < rowCount) throw new Error(`a column of ${column.length} rows in a table of ${rowCount}`)
  let min = Infinity
  let max = -Infinity
  let whole = true
  let nulls = 0
  for (let row = 0; row < rowCount; row++) {
    const value = column[row]!
    if (value >= min && value <= max) {
      if (whole && Math.floor(value) !== value) whole = false
    } else if (value !== value) nulls++
    else {
      if (value < min) min = value
      if (value > max) max = value
      if (Math.floor(value) !== value) whole = false
    }
  }
  if (nulls === rowCount) return { kind: kind.constant, base: NaN, dataBytes: 0 }
  if (nulls === 0 && min === max) return { kind: kind.constant, base: min, dataBytes: 0 }
  const range = max - min
  const offsets = whole && Number.isSafeInteger(min) && Number.isSafeInteger(max)
  if (offsets && range < 0xff) return { kind: kind.offset8, base: min, dataBytes: rowCount }
  if (offsets && range < 0xffff) return { kind: kind.offset16, base: min, dataBytes: rowCount * 2 }
  if (offsets && range < 0xffffffff) return { kind: kind.offset32, base: min, dataBytes: rowCount * 4 }
  return { kind: kind.float64, base: 0, dataBytes: rowCount * 8 }
}

function writeData(
  buffer: ArrayBuffer,
  at: number,
  column: Float64Array,
  plan: Plan,
  rowCount: number,
): void {
  if (plan.kind === kind.constant) return
  const data = dataView(buffer, at, plan.kind, rowCount)
  if (data instanceof Float64Array)
    data.set(column.length === rowCount ? column : column.subarray(0, rowCount))
  else if (data instanceof Uint8Array) writeOffsets8(data, column, plan.base)
  else if (data instanceof Uint16Array) writeOffsets16(data, column, plan.base)
  else writeOffsets32(data, column, plan.base)
}

// One function for each type: a loop over one type of array runs several times as fast as one over all types.
function writeOffsets8(data: Uint8Array, column: Float64Array, base: number): void {
  for (let row = 0; row < data.length; row++) {
    const value = column[row]!
    data[row] = value !== value ? 0xff : value - base
  }
}

function writeOffsets16(data: Uint16Array, column: Float64Array, base: number): void {
  for (let row = 0; row < data.length; row++) {
    const value = column[row]!
    data[row] = value !== value ? 0xffff : value - base
  }
}

function writeOffsets32(data: Uint32Array, column: Float64Array, base: number): void {
  for (let row = 0; row < data.length; row++) {
    const value = column[row]!
    data[row] = value !== value ? 0xffffffff : value - base
  }
}

function readData(buffer: ArrayBuffer, at: number, plan: Plan, rowCount: number): Float64Array {
  const column = new Float64Array(rowCount)
  if (plan.kind === kind.constant) return column.fill(plan.base)
  const data = dataView(buffer, at, plan.kind, rowCount)
  if (data.byteLength !== plan.dataBytes) throw new Error('a packed column has the wrong length')
  if (data instanceof Float64Array) {
    column.set(data)
    return column
  }
  const nullOffset = 2 ** (data.BYTES_PER_ELEMENT * 8) - 1
  for (let row = 0; row < rowCount; row++) {
    const offset = data[row]!
    column[row] = offset === nullOffset ? NaN : plan.base + offset
  }
  return column
}

function dataView(
  buffer: ArrayBuffer,
  at: number,
  columnKind: number,
  rowCount: number,
): Uint8Array | Uint16Array | Uint32Array | Float64Array {
  const type = dataTypes[columnKind]
  if (!type) throw new Error(`unknown kind ${columnKind} of a packed column`)
  return new type(buffer, at, rowCount)
}

function align(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}
