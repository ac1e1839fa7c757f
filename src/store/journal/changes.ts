/**
 * Changes of records as the journal keeps them: by kind of record (a database of the store) and key; no value removes the
 * record. Packs many changes into one block of bytes, with columns that say where each part is.
 */
import type { Databases } from '../lmdb/databases.js'
import { viewOf } from '../lmdb/record.js'
import { readPosition } from '../lmdb/records.js'
import type { Position } from '../store.js'

/** Numbers of the databases in the journal: they never change, and a number is never used again. `meta` is the view's own. */
export const kindNumbers = {
  cycles: 1,
  requests: 2,
  responses: 3,
  entered: 4,
  left: 5,
  availability: 6,
  evaluations: 7,
  pool: 8,
  weights: 9,
  cycleIds: 10,
  images: 11,
  imageBytes: 12,
  imageUses: 13,
  embeddings: 14,
  shadowScores: 15,
  modelVersions: 16,
  outcomes: 17,
} as const satisfies Record<Exclude<keyof Databases, 'meta'>, number>

export type Kind = keyof typeof kindNumbers
export const kinds = Object.keys(kindNumbers) as Kind[]
const kindsByNumber = new Map<number, Kind>(kinds.map((kind) => [kindNumbers[kind], kind]))

/** One record that a write changes. */
export interface Change {
  readonly kind: Kind
  readonly key: number | Uint8Array
  /** The record with its envelope; null removes it. */
  readonly value: Uint8Array | null
}

/** A value is stored in parts of this size, so that a reader needs little memory for a page of rows. */
export const partBytesMax = 1024 * 1024

/** Changes as parameters of a statement. */
export interface PackedChanges {
  /** Keys and values, one after the other. */
  readonly bytes: Buffer
  /** By part: number of the kind, part, and where key and value are in `bytes` (from 1). A length of -1: no value. */
  readonly kind: number[]
  readonly part: number[]
  readonly partLast: number[]
  readonly keyAt: number[]
  readonly keyBytes: number[]
  readonly valueAt: number[]
  readonly valueBytes: number[]
}

export function packChanges(changes: readonly Change[]): PackedChanges {
  const packed = {
    ...{ kind: [] as number[], part: [] as number[], partLast: [] as number[] },
    ...{
      keyAt: [] as number[],
      keyBytes: [] as number[],
      valueAt: [] as number[],
      valueBytes: [] as number[],
    },
  }
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
      packed.kind.push(kindNumbers[kind])
      packed.part.push(part)
      packed.partLast.push(partLast)
      packed.keyAt.push(keyAt)
      packed.keyBytes.push(keyBytes.length)
      packed.valueAt.push(offset)
      packed.valueBytes.push(piece?.length ?? -1)
      if (piece === undefined) continue
      pieces.push(piece)
      offset += piece.length
    }
  }
  return { bytes: Buffer.concat(pieces), ...packed }
}

/** The kind of a number; undefined for one of a later version. */
export function kindOf(number: number): Kind | undefined {
  return kindsByNumber.get(number)
}

/** Numbers are four bytes, big endian: bytes sort as numbers. */
function keyToBytes(key: number | Uint8Array): Uint8Array {
  if (typeof key !== 'number') return key
  const bytes = new Uint8Array(4)
  viewOf(bytes).setUint32(0, key)
  return bytes
}

const numbered: ReadonlySet<Kind> = new Set([
  'cycles',
  'requests',
  'responses',
  'entered',
  'left',
  'availability',
  'evaluations',
  'pool',
  'weights',
] satisfies Kind[])

export function keyFromBytes(kind: Kind, bytes: Uint8Array): number | Uint8Array {
  return numbered.has(kind) ? viewOf(bytes).getUint32(0) : bytes
}

/** The cycles that changes store. */
export function cyclesOf(
  changes: readonly Change[],
): { readonly cycleId: string; readonly position: Position }[] {
  return changes.flatMap(({ kind, key, value }) =>
    kind === 'cycleIds' && value !== null
      ? [{ cycleId: Buffer.from(key as Uint8Array).toString('latin1'), position: readPosition(value) }]
      : [],
  )
}

/** Puts the parts of values together again, in the order in which the journal gives its rows. */
export class PartJoiner {
  #kind: Kind | null = null
  #key: Buffer | null = null
  #parts: Uint8Array[] = []
  #isRemoved = false

  /** Adds a row; returns the change before it when that is complete. */
  add(kind: Kind, key: Buffer, part: number, value: Uint8Array | null): Change | null {
    const complete = part === 0 ? this.end() : null
    if (part === 0) {
      this.#kind = kind
      this.#key = key
      this.#isRemoved = value === null
    }
    if (value !== null) this.#parts.push(value)
    return complete
  }

  /** The last change; null when there was none. */
  end(): Change | null {
    if (this.#kind === null || this.#key === null) return null
    const [first] = this.#parts
    const joined = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts)
    const change: Change = {
      kind: this.#kind,
      key: keyFromBytes(this.#kind, plain(this.#key)),
      value: this.#isRemoved ? null : plain(joined),
    }
    this.#kind = this.#key = null
    this.#parts = []
    return change
  }
}

/** A view without the methods of a Buffer, of which `slice` shares memory. */
function plain({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
