/**
 * Replay: decodes and plans stored cycles again from their recorded requests. Each comes with the rows that were scored
 * and the columns that the model received. Nothing is written.
 */
import type { CycleColumns } from '../../contract/index.js'
import { availabilityIn, planStored, type Availability } from '../../cycle/index.js'
import { Pool, type CyclePlan, type PoolState, type ScoringInputs } from '../../pool/index.js'
import { readCycleTable } from '../../records/index.js'
import type { Position, Store } from '../../store/index.js'
import { recordAt } from '../recorded/records.js'

export interface ReplayedCycle {
  readonly position: Position
  readonly cycle: CycleColumns
  /** The plan of the cycle, apart from warnings and unknown posts: see `firstNeeded`. */
  readonly plan: CyclePlan
  /** The texts and images that the model had. */
  readonly availability: Availability
  /** The texts and images that the model had of the scored posts, by slot of `plan.next`. */
  readonly inputState: Pick<ScoringInputs, 'imagesStored' | 'imagesEncoded' | 'textEncoded'>
  /** The JSON object of the candidate of the post in a slot, as received. */
  readonly recordOf: (slot: number) => Uint8Array
}

export interface ReplayRange {
  /** Positions of the first and the last cycle. */
  readonly from: Position
  readonly to: Position
}

/** The cycles from `from` to `to` in order of arrival. Throws when the store does not have one of them. */
export async function* replayCycles(store: Store, { from, to }: ReplayRange): AsyncGenerator<ReplayedCycle> {
  const pool = new Pool()
  const records = new Map<Position, readonly Uint8Array[]>()
  for await (const { json, cycle, plan } of planStored(pool, store, positionsOf(store, { from, to }))) {
    records.set(plan.position, recordsOf(json, cycle, plan))
    if (plan.position >= from) yield toReplayed(store, cycle, plan, records)
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

/** Positions up to `to`. Before `from` some are left out: those of expired cycles without pending posts. */
function* positionsOf(store: Store, { from, to }: ReplayRange): Iterable<Position> {
  for (let position = firstNeeded(store, from); position <= to; position++)
    if (position >= from || store.readRequest(position) !== undefined) yield position
}

/**
 * The first cycle to plan, so that every post that was pending after the cycle at `position` has all its readings: the
 * one with which the oldest of them entered. Posts that entered earlier and have left are missing; the model's inputs for
 * other posts do not depend on them.
 */
export function firstNeeded(store: Store, position: Position): Position {
  const { entered_position } = readCycleTable(recordAt(store, position), 'results')
  return entered_position.reduce((min, at) => Math.min(min, at), position)
}

function toReplayed(
  store: Store,
  cycle: CycleColumns,
  plan: CyclePlan,
  records: ReadonlyMap<Position, readonly Uint8Array[]>,
): ReplayedCycle {
  const { next, position } = plan
  const availability = availabilityIn(recordAt(store, position))
  return {
    position,
    cycle,
    plan,
    availability,
    inputState: inputState(plan, availability),
    recordOf(slot) {
      const record = records.get(next.enteredPosition[slot]!)?.[next.enteredRow[slot]!]
      if (record === undefined) throw new Error(`there is no post in slot ${slot}`)
      return record
    },
  }
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
  textsOfRows.forEach((encoded, row) => (textEncoded[scoring.slots[row]!] = encoded))
  for (const [i, row] of images.row.entries()) {
    const slot = scoring.slots[row]!
    imagesStored[slot] = imagesStored[slot]! + 1
    imagesEncoded[slot] = imagesEncoded[slot]! + images.encoded[i]!
  }
  return { imagesStored, imagesEncoded, textEncoded }
}

/** Copies of the JSON objects of the posts that entered. */
function recordsOf(json: Uint8Array, { candidates }: CycleColumns, { changes }: CyclePlan): Uint8Array[] {
  return Array.from(changes.enteredRows, (row) =>
    Uint8Array.from(json.subarray(candidates.rowStart[row], candidates.rowEnd[row])),
  )
}

/** Deletes the records of cycles without pending posts. */
function forgetRecords(records: Map<Position, readonly Uint8Array[]>, state: PoolState): void {
  const needed = new Set(state.enteredPosition.subarray(0, state.count))
  for (const position of records.keys()) if (!needed.has(position)) records.delete(position)
}
