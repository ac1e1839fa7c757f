/**
 * The chain of hashes over the cycles: each cycle has the SHA-256 of the hash of the cycle before it and of its own request,
 * response and record. Somebody who knows one hash can tell whether any cycle up to it was changed, removed or exchanged.
 *
 *   record  SHA-256 of the labels as JSON, followed by the columns
 *   hash    SHA-256 of four lines of 64 hex digits: hash of the cycle before, request, response, record
 *
 * When records of cycles expire, `chain` keeps the hash of the last one of them, from which the others go on.
 */
import { createHash, hash } from 'node:crypto'
import type { CycleHeader, Position } from '../store.js'
import type { Databases } from './databases.js'
import { packChainStart, packLabels, readChainStart, readCycle } from './payloads.js'

export interface ChainLink {
  readonly position: Position
  readonly hash: string
}

/** The link before that of the first cycle. */
const origin: ChainLink = { position: 0, hash: '0'.repeat(64) }
const startKey = 0

/** What a cycle adds to the chain. */
export interface HashedCycle {
  readonly request: string
  readonly response: string
  readonly record: string
}

export function hashedCycle(
  labels: CycleHeader,
  response: Uint8Array | string,
  columns: Uint8Array,
): HashedCycle {
  return {
    request: labels.requestSha256,
    response: typeof response === 'string' ? response : hash('sha256', response),
    record: createHash('sha256').update(packLabels(labels)).update(columns).digest('hex'),
  }
}

export function linkHash(before: string, { request, response, record }: HashedCycle): string {
  return hash('sha256', [before, request, response, record].map((line) => `${line}\n`).join(''))
}

/** The last cycle whose record has expired. */
export function chainStart({ chain }: Pick<Databases, 'chain'>): ChainLink {
  const record = chain.getBinary(startKey)
  return record === undefined ? origin : readChainStart(record)
}

/** Within a transaction: the record of the oldest cycle expires. */
export function moveChainStart({ chain, cycles }: Databases, position: Position): void {
  const record = cycles.getBinary(position)
  if (record !== undefined)
    chain.putSync(startKey, packChainStart({ position, hash: readCycle(record).hash }))
}

export function hashBefore(db: Databases, position: Position): string {
  const record = db.cycles.getBinary(position - 1)
  return record === undefined ? chainStart(db).hash : readCycle(record).hash
}
