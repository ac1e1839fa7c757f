/**
 * Tables of the disk: how one is declared, its rows as columns by name, and their packing. A table is declared once; its
 * packing, its reading and the columns that the export takes from it derive from the declaration.
 *
 *   a table of numbers (codec/pack.ts), or the float32 columns, byte plane by byte plane
 *   compressed: u8 form (0 as it is, 1 zstd) · the bytes
 *
 * Nothing at all is a table without rows. A context of zstd costs as much time as a small table: small tables are compressed
 * together. Floats of one model share sign and exponent: only this plane of them is compressed, as the others do not shrink.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { viewOf } from '../base/index.js'
import { packTable, unpackTable } from '../codec/index.js'
import { assert } from '../contract/index.js'

/**
 * number: an integer, NaN for null. sequence: one that rises by little from row to row. instant: milliseconds since 1970 with
 * a fraction, NaN for null. code: index in `values`, 255 if absent. text: few distinct ones, null for none. float32: in a
 * table of its own; null for a column without values.
 */
export type ColumnDeclaration = { readonly name: string; readonly meaning: string } & (
  | { readonly type: 'number' | 'sequence' | 'instant' | 'text' | 'float32' }
  | { readonly type: 'code'; readonly values: readonly string[] }
)
export type ColumnType = ColumnDeclaration['type']

export interface TableDeclaration {
  /** What one row is. */
  readonly row: string
  readonly columns: readonly ColumnDeclaration[]
}

interface ValuesByType {
  readonly number: Float64Array
  readonly sequence: Float64Array
  readonly instant: Float64Array
  readonly code: Float64Array
  readonly text: readonly (string | null)[]
  readonly float32: Float32Array | null
}

/** The columns of a table by name, each with `count` values. */
export type Rows<Table extends TableDeclaration> = { readonly count: number } & {
  readonly [Column in Table['columns'][number] as Column['name']]: ValuesByType[Column['type']]
}

type Values = ValuesByType[ColumnType]

const form = { plain: 0, zstd: 1 } as const
/** Compressing less than this costs more than it saves. */
const compressedBytesMin = 256
/** In a window of this size, zstd needs less new memory, and compresses such tables as well. */
const zstdParams = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 17 }

/** A table by itself, compressed. */
export function packRows<Table extends TableDeclaration>(table: Table, rows: Rows<Table>): Uint8Array {
  const bytes = rowBytes(table, rows)
  return bytes.length === 0 || isFloats(table) ? bytes : compress(bytes)
}

/** The inverse of `packRows`. Throws for bytes that it did not make of this table. */
export function unpackRows<Table extends TableDeclaration>(table: Table, packed: Uint8Array): Rows<Table> {
  return rowsOf(table, packed.length === 0 || isFloats(table) ? packed : decompress(packed))
}

export function compress(bytes: Uint8Array): Uint8Array {
  if (bytes.length < compressedBytesMin) return Buffer.concat([Uint8Array.of(form.plain), bytes])
  const compressed = zstdCompressSync(bytes, { chunkSize: bytes.length + 1024, params: zstdParams })
  return Buffer.concat([Uint8Array.of(form.zstd), compressed])
}

export function decompress(packed: Uint8Array): Uint8Array {
  return packed[0] === form.zstd ? zstdDecompressSync(packed.subarray(1)) : packed.subarray(1)
}

/** A table before compression. */
export function rowBytes<Table extends TableDeclaration>(table: Table, rows: Rows<Table>): Uint8Array {
  const { count } = rows
  if (count === 0) return new Uint8Array(0)
  const columns = table.columns.map(({ name, type }) => ({
    name,
    type,
    values: (rows as unknown as Record<string, Values>)[name] as Values,
  }))
  for (const { name, values } of columns)
    assert(values === null || values.length === count, `each row has a value in ${name}`)
  return isFloats(table) ? packFloats(columns, count) : packNumbers(columns, count)
}

/** The inverse of `rowBytes`. Throws for bytes that it did not make of this table. */
export function rowsOf<Table extends TableDeclaration>(table: Table, bytes: Uint8Array): Rows<Table> {
  const rows =
    bytes.length === 0
      ? noRows(table)
      : isFloats(table)
        ? unpackFloats(table, bytes)
        : unpackNumbers(table, bytes)
  return rows as unknown as Rows<Table>
}

function isFloats({ columns }: TableDeclaration): boolean {
  return columns[0]?.type === 'float32'
}

function noRows({ columns }: TableDeclaration): Record<string, Values | number> {
  const emptyOf = (type: ColumnType): Values =>
    type === 'float32' ? null : type === 'text' ? [] : new Float64Array(0)
  return { count: 0, ...Object.fromEntries(columns.map(({ name, type }) => [name, emptyOf(type)])) }
}

interface NamedValues {
  readonly name: string
  readonly type: ColumnType
  readonly values: Values
}

// ---- numbers and texts

interface NumbersHeader {
  /** The distinct texts by column; a cell is an index in them. */
  readonly texts: Readonly<Record<string, readonly string[]>>
}

function packNumbers(columns: readonly NamedValues[], count: number): Uint8Array {
  const texts: Record<string, string[]> = {}
  const numbers = columns.map(({ name, type, values }) => {
    if (type === 'sequence') return differencesOf(values as Float64Array, count)
    if (type !== 'text') return values as Float64Array
    const { distinct, codes } = codesOf(values as readonly (string | null)[])
    texts[name] = distinct
    return codes
  })
  const header: NumbersHeader = { texts }
  return packTable(header, count, numbers)
}

function unpackNumbers(table: TableDeclaration, bytes: Uint8Array): Record<string, Values | number> {
  const { header, rowCount, columns } = unpackTable(bytes)
  const { texts } = header as NumbersHeader
  if (columns.length !== table.columns.length)
    throw new Error(`a stored table has ${columns.length} columns instead of ${table.columns.length}`)
  const rows: Record<string, Values | number> = { count: rowCount }
  for (const [index, { name, type }] of table.columns.entries()) {
    const numbers = columns[index]!
    if (type === 'sequence') sumUp(numbers)
    rows[name] = type === 'text' ? textsOf(numbers, texts[name] ?? []) : numbers
  }
  return rows
}

function differencesOf(values: Float64Array, count: number): Float64Array {
  const differences = new Float64Array(count)
  let before = 0
  for (let row = 0; row < count; row++) {
    const value = values[row]!
    differences[row] = value - before
    before = value
  }
  return differences
}

function sumUp(differences: Float64Array): void {
  for (let row = 1; row < differences.length; row++)
    differences[row] = differences[row]! + differences[row - 1]!
}

function codesOf(values: readonly (string | null)[]): { distinct: string[]; codes: Float64Array } {
  const distinct: string[] = []
  const codeOf = new Map<string, number>()
  const codes = Float64Array.from(values, (value) => {
    if (value === null) return NaN
    const known = codeOf.get(value)
    if (known !== undefined) return known
    codeOf.set(value, distinct.length)
    return distinct.push(value) - 1
  })
  return { distinct, codes }
}

function textsOf(codes: Float64Array, distinct: readonly string[]): (string | null)[] {
  return Array.from(codes, (code) => distinct[code] ?? null)
}

// ---- float32

const floatBytes = 4
const uint32Bytes = 4

/**
 * u32 rows · a byte for each column: 1 if it has values · u32 length · the planes of sign and exponent, compressed together ·
 * the other planes. Each plane has the columns that have values.
 */
function packFloats(columns: readonly NamedValues[], count: number): Uint8Array {
  const present = columns.flatMap(({ values }) => (values === null ? [] : [values as Float32Array]))
  const planes = new Uint8Array(present.length * floatBytes * count)
  eachPlane(present, (column, plane, at) => {
    const source = new Uint8Array(column.buffer, column.byteOffset, count * floatBytes)
    for (let row = 0; row < count; row++) planes[at + row] = source[row * floatBytes + plane]!
  })
  const topBytes = present.length * count
  const top = compress(planes.subarray(0, topBytes))
  const flags = columns.map(({ values }) => (values === null ? 0 : 1))
  return Buffer.concat([
    uint32(count),
    Uint8Array.from(flags),
    uint32(top.length),
    top,
    planes.subarray(topBytes),
  ])
}

function unpackFloats(table: TableDeclaration, bytes: Uint8Array): Record<string, Values | number> {
  const view = viewOf(bytes)
  const count = view.getUint32(0, true)
  const flagsEnd = uint32Bytes + table.columns.length
  const flags = bytes.subarray(uint32Bytes, flagsEnd)
  const topAt = flagsEnd + uint32Bytes
  const topEnd = topAt + view.getUint32(flagsEnd, true)
  const planes = Buffer.concat([decompress(bytes.subarray(topAt, topEnd)), bytes.subarray(topEnd)])
  const columns = table.columns.map(({ name }, index) => ({
    name,
    values: flags[index] === 1 ? new Float32Array(count) : null,
  }))
  const present = columns.flatMap(({ values }) => (values === null ? [] : [values]))
  if (planes.length !== present.length * floatBytes * count)
    throw new Error('a stored table of floats has the wrong length')
  eachPlane(present, (column, plane, at) => {
    const target = new Uint8Array(column.buffer)
    for (let row = 0; row < count; row++) target[row * floatBytes + plane] = planes[at + row]!
  })
  return { count, ...Object.fromEntries(columns.map(({ name, values }) => [name, values])) }
}

/** In the order in which they are stored: the plane of sign and exponent, the last byte of a float, is the first. */
function eachPlane(
  columns: readonly Float32Array[],
  visit: (column: Float32Array, plane: number, at: number) => void,
): void {
  let at = 0
  for (let plane = floatBytes - 1; plane >= 0; plane--)
    for (const column of columns) {
      visit(column, plane, at)
      at += column.length
    }
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(uint32Bytes)
  viewOf(bytes).setUint32(0, value, true)
  return bytes
}
