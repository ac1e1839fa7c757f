/**
 * Stored cycles once more, from their recorded requests: the rows that were scored, with the columns that the model saw
 * then. Pure over the store: decoded and planned again, nothing is written. For golden cases and comparisons.
 *
 * What the store does not keep with a cycle is as it is now: images that arrived after a cycle count as stored in it.
 */
import type { Codec } from '../codec/index.js'
import type { CycleColumns } from '../contract/index.js'
import { loadPool, savedNames, unpackRequest } from '../cycle/index.js'
import { Pool, type CyclePlan, type PoolState } from '../pool/index.js'
import type { Position, Store } from '../store/index.js'

/** One cycle again. All of it may be read until the next one is asked for. */
export interface ReplayedCycle {
  readonly position: Position
  readonly cycle: CycleColumns
  /** As it was planned then, apart from warnings and posts never seen: see `firstNeeded`. */
  readonly plan: CyclePlan
  /** By slot of `plan.next`: images of the post that are in the store now. */
  readonly imagesStored: Uint32Array
  /** The JSON object of the post in a slot, as its candidate came. */
  readonly recordOf: (slot: number) => Uint8Array
}

export interface ReplayRange {
  /** The first and the last cycle to give, by position. */
  readonly from: Position
  readonly to: Position
  readonly codec: Codec
}

/** The cycles from `from` to `to` in order of arrival. Throws where the store lacks one of them. */
export async function* replayCycles(
  store: Store,
  { from, to, codec }: ReplayRange,
): AsyncGenerator<ReplayedCycle> {
  const pool = new Pool()
  const records = new Map<Position, readonly Uint8Array[]>()
  for (let position = firstNeeded(store, from); position <= to; position++) {
    // Of an expired cycle only what a pending post needs is kept.
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
 * Where to begin, so that every post that was pending after the cycle at `position` is there with all its readings: with
 * the cycle in which the oldest of them entered. Posts that were pending before it and have left since are lacking;
 * nothing that a model sees of others depends on them.
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
 * Names of the posts that left after the cycle at `position` and had entered by then. Walked backwards, since a post may
 * leave and come again. One that entered and left with one call is among them, and does no harm but a longer walk.
 */
function leftSince(store: Store, position: Position): Set<string> {
  const names = new Set<string>()
  for (let at = store.lastCycle()?.position ?? 0; at > position; at--) {
    for (const name of savedNames(store.readEntered(at))) names.delete(name)
    for (const name of savedNames(store.readLeft(at))) names.add(name)
  }
  return names
}

async function readBody(store: Store, position: Position): Promise<Uint8Array> {
  const request = store.readRequest(position)
  if (request === undefined) throw new Error(`the store has no request at position ${position}`)
  return unpackRequest(request)
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

/** JSON objects of the posts that entered, in memory of their own. */
function recordsOf(json: Uint8Array, { candidates }: CycleColumns, { entries }: CyclePlan): Uint8Array[] {
  return Array.from(entries.enteredRows, (row) =>
    Uint8Array.from(json.subarray(candidates.rowStart[row] as number, candidates.rowEnd[row] as number)),
  )
}

/** Drops the records of cycles of which no post is pending any more. */
function forgetRecords(records: Map<Position, readonly Uint8Array[]>, state: PoolState): void {
  const needed = new Set(state.enteredPosition.subarray(0, state.count))
  for (const position of records.keys()) if (!needed.has(position)) records.delete(position)
}
