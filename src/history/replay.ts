/**
 * Replay: decodes and plans stored cycles again from their recorded requests. Each comes with the rows that were scored
 * and the columns that the model received. Nothing is written.
 */
import type { Codec } from '../codec/index.js'
import type { CycleColumns } from '../contract/index.js'
import { loadPool, readAvailability, savedNames, type Availability } from '../cycle/index.js'
import { Pool, type CyclePlan, type PoolState, type ScoringInputs } from '../pool/index.js'
import type { Position, Store } from '../store/index.js'
import { readBody } from './records.js'

/** A replayed cycle. */
export interface ReplayedCycle {
  readonly position: Position
  readonly cycle: CycleColumns
  /** The plan of the cycle, apart from warnings and unknown posts: see `firstNeeded`. */
  readonly plan: CyclePlan
  /** The texts and images that the model had. */
  readonly availability: Availability
  /** By slot of `plan.next`, for the scored posts: the texts and images that the model had. */
  readonly inputState: Pick<ScoringInputs, 'imagesStored' | 'imagesEncoded' | 'textEncoded'>
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
  for await (const { position, json } of bodies(store, { first: firstNeeded(store, from), from, to })) {
    const cycle = codec.decodeCycle(json)
    const plan = pool.plan(cycle, position)
    records.set(position, recordsOf(json, cycle, plan))
    if (position >= from) yield toReplayed(store, cycle, plan, records)
    pool.publish(plan)
    forgetRecords(records, plan.next)
  }
}

/** The cycle at a position of a replay that has not reached it; valid until another one is requested. */
export async function replayAt(
  replays: AsyncGenerator<ReplayedCycle>,
  position: Position,
): Promise<ReplayedCycle> {
  for (;;) {
    const next = await replays.next()
    if (next.done === true) throw new Error(`position ${position} was not replayed`)
    if (next.value.position === position) return next.value
  }
}

/** Bodies that are decompressed ahead, in the thread pool. */
const bodiesAhead = 8

/** The bodies from `first` to `to`. Before `from` some may be missing: those of expired cycles without pending posts. */
async function* bodies(
  store: Store,
  { first, from, to }: { readonly first: Position; readonly from: Position; readonly to: Position },
): AsyncGenerator<{ readonly position: Position; readonly json: Uint8Array }> {
  const ahead: { readonly position: Position; readonly json: Promise<Uint8Array> }[] = []
  for (let position = first; position <= to || ahead.length > 0;) {
    while (position <= to && ahead.length < bodiesAhead) {
      if (position >= from || store.readRequest(position) !== undefined) {
        const json = readBody(store, position)
        // Until it is awaited, a failure is not unhandled.
        json.catch(() => undefined)
        ahead.push({ position, json })
      }
      position++
    }
    const next = ahead.shift()
    if (next !== undefined) yield { position: next.position, json: await next.json }
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

function toReplayed(
  store: Store,
  cycle: CycleColumns,
  plan: CyclePlan,
  records: ReadonlyMap<Position, readonly Uint8Array[]>,
): ReplayedCycle {
  const { next, position } = plan
  const availability = readAvailability(store, position) ?? noAvailability
  return {
    ...{ position, cycle, plan, availability },
    inputState: inputState(plan, availability),
    recordOf(slot) {
      const record = records.get(next.enteredPosition[slot] as number)?.[next.enteredRow[slot] as number]
      if (record === undefined) throw new Error(`there is no post in slot ${slot}`)
      return record
    },
  }
}

/** Availability in a cycle without scored posts, which has no record. */
const noAvailability: Availability = {
  ...{ textEncoder: null, imageEncoder: null, textEncoded: new Uint8Array() },
  images: { row: new Float64Array(), position: new Float64Array(), encoded: new Float64Array() },
}

function inputState(
  { scoring, next, position }: CyclePlan,
  availability: Availability,
): Pick<ScoringInputs, 'imagesStored' | 'imagesEncoded' | 'textEncoded'> {
  const { textEncoded: textsOfRows, images } = availability
  if (textsOfRows.length !== scoring.count)
    throw new Error(
      `position ${position}: ${textsOfRows.length} rows of availability and ${scoring.count} scored posts`,
    )
  const imagesStored = new Uint32Array(next.count)
  const imagesEncoded = new Uint32Array(next.count)
  const textEncoded = new Uint8Array(next.count)
  textsOfRows.forEach((encoded, row) => (textEncoded[scoring.slots[row] as number] = encoded))
  for (const [i, row] of images.row.entries()) {
    const slot = scoring.slots[row] as number
    imagesStored[slot] = (imagesStored[slot] as number) + 1
    imagesEncoded[slot] = (imagesEncoded[slot] as number) + (images.encoded[i] as number)
  }
  return { imagesStored, imagesEncoded, textEncoded }
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
