/**
 * Retention: removes expired records from the store, a few at a time, while no cycle is in progress. Each stored cycle
 * triggers it, so a service without cycles removes nothing.
 *
 * "Now" is the earlier of two clocks: the time at which the last cycle was received (this machine's clock) and the newest
 * cycle_time (the client's clock). A jump of either clock cannot make all records expire at once.
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

/** How many days records are kept; 0 keeps them without limit. */
export interface RetentionLimits {
  /** Requests, responses and all other records of a cycle; values below 8 count as 8. */
  readonly retainCyclesDays: number
  /** Images, from their arrival; never those of a post that is pending or left in the last 7 days. */
  readonly retainImagesDays: number
  /** Outcomes, from their placement. */
  readonly retainOutcomesDays: number
}

export interface RetentionParts {
  readonly store: Store
  /** Read for each step: they may change. */
  readonly limits: () => RetentionLimits
  readonly state: () => PoolState
  /** True for a post that is pending, and for one that left the pool in the last seven days, by cycle time. */
  readonly isRecent: (gallId: string, postNo: number) => boolean
  /** True while no cycle is in progress or waits. */
  readonly isIdle: () => boolean
  /** Called when images have been removed. */
  readonly onImagesRemoved: (keys: readonly ImageKey[]) => void
  readonly log: { error(fields: object, message: string): void }
}

const dayMs = 24 * 3_600_000
/** Departures are known for seven days, from the records of their cycles. */
const cycleDaysMin = 8
/** Cycles per transaction, which then takes a few milliseconds. */
const cyclesPerStep = 8
/** Transactions per stored cycle: a backlog is removed over many cycles. */
const stepsPerCycle = 8
/** Images, and outcomes, that are examined per turn of the event loop, and turns for each of them per stored cycle. */
const looksPerTurn = 100
const lookTurnsPerCycle = 5
const removalsPerStep = 32
const keptEntriesMax = 4096

export class Retention {
  readonly #parts: RetentionParts
  #working: Promise<void> | null = null
  #imageCursor: Uint8Array | null = null
  #outcomeCursor: Uint8Array | null = null

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  /** To be called when a cycle is stored. Returns at once; the work runs in later turns of the event loop. */
  wake(): void {
    const { store, log } = this.#parts
    this.#working ??= this.#work(store.expiry)
      .catch((error: unknown) => {
        if (!store.closed)
          log.error({ err: error }, 'expired records could not be removed; the next cycle tries again')
      })
      .finally(() => (this.#working = null))
  }

  /** Resolves when nothing is being removed. */
  async done(): Promise<void> {
    await this.#working
  }

  async #work(expiry: ExpiryRecords): Promise<void> {
    if (!(await this.#mayGoOn())) return
    const last = this.#parts.store.lastCycle()
    if (last === undefined) return
    const nowMs = Math.min(Date.parse(last.receivedAt), this.#parts.state().newestCycleMs)
    await this.#cycles(expiry, nowMs)
    await this.#entries(expiry)
    await this.#images(expiry, nowMs)
    await this.#outcomes(expiry, nowMs)
  }

  /** Oldest first, up to the first cycle that is young by either clock. */
  async #cycles(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const days = this.#parts.limits().retainCyclesDays
    if (days === 0) return
    const beforeMs = nowMs - Math.max(days, cycleDaysMin) * dayMs
    const isOld = (cycle: StoredCycle): boolean =>
      Math.max(Date.parse(cycle.receivedAt), cycle.cycleAtMs) < beforeMs
    for (let step = 0; step < stepsPerCycle && (await this.#mayGoOn()); step++) {
      const oldest = expiry.oldestCycles(cyclesPerStep)
      const young = oldest.findIndex((cycle) => !isOld(cycle))
      const old = young < 0 ? oldest : oldest.slice(0, young)
      if (old.length === 0) return
      const needed = this.#neededPositions()
      await expiry.removeCycles(old.map(({ position }) => ({ position, keepEntry: needed.has(position) })))
      if (old.length < cyclesPerStep) return
    }
  }

  /** Requests that were kept for posts that have left since. */
  async #entries(expiry: ExpiryRecords): Promise<void> {
    if (!(await this.#mayGoOn())) return
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
    for (let turn = 0; turn < lookTurnsPerCycle && (await this.#mayGoOn()); turn++) {
      const { images, cursor } = expiry.imagesAfter(this.#imageCursor, looksPerTurn)
      this.#imageCursor = cursor
      const old = images.filter(({ arrivedAtMs }) => arrivedAtMs !== null && arrivedAtMs < beforeMs)
      if (old.length > 0) await this.#removeImages(expiry, old)
      if (cursor === null) return
    }
  }

  /** Gives images of earlier versions an arrival time. False while more of them remain. */
  async #completeImages(expiry: ExpiryRecords, nowMs: number): Promise<boolean> {
    for (let step = 0; step < stepsPerCycle && (await this.#mayGoOn()); step++)
      if (await expiry.completeImages(nowMs)) return true
    return false
  }

  async #removeImages(expiry: ExpiryRecords, old: readonly ImageArrival[]): Promise<void> {
    const { store, isRecent, onImagesRemoved } = this.#parts
    for (let from = 0; from < old.length; from += removalsPerStep) {
      // A post may have entered since the previous part.
      const part = old
        .slice(from, from + removalsPerStep)
        .filter(({ key }) => !isRecent(key.gallId, key.postNo))
      if (part.length === 0) continue
      try {
        await expiry.removeImages(part)
      } finally {
        // A write that failed late may be stored. An image that was uploaded again meanwhile is there.
        if (!store.closed)
          onImagesRemoved(part.map(({ key }) => key).filter((key) => store.readImageHash(key) === undefined))
      }
      if (!(await this.#mayGoOn())) return
    }
  }

  async #outcomes(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const days = this.#parts.limits().retainOutcomesDays
    if (days === 0) return
    const beforeMs = nowMs - days * dayMs
    for (let turn = 0; turn < lookTurnsPerCycle && (await this.#mayGoOn()); turn++) {
      const { outcomes, cursor } = expiry.outcomesAfter(this.#outcomeCursor, looksPerTurn)
      this.#outcomeCursor = cursor
      const old = outcomes.filter((outcome) => agesFromMs(outcome) < beforeMs)
      if (old.length > 0) await expiry.removeOutcomes(old)
      if (cursor === null) return
    }
  }

  /** Positions of the cycles with which pending posts entered. */
  #neededPositions(): Set<number> {
    const { enteredPosition, count } = this.#parts.state()
    return new Set(enteredPosition.subarray(0, count))
  }

  /** Waits for the next turn of the event loop; false when the work has to stop. */
  async #mayGoOn(): Promise<boolean> {
    await nextTurn()
    return !this.#parts.store.closed && this.#parts.isIdle()
  }
}

/**
 * The later of placement and arrival: a record that arrived recently must be there when it is sent again, however long
 * ago the post was placed.
 */
function agesFromMs({ record, arrivedAtMs }: OutcomeEntry): number {
  return Math.max(placedAtMs(record), arrivedAtMs ?? -Infinity)
}

/** Infinity, which never expires, when it cannot be read. */
function placedAtMs(record: Uint8Array): number {
  const { placed_at } = JSON.parse(Buffer.from(record).toString()) as { placed_at?: string }
  return parseInstant(placed_at ?? '')?.ms ?? Infinity
}
