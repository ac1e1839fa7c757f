/**
 * Retention: what has served its time leaves the store, a few records at a time, when no cycle is under way. Begun by
 * each cycle that is stored, so that a service that hears nothing forgets nothing.
 *
 * The present is the earlier of two clocks: when the newest cycle was received, by this machine, and the newest
 * cycle_time, by the client. A clock that jumps ahead, either of them, cannot make everything old at once.
 */
import { parseInstant } from '../contract/index.js'
import type { PoolState } from '../pool/index.js'
import type {
  ExpiryRecords,
  ImageArrival,
  ImageKey,
  OutcomeEntry,
  Store,
  StoredCycle,
} from '../store/index.js'
import { nextTurn } from './next-turn.js'
import { postName } from './saved-names.js'

/** Days that records are kept; 0: for ever. */
export interface RetentionLimits {
  /** Requests, answers and all else of a cycle; less than 8 counts as 8. */
  readonly retainCyclesDays: number
  /** Images after their arrival, but never those of a post that is pending or has left in the last 7 days. */
  readonly retainImagesDays: number
  /** Outcomes after their placement. */
  readonly retainOutcomesDays: number
}

export interface RetentionParts {
  readonly store: Store
  /** Asked for in each step: they may change. */
  readonly limits: () => RetentionLimits
  readonly state: () => PoolState
  /** Whether the post has left the pool in the last seven days, by cycle time. */
  readonly hasTombstone: (gallId: string, postNo: number) => boolean
  /** True while no cycle is under way or waits. */
  readonly idle: () => boolean
  /** The images are gone. */
  readonly onImagesRemoved: (keys: readonly ImageKey[]) => void
  readonly log: { error(fields: object, message: string): void }
}

const dayMs = 24 * 3_600_000
/** Departures are remembered for seven days, out of the records of their cycles. */
const cycleDaysMin = 8
/** A transaction takes out so many cycles: a few milliseconds. */
const cyclesPerStep = 8
/** Cycles that one call makes go at most: what has piled up goes in the course of many. */
const stepsPerCycle = 8
/** Images, and outcomes, that are looked at in one turn of the event loop, and turns of each after a cycle. */
const looksPerTurn = 100
const lookTurnsPerCycle = 5
const removalsPerStep = 32
const keptEntriesMax = 4096

export class Retention {
  readonly #parts: RetentionParts
  #working: Promise<void> | null = null
  #imageCursor: Uint8Array | null = null
  #pending: { readonly state: PoolState; readonly posts: ReadonlySet<string> } | null = null
  #outcomeCursor: Uint8Array | null = null

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  /** A cycle is stored. Returns at once; the work is done in later turns of the event loop. */
  wake(): void {
    const { store, log } = this.#parts
    const { expiry } = store
    if (expiry === undefined) return
    this.#working ??= this.#work(expiry)
      .catch((error: unknown) => {
        if (!store.closed) log.error({ err: error }, 'old records could not be removed; tried again later')
      })
      .finally(() => (this.#working = null))
  }

  /** Resolves when nothing is being removed. */
  async done(): Promise<void> {
    await this.#working
  }

  async #work(expiry: ExpiryRecords): Promise<void> {
    if (!(await this.#turn())) return
    const last = this.#parts.store.lastCycle()
    if (last === undefined) return
    const nowMs = Math.min(Date.parse(last.receivedAt), this.#parts.state().newestCycleMs)
    await this.#cycles(expiry, nowMs)
    await this.#entries(expiry)
    await this.#images(expiry, nowMs)
    await this.#outcomes(expiry, nowMs)
  }

  /** Oldest first, up to the first that is young by either clock. */
  async #cycles(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const days = this.#parts.limits().retainCyclesDays
    if (days === 0) return
    const beforeMs = nowMs - Math.max(days, cycleDaysMin) * dayMs
    const isOld = (cycle: StoredCycle): boolean =>
      Math.max(Date.parse(cycle.receivedAt), cycle.cycleAtMs) < beforeMs
    for (let step = 0; step < stepsPerCycle && (await this.#turn()); step++) {
      const oldest = expiry.oldestCycles(cyclesPerStep)
      const young = oldest.findIndex((cycle) => !isOld(cycle))
      const old = young < 0 ? oldest : oldest.slice(0, young)
      if (old.length === 0) return
      const needed = this.#neededPositions()
      await expiry.removeCycles(old.map(({ position }) => ({ position, keepEntry: needed.has(position) })))
      if (old.length < cyclesPerStep) return
    }
  }

  /** Requests that were kept for a post that has left by now. */
  async #entries(expiry: ExpiryRecords): Promise<void> {
    if (!(await this.#turn())) return
    const kept = expiry.keptEntries(keptEntriesMax)
    if (kept.length === 0) return
    const needed = this.#neededPositions()
    const done = kept.filter((position) => !needed.has(position)).slice(0, removalsPerStep)
    if (done.length > 0) await expiry.removeEntries(done)
  }

  async #images(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    if (!(await this.#completeImages(expiry, nowMs))) return
    const days = this.#parts.limits().retainImagesDays
    if (days === 0) return
    const beforeMs = nowMs - days * dayMs
    for (let turn = 0; turn < lookTurnsPerCycle && (await this.#turn()); turn++) {
      const { images, cursor } = expiry.imagesAfter(this.#imageCursor, looksPerTurn)
      this.#imageCursor = cursor
      const old = images.filter(({ arrivedAtMs }) => arrivedAtMs !== null && arrivedAtMs < beforeMs)
      if (old.length > 0) await this.#removeImages(expiry, old)
      if (cursor === null) return
    }
  }

  /** Those of earlier versions get an arrival; false while there are more of them. */
  async #completeImages(expiry: ExpiryRecords, nowMs: number): Promise<boolean> {
    for (let step = 0; step < stepsPerCycle && (await this.#turn()); step++)
      if (await expiry.completeImages(nowMs)) return true
    return false
  }

  async #removeImages(expiry: ExpiryRecords, old: readonly ImageArrival[]): Promise<void> {
    const { store, onImagesRemoved } = this.#parts
    for (let from = 0; from < old.length; from += removalsPerStep) {
      // A post may have entered since the part before.
      const part = this.#needless(old.slice(from, from + removalsPerStep))
      if (part.length === 0) continue
      const removed = await expiry.removeImages(part)
      if (store.closed) return
      // One that has come again meanwhile is there.
      onImagesRemoved(removed.filter((key) => store.readImageHash(key) === undefined))
      if (!(await this.#turn())) return
    }
  }

  /** Images of posts that are neither pending nor remembered. */
  #needless(images: readonly ImageArrival[]): ImageArrival[] {
    const { hasTombstone, state } = this.#parts
    const forgotten = images.filter(({ key }) => !hasTombstone(key.gallId, key.postNo))
    if (forgotten.length === 0) return []
    const pending = this.#pendingPosts(state())
    return forgotten.filter(({ key }) => !pending.has(postName(key.gallId, key.postNo)))
  }

  /** Made once for each state of the pool, however many images are looked at meanwhile. */
  #pendingPosts(state: PoolState): ReadonlySet<string> {
    if (this.#pending?.state !== state) this.#pending = { state, posts: pendingPosts(state) }
    return this.#pending.posts
  }

  async #outcomes(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const days = this.#parts.limits().retainOutcomesDays
    if (days === 0) return
    const beforeMs = nowMs - days * dayMs
    for (let turn = 0; turn < lookTurnsPerCycle && (await this.#turn()); turn++) {
      const { outcomes, cursor } = expiry.outcomesAfter(this.#outcomeCursor, looksPerTurn)
      this.#outcomeCursor = cursor
      const old = outcomes.filter((outcome) => lastMs(outcome) < beforeMs)
      if (old.length > 0) await expiry.removeOutcomes(old)
      if (cursor === null) return
    }
  }

  /** Cycles whose posts are pending still. */
  #neededPositions(): Set<number> {
    const { enteredPosition, count } = this.#parts.state()
    return new Set(enteredPosition.subarray(0, count))
  }

  /** In a later turn: whether it is free. */
  async #turn(): Promise<boolean> {
    await nextTurn()
    return !this.#parts.store.closed && this.#parts.idle()
  }
}

function pendingPosts({ galleries, gallery, postNo, count }: PoolState): Set<string> {
  return new Set(
    Array.from({ length: count }, (_, slot) =>
      postName(galleries[gallery[slot] as number] as string, postNo[slot] as number),
    ),
  )
}

/**
 * When it was placed, or when it came, whichever is later: what has just been taken must be there when it comes again,
 * however long ago the post was placed.
 */
function lastMs({ record, arrivedAtMs }: OutcomeEntry): number {
  return Math.max(placedAtMs(record), arrivedAtMs ?? -Infinity)
}

/** Never old where it cannot be read. */
function placedAtMs(record: Uint8Array): number {
  const { placed_at } = JSON.parse(Buffer.from(record).toString()) as { placed_at?: string }
  return parseInstant(placed_at ?? '')?.ms ?? Infinity
}
