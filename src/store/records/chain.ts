/**
 * The chain of hashes over the cycles: each cycle has the SHA-256 of the hash of the cycle before it and of its own request,
 * response and record. Somebody who knows one hash can tell whether any cycle up to it was changed, removed or exchanged.
 *
 *   record  SHA-256 of the labels as JSON, followed by the columns
 *   hash    SHA-256 of four lines of 64 hex digits: hash of the cycle before, request, response, record
 *
 * No response waits for the hashes of its own cycle: they are computed when it is sent, and stored with the next cycle or the next
 * snapshot of the pool, which a server writes when it ends. When records expire, the start of the chain keeps the hash of the last
 * one of them, from which the others go on.
 */
import { createHash, hash } from 'node:crypto'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { sha256Of } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { StoreError } from '../store-error.js'
import type { ChainStart, CycleHashes, CycleRecord, Position, StoredRequest } from '../store.js'
import type { Databases } from './databases.js'
import { packChainStart, readBytes, readChainStart, readHashes, readStoredRequest } from './payloads.js'

/** Before the first cycle. */
const origin: ChainStart = { position: 0, hash: '0'.repeat(64) }
const startKey = 0

/** What a cycle adds to the chain. */
export interface HashedCycle extends Pick<CycleHashes, 'requestSha256' | 'responseSha256'> {
  readonly record: string
}

type ChainDatabases = Pick<Databases, 'chain' | 'cycles' | 'cycleColumns' | 'requests' | 'responses'>

/** `labels`: the record of the labels. */
export async function hashedCycle(
  { json, request, response, columns }: Pick<CycleRecord, 'json' | 'request' | 'response' | 'columns'>,
  labels: Uint8Array,
): Promise<HashedCycle> {
  const requestHash = await sha256Of(json ?? jsonOf(request))
  const responseHash = await sha256Of(response)
  return {
    requestSha256: requestHash.toString('hex'),
    responseSha256: responseHash.toString('hex'),
    record: recordHash(labels, columns),
  }
}

export function recordHash(labels: Uint8Array, columns: Uint8Array): string {
  return createHash('sha256').update(readBytes(labels, 'cycle')).update(columns).digest('hex')
}

export function linkHash(before: string, { requestSha256, responseSha256, record }: HashedCycle): string {
  return hash('sha256', [before, requestSha256, responseSha256, record].map((line) => `${line}\n`).join(''))
}

export function chainStart({ chain }: Pick<Databases, 'chain'>): ChainStart {
  const record = chain.getBinary(startKey)
  return record === undefined ? origin : readChainStart(record)
}

/** Within a transaction: the record of the oldest cycle expires. */
export function moveChainStart({ chain }: Pick<Databases, 'chain'>, position: Position): void {
  const record = chain.getBinary(position)
  assert(record !== undefined, 'each cycle but the last one has its hashes')
  chain.putSync(startKey, packChainStart({ position, hash: readHashes(record).hash }))
  chain.removeSync(position)
}

/** Throws a StoreError if there is no cycle before `position`. */
export function hashBefore(db: Pick<Databases, 'chain'>, position: Position): string {
  const record = db.chain.getBinary(position - 1)
  if (position > 1 && record !== undefined) return readHashes(record).hash
  const start = chainStart(db)
  if (start.position === position - 1) return start.hash
  throw new StoreError('unusable', `the hashes of the cycle at position ${position - 1} are missing`)
}

/** In place of the hash of a record that cannot be read. */
const unknownHash = '0'.repeat(64)

/**
 * The hashes of the last cycle, from its records. A damaged one, which `verify` reports, has no hash, and the next cycle can
 * still be stored.
 */
export function computeHashes(db: ChainDatabases, position: Position): CycleHashes {
  const readable = (
    name: 'cycles' | 'requests' | 'responses' | 'cycleColumns',
    hashOf: (record: Uint8Array) => string,
  ): string => {
    const record = db[name].getBinary(position)
    try {
      return record === undefined ? unknownHash : hashOf(record)
    } catch (error) {
      if (error instanceof StoreError) return unknownHash
      throw error
    }
  }
  return hashesAfter(hashBefore(db, position), {
    requestSha256: readable('requests', (record) => hash('sha256', jsonOf(readStoredRequest(record)))),
    responseSha256: readable('responses', (record) => hash('sha256', readBytes(record, 'response'))),
    record: readable('cycles', (labels) =>
      readable('cycleColumns', (columns) => recordHash(labels, readBytes(columns, 'columns of a cycle'))),
    ),
  })
}

export function hashesAfter(before: string, hashed: HashedCycle): CycleHashes {
  const { requestSha256, responseSha256 } = hashed
  return { requestSha256, responseSha256, hash: linkHash(before, hashed) }
}

function jsonOf({ encoding, bytes, bodyBytes }: StoredRequest): Uint8Array {
  if (encoding === 'identity') return bytes
  const options = { maxOutputLength: Math.max(bodyBytes, 1) }
  try {
    return encoding === 'gzip' ? gunzipSync(bytes, options) : zstdDecompressSync(bytes, options)
  } catch (cause) {
    throw new StoreError('unusable', 'a stored request cannot be decompressed', { cause })
  }
}
