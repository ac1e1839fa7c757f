/**
 * Retention: removes expired records from the store, a few at a time, while no cycle is in progress. Each stored cycle
 * triggers it, so a service without cycles removes nothing.
 *
 * "Now" is the earlier of two clocks: the time at which the last cycle was received (this machine's clock) and the newest
 * cycle_time (the client's clock). A jump of either clock cannot make all records expire at once.
 */
import { dayMs, type Log, nextTurn } from '../base/index.js'
import { parseInstant } from '../contract/index.js'
import type { PoolState } from '../pool/index.js'
import type {
  ExpiryRecords,
  ImageArrival,
  ImageKey,
  OutcomeEntry,
  Page,
  Position,
  Store,
  StoredCycle,
} from '../store/index.js'

/** How many days records are kept; 0 keeps them without limit. */
export interface RetentionLimits {
  /** Requests and responses; values below 8 count as 8. */
  readonly retainCyclesDays: number
  /** Images, from their arrival; never those of a post that is pending or left in the last 7 days. */
  readonly retainImagesDays: number
  /** Outcomes, from their placement, and records of cycles. */
  readonly retainOutcomesDays: number
}

export interface RetentionParts {
  readonly store: Store
  /** Read for each step: they may change. */
  readonly limits: () => RetentionLimits
  readonly state: () => PoolState
  /** True for a post that is pending, and for one that left the pool in the last seven days, by cycle time. */
  readonly isRecent: (gallId: string, postNo: number) => boolean
  /** Resolves when a saved pool contains the cycle at `position`. */
  readonly coverBySavedPool: (position: Position) => Promise<void>
  /** True while no cycle is in progress or waits. */
  readonly isIdle: () => boolean
  /** Called before requests and responses of the cycles up to `position` are removed. */
  readonly onCyclesExpire: (position: Position) => void
  /** Called when images have been removed. */
  readonly onImagesRemoved: (keys: readonly ImageKey[]) => void
  readonly log: Log
}

/** Departures are known for seven days, from the records of their cycles. */
const cycleDaysMin = 8
/** Cycles per transaction, which then takes a few milliseconds. */
const cyclesPerStep = 8
/** Transactions per stored cycle: a backlog is removed over many cycles. */
const stepsPerCycle = 8
/** Images, and outcomes, that are read per turn of the event loop, and turns for each of them per stored cycle. */
const pageRows = 40
const pagesPerCycle = 12
const removalsPerStep = 32
const keptEntriesMax = 4096

export class Retention {
  readonly #parts: RetentionParts
  #working: Promise<void> | null = null
  #lastReceivedAtMs = -Infinity
  /** Where the next page of images, and of outcomes, begins. */
  readonly #cursors: Record<'images' | 'outcomes', Uint8Array | null> = { images: null, outcomes: null }
  /** The next run begins after the step with which the last one ended: cycles at full speed starve no kind. */
  #nextStep = 0

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  /** A cycle is stored. Returns immediately; the work runs in later turns of the event loop. */
  wake(receivedAtMs: number): void {
    this.#lastReceivedAtMs = receivedAtMs
    this.#working ??= this.#run()
  }

  /** Resolves when nothing is being removed. */
  async done(): Promise<void> {
    await this.#working
  }

  /** Never rejects: it logs a failure. */
  async #run(): Promise<void> {
    const { store } = this.#parts
    try {
      await this.#work(store.expiry)
    } catch (error) {
      this.#logFailure(error)
    } finally {
      this.#working = null
    }
  }

  #logFailure(error: unknown): void {
    const { store, log } = this.#parts
    if (!store.closed) log.error({ err: error }, 'expired records could not be removed')
  }

  async #work(expiry: ExpiryRecords): Promise<void> {
    const steps: readonly ((nowMs: number) => Promise<void>)[] = [
      (nowMs) => this.#cycles(expiry, nowMs),
      () => this.#entries(expiry),
      (nowMs) => this.#records(expiry, nowMs),
      (nowMs) => this.#images(expiry, nowMs),
      (nowMs) => this.#outcomes(expiry, nowMs),
    ]
    for (const step of [...steps.slice(this.#nextStep), ...steps.slice(0, this.#nextStep)]) {
      if (!(await this.#mayContinue())) return
      this.#nextStep = (steps.indexOf(step) + 1) % steps.length
      // A damaged record of one kind does not keep the others.
      await step(this.#nowMs()).catch((error: unknown) => this.#logFailure(error))
    }
  }

  #nowMs(): number {
    return Math.min(this.#lastReceivedAtMs, this.#parts.state().newestCycleMs)
  }

  /** Oldest first, up to the first cycle that is recent by either clock. */
  async #cycles(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const days = this.#parts.limits().retainCyclesDays
    if (days === 0) return
    const beforeMs = nowMs - Math.max(days, cycleDaysMin) * dayMs
    for (let step = 0; step < stepsPerCycle; step++) {
      if (step > 0 && !(await this.#mayContinue())) return
      const old = oldOnes(expiry.oldestCycles(cyclesPerStep), beforeMs)
      const newest = old.at(-1)
      if (newest === undefined) return
      await this.#parts.coverBySavedPool(newest.position)
      const needed = this.#neededPositions()
      this.#parts.onCyclesExpire(newest.position)
      await expiry.removeCycles(old.map(({ position }) => ({ position, keepEntry: needed.has(position) })))
      if (old.length < cyclesPerStep) return
    }
  }

  /** Requests that were kept for posts that have left since. */
  async #entries(expiry: ExpiryRecords): Promise<void> {
    const kept = expiry.keptEntries(keptEntriesMax)
    if (kept.length === 0) return
    const needed = this.#neededPositions()
    const done = kept.filter((position) => !needed.has(position)).slice(0, removalsPerStep)
    if (done.length > 0) await expiry.removeEntries(done)
  }

  /** Each is kept at least as long as its response: a stored cycle can be evaluated. */
  async #records(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const { retainCyclesDays, retainOutcomesDays } = this.#parts.limits()
    if (retainOutcomesDays === 0 || retainCyclesDays === 0) return
    const beforeMs = nowMs - retainOutcomesDays * dayMs
    for (let step = 0; step < stepsPerCycle; step++) {
      if (step > 0 && !(await this.#mayContinue())) return
      const first = expiry.firstPosition()
      const old = oldOnes(expiry.oldestRecords(cyclesPerStep), beforeMs).filter(
        ({ position }) => position < first,
      )
      if (old.length > 0) await expiry.removeRecords(old.map(({ position }) => position))
      if (old.length < cyclesPerStep) return
    }
  }

  async #images(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const { store, limits, isRecent, onImagesRemoved } = this.#parts
    const days = limits().retainImagesDays
    const beforeMs = nowMs - days * dayMs
    const isOld = ({ key, arrivedAtMs }: ImageArrival): boolean =>
      arrivedAtMs < beforeMs && !isRecent(key.gallId, key.postNo)
    const remove = async (old: readonly ImageArrival[]): Promise<void> => {
      try {
        await expiry.removeImages(old)
      } finally {
        // A write that failed late may be stored. An image that was uploaded again meanwhile is there.
        if (!store.closed)
          onImagesRemoved(old.map(({ key }) => key).filter((key) => store.readImageHash(key) === undefined))
      }
    }
    const read = expiry.imagesAfter.bind(expiry)
    if (days > 0) await this.#pages('images', { read, isOld, remove })
  }

  async #outcomes(expiry: ExpiryRecords, nowMs: number): Promise<void> {
    const days = this.#parts.limits().retainOutcomesDays
    const beforeMs = nowMs - days * dayMs
    const isOld = (outcome: OutcomeEntry): boolean => agesFromMs(outcome) < beforeMs
    const [read, remove] = [expiry.outcomesAfter.bind(expiry), expiry.removeOutcomes.bind(expiry)]
    if (days > 0) await this.#pages('outcomes', { read, isOld, remove })
  }

  /** Reads the next pages of one kind of record, and removes what is old. */
  async #pages<Row>(kind: 'images' | 'outcomes', { read, isOld, remove }: PagedRecords<Row>): Promise<void> {
    for (let page = 0; page < pagesPerCycle; page++) {
      if (page > 0 && !(await this.#mayContinue())) return
      const { rows, cursor } = read(this.#cursors[kind], pageRows)
      this.#cursors[kind] = cursor
      const old = rows.filter(isOld)
      if (old.length > 0) await remove(old)
      if (cursor === null) return
    }
  }

  /** Positions of the cycles with which pending posts entered. */
  #neededPositions(): Set<number> {
    const { enteredPosition, count } = this.#parts.state()
    return new Set(enteredPosition.subarray(0, count))
  }

  /** Waits for the next turn of the event loop; false when the work has to stop. */
  async #mayContinue(): Promise<boolean> {
    await nextTurn()
    return !this.#parts.store.closed && this.#parts.isIdle()
  }
}

/** How the records of one kind are read and removed. */
interface PagedRecords<Row> {
  readonly read: (cursor: Uint8Array | null, count: number) => Page<Row>
  readonly isOld: (row: Row) => boolean
  readonly remove: (rows: readonly Row[]) => Promise<void>
}

/** The first cycles up to the first one that is recent by either clock. */
function oldOnes(oldest: Iterable<StoredCycle>, beforeMs: number): readonly StoredCycle[] {
  const old: StoredCycle[] = []
  for (const cycle of oldest) {
    if (Math.max(Date.parse(cycle.receivedAt), cycle.cycleAtMs) >= beforeMs) break
    old.push(cycle)
  }
  return old
}

/**
 * The later of placement and arrival: a record that arrived recently must be there when it is sent again, however long
 * ago the post was placed.
 */
function agesFromMs({ record, arrivedAtMs }: OutcomeEntry): number {
  return Math.max(placedAtMs(record), arrivedAtMs)
}

/** Infinity, which never expires, when it cannot be read. */
function placedAtMs(record: Uint8Array): number {
  const { placed_at } = JSON.parse(Buffer.from(record).toString()) as { placed_at?: string }
  return parseInstant(placed_at ?? '')?.ms ?? Infinity
}
