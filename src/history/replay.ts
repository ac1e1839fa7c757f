/**
 * The reader of the past: stored cycles, decoded and planned again from their recorded requests. Each comes with the rows
 * that were scored and the columns that the model received. Nothing is written.
 *
 * Limitation: images that arrived after a cycle count as stored in it, because the store has no image state per cycle.
 */
import type { Codec } from '../codec/index.js'
import type { CycleColumns } from '../contract/index.js'
import { loadPool, savedNames } from '../cycle/index.js'
import { Pool, type CyclePlan, type PoolState } from '../pool/index.js'
import type { Position, Store } from '../store/index.js'
import { readBody } from './records.js'

/** A cycle of the past. Its columns are valid until the next cycle is requested. */
export interface ReplayedCycle {
  readonly position: Position
  readonly cycle: CycleColumns
  /** The plan of the cycle, apart from warnings and unknown posts: see `firstNeeded`. */
  readonly plan: CyclePlan
  /** By slot of `plan.next`: number of images of the post that are stored now. */
  readonly imagesStored: Uint32Array
  /** The JSON object of the candidate of the post in a slot, as received. */
  readonly recordOf: (slot: number) => Uint8Array
}

export interface ReplayRange {
  /** Positions of the first and the last cycle. */
  readonly from: Position
  readonly to: Position
  readonly codec: Codec
}

/** The cycles from `from` to `to` in order of arrival. Throws when the store does not have one of them. */
export async function* replayCycles(
  store: Store,
  { from, to, codec }: ReplayRange,
): AsyncGenerator<ReplayedCycle> {
  const pool = new Pool()
  const records = new Map<Position, readonly Uint8Array[]>()
  for (let position = firstNeeded(store, from); position <= to; position++) {
    // Requests of expired cycles are only kept for pending posts.
    if (position < from && store.readRequest(position) === undefined) continue
    const json = await readBody(store, position)
    const cycle = codec.decodeCycle(json)
    const plan = pool.plan(cycle, position)
    records.set(position, recordsOf(json, cycle, plan))
    if (position >= from) yield replayed(store, cycle, plan, records)
    pool.publish(plan)
    forgetRecords(records, plan.next)
  }
}

/**
 * The first cycle to plan, so that every post that was pending after the cycle at `position` has all its readings: the
 * one with which the oldest of them entered. Posts that entered earlier and have left are missing; the model's inputs for
 * other posts do not depend on them.
 */
export function firstNeeded(store: Store, position: Position): Position {
  const { state } = loadPool(store)
  let first = state.enteredPosition
    .subarray(0, state.count)
    .reduce((min, entered) => Math.min(min, entered), position)
  const left = leftSince(store, position)
  for (let at = position; at > 0 && left.size > 0; at--) {
    for (const name of savedNames(store.readEntered(at))) if (left.delete(name)) first = Math.min(first, at)
  }
  return first
}

/**
 * Names of the posts that left after the cycle at `position` and had entered by then. Reads backwards, because a post may
 * leave and enter again. The result may contain posts that entered and left with one call, which only costs time.
 */
function leftSince(store: Store, position: Position): Set<string> {
  const names = new Set<string>()
  for (let at = store.lastCycle()?.position ?? 0; at > position; at--) {
    for (const name of savedNames(store.readEntered(at))) names.delete(name)
    for (const name of savedNames(store.readLeft(at))) names.add(name)
  }
  return names
}

function replayed(
  store: Store,
  cycle: CycleColumns,
  plan: CyclePlan,
  records: ReadonlyMap<Position, readonly Uint8Array[]>,
): ReplayedCycle {
  const { next } = plan
  return {
    position: plan.position,
    cycle,
    plan,
    imagesStored: Uint32Array.from(
      { length: next.count },
      (_, slot) =>
        store.imagePositions(
          next.galleries[next.gallery[slot] as number] as string,
          next.postNo[slot] as number,
        ).length,
    ),
    recordOf(slot) {
      const record = records.get(next.enteredPosition[slot] as number)?.[next.enteredRow[slot] as number]
      if (record === undefined) throw new Error(`there is no post in slot ${slot}`)
      return record
    },
  }
}

/** Copies of the JSON objects of the posts that entered. */
function recordsOf(json: Uint8Array, { candidates }: CycleColumns, { entries }: CyclePlan): Uint8Array[] {
  return Array.from(entries.enteredRows, (row) =>
    Uint8Array.from(json.subarray(candidates.rowStart[row] as number, candidates.rowEnd[row] as number)),
  )
}

/** Deletes the records of cycles without pending posts. */
function forgetRecords(records: Map<Position, readonly Uint8Array[]>, state: PoolState): void {
  const needed = new Set(state.enteredPosition.subarray(0, state.count))
  for (const position of records.keys()) if (!needed.has(position)) records.delete(position)
}
