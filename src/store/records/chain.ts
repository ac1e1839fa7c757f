/**
 * The chain of hashes over the cycles and their expiry. Somebody who knows one hash can tell whether any cycle up to it was
 * changed, removed or exchanged. Each hash is the SHA-256 of lines that end in a line feed. For a cycle, 64 hex digits each:
 *
 *   the hash before it, of a cycle or of an expiry; zeros before the first cycle
 *   SHA-256 of the request as it is stored, compressed
 *   SHA-256 of the response
 *   SHA-256 of the labels as JSON, followed by the record
 *   SHA-256 of the weights in force as JSON; zeros if the store has no such version
 *   SHA-256 of the identity of the model's files; zeros if the store has none
 *
 * For an expiry: the hash before it, and `responses through N` or `records through N`.
 *
 * A cycle's hashes are stored in its own transaction, and those of an expiry in its own, with the last cycle. When records
 * expire, the start of the chain keeps the hash from which the others go on.
 */
import { createHash, hash } from 'node:crypto'
import { assert } from '../../contract/index.js'
import { StoreError } from '../store-error.js'
import type { ChainLink, ChainStart, CycleHeader, Expiry, Position } from '../store.js'
import type { Databases } from './databases.js'
import { nameHash } from './keys.js'
import {
  packChainEntry,
  packChainStart,
  readBytes,
  readChainEntry,
  readChainStart,
  readText,
  weightsJson,
  type ChainEntry,
} from './payloads.js'
import { findWeights } from './weights.js'

const zeros = '0'.repeat(64)
/** Before the first cycle. */
const origin: ChainStart = { position: 0, hash: zeros }
const startKey = 0

/** What the hash of a cycle covers besides the hash before it. */
export interface HashedCycle extends Omit<ChainEntry, 'hash' | 'expiries'> {
  readonly recordSha256: string
}

export function recordHash(labels: Uint8Array, record: Uint8Array): string {
  return createHash('sha256').update(readBytes(labels, 'cycle')).update(record).digest('hex')
}

export function linkHash(before: string, cycle: HashedCycle): string {
  const { requestSha256, responseSha256, recordSha256, weightsSha256, modelSha256 } = cycle
  return hashOfLines(
    before,
    requestSha256,
    responseSha256,
    recordSha256,
    weightsSha256 ?? zeros,
    modelSha256 ?? zeros,
  )
}

export function expiryHash(before: string, { ended, through }: Expiry): string {
  return hashOfLines(before, `${ended} through ${through}`)
}

function hashOfLines(...lines: readonly string[]): string {
  return hash('sha256', lines.map((line) => `${line}\n`).join(''))
}

/** SHA-256 of what scored a cycle, as the store has it now. */
export function scorerHashes(
  db: Pick<Databases, 'weights' | 'modelVersions'>,
  { weightsVersion, modelVersion }: Pick<CycleHeader, 'weightsVersion' | 'modelVersion'>,
): Pick<ChainEntry, 'weightsSha256' | 'modelSha256'> {
  const entry = findWeights(db, weightsVersion)
  const identity = db.modelVersions.getBinary(nameHash(modelVersion))
  return {
    weightsSha256: entry ? hash('sha256', weightsJson(entry.weights)) : null,
    modelSha256: identity ? hash('sha256', readText(identity, 'identity of a model')) : null,
  }
}

/** The hash that follows from an entry: of its last expiry, or of its cycle. */
export function endOf({ hash, expiries }: Pick<ChainEntry, 'hash' | 'expiries'>): string {
  return expiries.at(-1)?.hash ?? hash
}

export function chainStart({ chain }: Pick<Databases, 'chain'>): ChainStart {
  const record = chain.getBinary(startKey)
  return record === undefined ? origin : readChainStart(record)
}

/** Throws a StoreError if there is no cycle before `position`. */
export function hashBefore(db: Pick<Databases, 'chain'>, position: Position): string {
  const record = db.chain.getBinary(position - 1)
  if (position > 1 && record !== undefined) return endOf(readChainEntry(record))
  const start = chainStart(db)
  if (start.position === position - 1) return start.hash
  throw new StoreError('unusable', `the hashes of the cycle at position ${position - 1} are missing`)
}

/** The links of the chain from the cycle at `start` on, oldest first: each cycle that has a record, and each expiry after it. */
export function* chainLinks({ chain }: Pick<Databases, 'chain'>, start: Position = 1): Iterable<ChainLink> {
  for (const { key: position, value } of chain.getRange({ start: Math.max(start, 1) })) {
    const { hash, expiries } = readChainEntry(value)
    yield { position, hash, expiry: null }
    for (const { hash: expiryHash, ...expiry } of expiries) yield { position, hash: expiryHash, expiry }
  }
}

/** Within a write: the expiry becomes the last link of the chain. `last`: position of the last cycle. */
export function appendExpiry({ chain }: Pick<Databases, 'chain'>, last: Position, expiry: Expiry): void {
  const record = chain.getBinary(last)
  assert(record !== undefined, 'each cycle has its hashes')
  const entry = readChainEntry(record)
  const hashed = { ...expiry, hash: expiryHash(endOf(entry), expiry) }
  chain.put(last, packChainEntry({ ...entry, expiries: [...entry.expiries, hashed] }))
}

/** Within a write: the record of the oldest cycle expires. */
export function moveChainStart({ chain }: Pick<Databases, 'chain'>, position: Position): void {
  const record = chain.getBinary(position)
  assert(record !== undefined, 'each cycle has its hashes')
  chain.put(startKey, packChainStart({ position, hash: endOf(readChainEntry(record)) }))
  chain.remove(position)
}
