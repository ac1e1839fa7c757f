/**
 * Tables of the disk: how one is declared, its rows as columns by name, and their packing. A table is declared once; its
 * packing, its reading and the columns that the export takes from it derive from the declaration.
 *
 *   a table of numbers (codec/pack.ts), or columns of float32
 *   compressed: u8 form (0 as it is, 1 zstd) · the bytes
 *
 * Nothing at all is a table without rows. A context of zstd costs as much time as a small table: small tables are compressed
 * together, and floats without it.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { viewOf } from '../base/index.js'
import { packTable, unpackTable, type PackedTable } from '../codec/index.js'
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
  if (rows.count === 0) return new Uint8Array(0)
  if (isFloats(table)) return packFloats(valuesOf(table, rows), rows.count)
  const { header, rowCount, columns } = numbersOf(table, rows)
  return packTable(header, rowCount, columns)
}

/** The inverse of `rowBytes`. Throws for bytes that it did not make of this table. */
export function rowsOf<Table extends TableDeclaration>(table: Table, bytes: Uint8Array): Rows<Table> {
  const rows =
    bytes.length === 0
      ? noRows(table)
      : isFloats(table)
        ? unpackFloats(table, bytes)
        : rowsOfNumbers(table, unpackTable(bytes))
  return rows as unknown as Rows<Table>
}

function valuesOf<Table extends TableDeclaration>(table: Table, rows: Rows<Table>): NamedValues[] {
  const columns = table.columns.map(({ name, type }) => ({
    name,
    type,
    values: (rows as unknown as Record<string, Values>)[name] as Values,
  }))
  for (const { name, values } of columns)
    assert(values === null || values.length === rows.count, `each row has a value in ${name}`)
  return columns
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

/** The columns as numbers, and the header with which they are packed. */
export function numbersOf<Table extends TableDeclaration>(
  table: Table,
  rows: Rows<Table>,
): PackedTable & { readonly header: NumbersHeader } {
  const texts: Record<string, string[]> = {}
  const columns = valuesOf(table, rows).map(({ name, type, values }) => {
    if (type === 'sequence') return differencesOf(values as Float64Array, rows.count)
    if (type !== 'text') return values as Float64Array
    const { distinct, codes } = codesOf(values as readonly (string | null)[])
    texts[name] = distinct
    return codes
  })
  return { header: { texts }, rowCount: rows.count, columns }
}

/** The inverse of `numbersOf`. Throws for another number of columns. */
export function rowsOfNumbers<Table extends TableDeclaration>(
  table: Table,
  { header, rowCount, columns }: PackedTable,
): Rows<Table> {
  const { texts } = header as NumbersHeader
  if (columns.length !== table.columns.length)
    throw new Error(`a stored table has ${columns.length} columns instead of ${table.columns.length}`)
  const rows: Record<string, Values | number> = { count: rowCount }
  for (const [index, { name, type }] of table.columns.entries()) {
    const numbers = columns[index]!
    if (type === 'sequence') sumUp(numbers)
    rows[name] = type === 'text' ? textsOf(numbers, texts[name] ?? []) : numbers
  }
  return rows as unknown as Rows<Table>
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
  const codes = new Float64Array(values.length)
  values.forEach((value, row) => {
    if (value === null) {
      codes[row] = NaN
      return
    }
    let code = codeOf.get(value)
    if (code === undefined) {
      code = distinct.push(value) - 1
      codeOf.set(value, code)
    }
    codes[row] = code
  })
  return { distinct, codes }
}

function textsOf(codes: Float64Array, distinct: readonly string[]): (string | null)[] {
  return Array.from(codes, (code) => distinct[code] ?? null)
}

// ---- float32

const floatBytes = 4
const countBytes = 4

/** u32 rows · u8 of each column: 1, or 0 without values · the floats of each column with values, little-endian */
function packFloats(columns: readonly NamedValues[], count: number): Uint8Array {
  const head = new Uint8Array(countBytes + columns.length)
  viewOf(head).setUint32(0, count, true)
  const parts = [head]
  for (const [index, { values }] of columns.entries()) {
    if (values === null) continue
    const { buffer, byteOffset, byteLength } = values as Float32Array<ArrayBuffer>
    head[countBytes + index] = 1
    parts.push(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return Buffer.concat(parts)
}

function unpackFloats(table: TableDeclaration, bytes: Uint8Array): Record<string, Values | number> {
  const count = viewOf(bytes).getUint32(0, true)
  let at = countBytes + table.columns.length
  const columnsStored = bytes.subarray(countBytes, at).reduce((sum, stored) => sum + stored, 0)
  if (bytes.length !== at + columnsStored * count * floatBytes)
    throw new Error('a stored table of floats has the wrong length')
  const rows: Record<string, Values | number> = { count }
  for (const [index, { name }] of table.columns.entries()) {
    rows[name] = null
    if (bytes[countBytes + index] === 0) continue
    // A copy begins aligned.
    rows[name] = new Float32Array(Uint8Array.from(bytes.subarray(at, (at += count * floatBytes))).buffer)
  }
  return rows
}
