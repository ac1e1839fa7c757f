/**
 * Changes of records as the journal keeps them: by kind of record (a database of the store) and key; no value removes the
 * record. Packs many changes into one block of bytes, with columns that say where each part is.
 */
import { firstLineOf, mebibyte, viewOf } from '../../base/index.js'
import {
  databaseTable,
  kinds,
  openRecord,
  readPosition,
  type Databases,
  type Kind,
  type RecordDatabase,
} from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { Position } from '../store.js'

export interface Change {
  readonly kind: Kind
  readonly key: number | Uint8Array
  /** The record with its envelope; null removes it. */
  readonly value: Uint8Array | null
}

/** A value is stored in parts of this size, so that a reader needs little memory for a page of rows. */
export const partBytesMax = mebibyte

const columnCount = 7

/**
 * Changes as parameters of a statement. `bytes`: keys and values, one after the other. `columns`, by part: number of the
 * kind, part, last part, offset and length of the key in `bytes`, the same of the value. Offsets count from 1; a length of
 * -1: no value.
 */
export function packChanges(changes: readonly Change[]): { bytes: Buffer; columns: number[][] } {
  const columns = Array.from({ length: columnCount }, (): number[] => [])
  const pieces: Uint8Array[] = []
  let offset = 1
  for (const { kind, key, value } of changes) {
    const keyBytes = keyToBytes(key)
    const keyAt = offset
    pieces.push(keyBytes)
    offset += keyBytes.length
    const partLast = value === null ? 0 : Math.max(0, Math.ceil(value.length / partBytesMax) - 1)
    for (let part = 0; part <= partLast; part++) {
      const piece = value?.subarray(part * partBytesMax, (part + 1) * partBytesMax)
      const { kindNumber } = databaseTable[kind]
      const row = [kindNumber, part, partLast, keyAt, keyBytes.length, offset, piece?.length ?? -1]
      columns.forEach((column, index) => column.push(row[index]!))
      if (piece === undefined) continue
      pieces.push(piece)
      offset += piece.length
    }
  }
  return { bytes: Buffer.concat(pieces), columns }
}

function kindOf(number: number): Kind {
  const kind = kinds.find((each) => databaseTable[each].kindNumber === number)
  if (kind === undefined) throw new StoreError('unusable', `the journal has records of kind ${number}`)
  return kind
}

/** Numbers are four bytes, big endian: bytes sort as numbers. */
function keyToBytes(key: number | Uint8Array): Uint8Array {
  if (typeof key !== 'number') return key
  const bytes = new Uint8Array(4)
  viewOf(bytes).setUint32(0, key)
  return bytes
}

function keyFromBytes(kind: Kind, bytes: Uint8Array): number | Uint8Array {
  return databaseTable[kind].keyEncoding === 'uint32' ? viewOf(bytes).getUint32(0) : bytes
}

/** Runs within a transaction. */
export function applyChanges(databases: Databases, changes: readonly Change[]): void {
  for (const { kind, key, value } of changes) {
    const database: RecordDatabase<number | Uint8Array> = databases[kind]
    if (value === null) database.removeSync(key)
    else database.putSync(key, value)
  }
}

export function cyclesOf(
  changes: readonly Change[],
): { readonly cycleId: string; readonly position: Position }[] {
  return changes.flatMap(({ kind, key, value }) =>
    kind === 'cycleIds' && value !== null
      ? [{ cycleId: Buffer.from(key as Uint8Array).toString('latin1'), position: readPosition(value) }]
      : [],
  )
}

/** A part of a record in the journal. */
export interface PartRow {
  readonly kind: number
  readonly key: Buffer
  readonly part: number
  /** Number of the entry that wrote it last. */
  readonly entry: number | string
  /** Null in the only part of a removed record. */
  readonly value: Buffer | null
}

/** Puts the parts of values together again, in the order in which the journal gives its rows. */
export class PartJoiner {
  #first: (Omit<PartRow, 'kind'> & { readonly kind: Kind }) | null = null
  #values: Buffer[] = []

  /** Adds a row; returns the change before it when that is complete. */
  add(row: PartRow): Change | null {
    const complete = row.part === 0 ? this.end() : null
    if (row.part === 0) this.#first = { ...row, kind: kindOf(row.kind) }
    else if (!this.#isNext(row)) throw damaged(kindOf(row.kind), row, 'a part is missing')
    if (row.value !== null) this.#values.push(row.value)
    return complete
  }

  #isNext({ kind, key, part }: PartRow): boolean {
    const first = this.#first
    return (
      first !== null && kindOf(kind) === first.kind && key.equals(first.key) && part === this.#values.length
    )
  }

  /** The last change; null when there was none. */
  end(): Change | null {
    if (this.#first === null) return null
    const row = this.#first
    const { kind, key } = row
    const values = this.#values
    this.#first = null
    this.#values = []
    const value = row.value && plain(values.length === 1 ? row.value : Buffer.concat(values))
    if (value !== null) checkIntact(kind, row, value)
    return { kind, key: keyFromBytes(kind, plain(key)), value }
  }
}

/** A damaged record must not reach a view: there it would look like damage of the data directory. */
function checkIntact(kind: Kind, row: Omit<PartRow, 'kind'>, value: Uint8Array): void {
  try {
    openRecord(value, 'record')
  } catch (error) {
    throw damaged(kind, row, firstLineOf(error))
  }
}

function damaged(kind: Kind, { key, entry }: Omit<PartRow, 'kind'>, problem: string): StoreError {
  return new StoreError(
    'unusable',
    `the journal is damaged: ${problem} (record ${key.toString('hex')} of ${kind}, entry ${entry}); restore the database of the ` +
      'journal from a backup, or import the data directory of a process that is intact into a new environment',
  )
}

/** A view without the methods of a Buffer, of which `slice` shares memory. */
function plain({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
