/**
 * Changes as parameters of a statement: one block of bytes, with columns that say where each piece is; and records of the
 * journal as changes.
 */
import { firstLineOf, viewOf } from '../../base/index.js'
import { databaseTable, kinds, openRecord, readPosition, type Change, type Kind } from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { Position } from '../store.js'

const columnCount = 5

/**
 * Changes as parameters of a statement. `bytes`: keys and values, one after the other. `columns`: number of the kind, offset and
 * length of the key in `bytes`, the same of the value. Offsets count from 1; a length of -1: no value.
 */
export function packChanges(changes: readonly Change[]): { bytes: Buffer; columns: number[][] } {
  const columns = Array.from({ length: columnCount }, (): number[] => [])
  const pieces: Uint8Array[] = []
  let offset = 1
  for (const { kind, key, value } of changes) {
    const keyBytes = keyToBytes(key)
    const valueAt = offset + keyBytes.length
    const row = [databaseTable[kind].kindNumber, offset, keyBytes.length, valueAt, value?.length ?? -1]
    columns.forEach((column, index) => column.push(row[index]!))
    pieces.push(keyBytes, value ?? new Uint8Array(0))
    offset = valueAt + (value?.length ?? 0)
  }
  return { bytes: Buffer.concat(pieces), columns }
}

function kindOf(number: number): Kind {
  const kind = kinds.find((each) => databaseTable[each].kindNumber === number)
  if (kind === undefined) throw new StoreError('unusable', `the journal has records of kind ${number}`)
  return kind
}

/** Numbers are four bytes, big endian: bytes sort as numbers. */
export function keyToBytes(key: number | Uint8Array): Uint8Array {
  if (typeof key !== 'number') return key
  const bytes = new Uint8Array(4)
  viewOf(bytes).setUint32(0, key)
  return bytes
}

export function keyFromBytes(encoding: 'uint32' | 'binary', bytes: Uint8Array): number | Uint8Array {
  return encoding === 'uint32' ? viewOf(bytes).getUint32(0) : bytes
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

/** A record in the journal. */
export interface RecordRow {
  readonly kind: number
  readonly key: Buffer
  /** Number of the entry that wrote it last. */
  readonly entry: number | string
  /** Null for a removed record. */
  readonly value: Buffer | null
}

/** Throws a StoreError `unusable` for a damaged record. */
export function changeOf(row: RecordRow): Change {
  const kind = kindOf(row.kind)
  const value = row.value && plain(row.value)
  if (value !== null) checkIntact(kind, row, value)
  return { kind, key: keyFromBytes(databaseTable[kind].keyEncoding, plain(row.key)), value }
}

/** A damaged record must not reach a view: there it would look like damage of the data directory. */
function checkIntact(kind: Kind, row: RecordRow, value: Uint8Array): void {
  try {
    openRecord(value, 'record')
  } catch (error) {
    throw damaged(kind, row, firstLineOf(error))
  }
}

function damaged(kind: Kind, { key, entry }: RecordRow, problem: string): StoreError {
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
