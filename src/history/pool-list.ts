/**
 * The pending posts of a store with their results in the last cycle, and the digest of their keys, with which a client
 * and the service compare their pools. docs/client.md documents the digest.
 */
import { createHash } from 'node:crypto'
import { assert, counterNames, formatInstant, type ResultRow } from '../contract/index.js'
import { loadPool } from '../cycle/index.js'
import { gallIdAt, type PoolState } from '../pool/index.js'
import type { Store } from '../store/index.js'
import { readResponse } from './records.js'

export interface PostKey {
  readonly gall_id: string
  readonly post_no: number
}

/** A pending post. Members after `score` are of the pool as it is now, and absent for the pool after an earlier cycle. */
export interface PendingPostRow extends PostKey {
  readonly status: ResultRow['status']
  /** Why the post is not scored. */
  readonly reason: ResultRow['reason'] | null
  readonly score: number | null
  /** Null where the cycle has expired. */
  readonly entered_cycle?: string | null
  readonly created_at?: string | null
  readonly extracted_at?: string | null
  /** Of the latest `ok` reading. */
  readonly observed_at?: string | null
  readonly views?: number | null
  readonly up?: number | null
  readonly down?: number | null
  readonly comment_cnt?: number | null
  readonly rtb_vote?: number | null
}

export interface PoolListing {
  /** The cycle after which the posts are pending; null in a store without cycles. */
  readonly cycle_id: string | null
  readonly pending: number
  readonly digest: string
  /** In order of entry. */
  readonly posts: readonly PendingPostRow[]
}

/** The pool after the cycle `cycleId`, by default after the last one to arrive. Throws where the cycle is not stored. */
export function listPool(store: Store, cycleId?: string): PoolListing {
  const last = store.lastCycle()?.cycleId
  const id = cycleId ?? last
  if (id === undefined) return { cycle_id: null, pending: 0, digest: poolDigest([]), posts: [] }
  const results = readResponse(store, id).results.filter(({ reason }) => reason !== 'unknown_post')
  const details = id === last ? poolDetails(store, results) : null
  const posts = results.map(({ gall_id, post_no, status, reason = null, score }, slot) => ({
    ...{ gall_id, post_no, status, reason, score },
    ...details?.(slot),
  }))
  return { cycle_id: id, pending: posts.length, digest: poolDigest(posts), posts }
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

/** The details of the post in a slot. `results` are the pending posts of the last response, in order of entry. */
function poolDetails(
  store: Store,
  results: readonly PostKey[],
): (slot: number) => Omit<PendingPostRow, keyof PostKey | 'status' | 'reason' | 'score'> {
  const { state } = loadPool(store)
  assert(
    state.count === results.length && results.every((row, slot) => isPostIn(state, slot, row)),
    'the last response has a result for each pending post, in order',
  )
  const cycleIds = new Map([...store.tail(1)].map(({ position, cycleId }) => [position, cycleId]))
  return (slot) => ({
    entered_cycle: cycleIds.get(state.enteredPosition[slot] as number) ?? null,
    created_at: timeAt(state.posts.createdAtMs, slot),
    extracted_at: timeAt(state.posts.extractedAtMs, slot),
    observed_at: timeAt(state.latest.observedAtMs, slot),
    ...(Object.fromEntries(counterNames.map((name) => [name, numberAt(state.latest[name], slot)])) as Record<
      (typeof counterNames)[number],
      number | null
    >),
  })
}

function isPostIn(state: PoolState, slot: number, { gall_id, post_no }: PostKey): boolean {
  return state.postNo[slot] === post_no && gallIdAt(state, slot) === gall_id
}

function timeAt(column: Float64Array, slot: number): string | null {
  const ms = numberAt(column, slot)
  return ms === null ? null : formatInstant(ms)
}

function numberAt(column: Float64Array, slot: number): number | null {
  const value = column[slot] as number
  return Number.isNaN(value) ? null : value
}
