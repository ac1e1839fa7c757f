/**
 * The envelope of every value in the database: a version, a tag and a checksum before the payload. LMDB itself
 * does not check what it reads; a damaged record must be an error, never a wrong result.
 *
 *   byte  0        version of the payload's layout
 *         1        tag: a small number that belongs to the payload
 *         2        1 if the SHA-256 of the payload is before it, else 0
 *         3        zero
 *         4 - 7    CRC-32 of bytes 0 to 3 and the payload, or of bytes 0 to 3 and the SHA-256; little endian
 *         8 …      payload, or its SHA-256 and then the payload; columns in it can be viewed in place, since a record
 *                  starts aligned
 *
 * A payload whose SHA-256 is known anyway needs no CRC, which takes 0.3 ms a megabyte.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { mebibyte, uninitializedBuffer, viewOf } from '../../base/index.js'
import { StoreError } from '../store-error.js'

const recordVersion = 1
const recordHeadBytes = 8
const hashFlagOffset = 2
const checksumOffset = 4
const sha256Bytes = 32
/** A larger record is rare, and its memory is not kept. */
const scratchBytesMax = 4 * mebibyte

export interface RecordContents {
  readonly tag: number
  readonly payload: Uint8Array
  /** Of the payload, as hex digits, if it is in the record. */
  readonly sha256: string | null
}

/**
 * Memory for the records of one write, until it has settled; another write at the same time gets new memory. New memory of a
 * megabyte costs page faults and garbage collections.
 */
export class Scratch {
  readonly #buffers: ArrayBuffer[] = []
  #count = 0
  #isInUse = false

  /** Undefined while another write uses it. */
  begin(): this | undefined {
    if (this.#isInUse) return undefined
    this.#isInUse = true
    this.#count = 0
    return this
  }

  /** The write has settled. */
  end(): void {
    this.#isInUse = false
  }

  /** `bytes` with undefined contents. */
  take(bytes: number): Uint8Array {
    if (bytes > scratchBytesMax) return new Uint8Array(uninitializedBuffer(bytes))
    const index = this.#count++
    let buffer = this.#buffers[index]
    if (buffer === undefined || buffer.byteLength < bytes)
      this.#buffers[index] = buffer = uninitializedBuffer(bytes)
    return new Uint8Array(buffer, 0, bytes)
  }
}

/** A record that holds copies of the parts, one after the other: in new memory, or in `scratch`. */
export function packRecord(tag: number, parts: readonly Uint8Array[], scratch?: Scratch): Uint8Array {
  const record = joined(tag, 0, parts, scratch)
  viewOf(record).setUint32(checksumOffset, checksum(record, record.byteLength), true)
  return record
}

/** The same, with the SHA-256 of the payload, as hex digits, instead of a checksum of it. */
export function packHashedRecord(
  tag: number,
  payload: Uint8Array,
  sha256: string,
  scratch?: Scratch,
): Uint8Array {
  const record = joined(tag, 1, [Buffer.from(sha256, 'hex'), payload], scratch)
  viewOf(record).setUint32(checksumOffset, checksum(record, recordHeadBytes + sha256Bytes), true)
  return record
}

function joined(
  tag: number,
  hashFlag: number,
  parts: readonly Uint8Array[],
  scratch: Scratch | undefined,
): Uint8Array {
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, recordHeadBytes)
  const record = scratch?.take(bytes) ?? new Uint8Array(uninitializedBuffer(bytes))
  let offset = recordHeadBytes
  for (const part of parts) {
    record.set(part, offset)
    offset += part.byteLength
  }
  record.set([recordVersion, tag, hashFlag, 0])
  return record
}

/**
 * What `packRecord` or `packHashedRecord` packed; the payload is a view of `record`. Throws a StoreError `unusable` that names
 * `what` when the bytes are damaged or of another version.
 */
export function openRecord(record: Uint8Array, what: string): RecordContents {
  const isHashed = record[hashFlagOffset] === 1
  const payloadOffset = recordHeadBytes + (isHashed ? sha256Bytes : 0)
  const checkedBytes = isHashed ? payloadOffset : record.byteLength
  if (
    record.byteLength < payloadOffset ||
    viewOf(record).getUint32(checksumOffset, true) !== checksum(record, checkedBytes) ||
    (isHashed && hashOf(record) !== hashIn(record))
  )
    throw new StoreError('unusable', `the stored ${what} is damaged`)
  if (record[0] !== recordVersion)
    throw new StoreError(
      'unusable',
      `the stored ${what} has version ${record[0]}, this program supports ${recordVersion}`,
    )
  return {
    tag: record[1]!,
    payload: viewFrom(record, payloadOffset),
    sha256: isHashed ? hashIn(record) : null,
  }
}

/** A plain view, even if LMDB returned a Buffer: Buffer.slice shares memory, whereas Uint8Array.slice copies. */
function viewFrom(record: Uint8Array, offset: number): Uint8Array {
  if (record.byteOffset % recordHeadBytes !== 0) return new Uint8Array(record).subarray(offset)
  return new Uint8Array(record.buffer, record.byteOffset + offset, record.byteLength - offset)
}

function hashOf(record: Uint8Array): string {
  return hash('sha256', record.subarray(recordHeadBytes + sha256Bytes))
}

function hashIn(record: Uint8Array): string {
  return Buffer.from(record.subarray(recordHeadBytes, recordHeadBytes + sha256Bytes)).toString('hex')
}

function checksum(record: Uint8Array, end: number): number {
  return crc32(record.subarray(recordHeadBytes, end), crc32(record.subarray(0, checksumOffset)))
}
