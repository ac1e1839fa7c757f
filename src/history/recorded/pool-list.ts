/**
 * The pending posts of a store with their results in a cycle, and the digest of their keys, with which a client
 * and the service compare their pools. docs/client.md documents the digest.
 */
import { createHash } from 'node:crypto'
import type { PostKey, ResultRow } from '../../contract/index.js'
import type { Store } from '../../store/index.js'
import { pendingResults, readResponse } from './records.js'

/** A pending post, with its result in the cycle. */
export interface PendingPostRow extends PostKey {
  readonly status: ResultRow['status']
  /** Why the post is not scored. */
  readonly reason: ResultRow['reason'] | null
  readonly score: number | null
}

export interface PoolListing {
  /** The cycle after which the posts are pending; null in a store without cycles. */
  readonly cycle_id: string | null
  readonly pending: number
  readonly digest: string
  /** Posts in order of entry. */
  readonly posts: readonly PendingPostRow[]
}

/** The pool after the cycle `cycleId`, by default after the last one to arrive. Throws if the cycle is not stored. */
export function listPool(store: Store, cycleId = store.lastCycle()?.cycleId): PoolListing {
  if (cycleId === undefined) return { cycle_id: null, pending: 0, digest: poolDigest([]), posts: [] }
  const posts = pendingResults(readResponse(store, cycleId)).map(
    ({ gall_id, post_no, status, reason = null, score }) => ({ gall_id, post_no, status, reason, score }),
  )
  return { cycle_id: cycleId, pending: posts.length, digest: poolDigest(posts), posts }
}

/**
 * SHA-256 in hex of the sorted SHA-256s in hex of the keys `gall_id/post_no`. Hashes of a fixed length need no separator,
 * and hex sorts alike in every language.
 */
export function poolDigest(keys: Iterable<PostKey>): string {
  const hashes = Array.from(keys, ({ gall_id, post_no }) => sha256(`${gall_id}/${post_no}`))
  return sha256(hashes.sort().join(''))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
