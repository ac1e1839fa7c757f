/**
 * The record of a cycle: all that the history keeps of it when request and response have expired.
 *
 *   header as JSON · removals · the other tables that are known before the prediction, compressed together · heads
 *
 * Before each part, and before each of the tables, stands its length (u32). Every start reads the removals of a week, so these
 * few rows are not compressed.
 */
import type { Warning, Weights } from '../contract/index.js'
import { compress, decompress, packRows, rowBytes, rowsOf, unpackRows, type Rows } from './table.js'
import { cycleTables, type CycleTableName } from './tables.js'

export interface CycleRecordHeader {
  /** Version of the layout. */
  readonly layout: number
  /** The score of a row is the sum of its heads with these weights. */
  readonly weights: Weights
  /** Hashes of the encoders of the model that scored; null if it had none. */
  readonly text_encoder: string | null
  readonly image_encoder: string | null
  /** Rows of `candidates` that entered: the first ones. */
  readonly entered: number
  /** Time of the departures: never earlier than that of an earlier cycle. */
  readonly left_at: number
  /** Those of the response, which has their sentences. */
  readonly warnings: readonly Warning[]
}

export type CycleRows<Name extends CycleTableName> = Rows<(typeof cycleTables)[Name]>
export type CycleTables = { readonly [Name in CycleTableName]: CycleRows<Name> }

export const cycleRecordLayout = 6
/** In the order in which they stand in the record. */
const compressedTables = ['candidates', 'results', 'scored', 'images'] as const satisfies CycleTableName[]
const lengthBytes = 4

/** Packs all that is known before the prediction. The function that it returns adds the heads. */
export function packCycleRecord(
  header: Omit<CycleRecordHeader, 'layout'>,
  tables: Omit<CycleTables, 'heads'>,
): (heads: CycleRows<'heads'>) => Uint8Array {
  const bytes = {
    candidates: rowBytes(cycleTables.candidates, tables.candidates),
    results: rowBytes(cycleTables.results, tables.results),
    scored: rowBytes(cycleTables.scored, tables.scored),
    images: rowBytes(cycleTables.images, tables.images),
  }
  const parts = [
    Buffer.from(JSON.stringify({ layout: cycleRecordLayout, ...header })),
    rowBytes(cycleTables.removals, tables.removals),
    compress(joined(compressedTables.map((name) => bytes[name]))),
  ]
  return (heads) => joined([...parts, packRows(cycleTables.heads, heads)])
}

export function readCycleHeader(record: Uint8Array): CycleRecordHeader {
  return headerOf(partAt(record, 0))
}

/** One table of a record. Throws for a record that is not intact. */
export function readCycleTable<Name extends CycleTableName>(record: Uint8Array, name: Name): CycleRows<Name> {
  headerOf(partAt(record, 0))
  const table = cycleTables[name]
  if (name === 'removals') return rowsOf(table, partAt(record, 1))
  if (name === 'heads') return unpackRows(table, partAt(record, 3))
  const place = compressedTables.findIndex((compressed) => compressed === name)
  return rowsOf(table, partAt(decompress(partAt(record, 2)), place))
}

/** Whether a removal took effect: its post was pending. */
export function tookEffect({ entered_position }: CycleRows<'removals'>, row: number): boolean {
  return !Number.isNaN(entered_position[row])
}

function headerOf(part: Uint8Array): CycleRecordHeader {
  const header = JSON.parse(Buffer.from(part).toString()) as CycleRecordHeader
  if (header.layout !== cycleRecordLayout)
    throw new Error(`the cycle record has layout ${header.layout}, not ${cycleRecordLayout}`)
  return header
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts.flatMap((part) => [lengthOf(part), part]))
}

function partAt(record: Uint8Array, index: number): Uint8Array {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength)
  let at = 0
  for (let part = 0; at + lengthBytes <= record.length; part++) {
    const end = at + lengthBytes + view.getUint32(at, true)
    if (end > record.length) break
    if (part === index) return record.subarray(at + lengthBytes, end)
    at = end
  }
  throw new Error('the cycle record is incomplete')
}

function lengthOf(part: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(lengthBytes)
  bytes.writeUInt32LE(part.length)
  return bytes
}
