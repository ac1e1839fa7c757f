/**
 * The rules of retention (docs/settings.md), checked on the disk: what may be removed at the moment of each removal, what must
 * be there byte for byte, and what must be deleted once the service had idle time.
 */
import { isDeepStrictEqual } from 'node:util'
import type { CycleRequest } from '../../src/contract/index.js'
import type { ImageArrival, OutcomeEntry } from '../../src/store/index.js'
import type { RetentionLimits } from '../../src/cycle/retention.js'
import { keyOf, type NaivePool } from '../helpers/naive-pool.js'
import { fail } from './oracle.js'
import type { CycleOnDisk, SimDisk } from './sim-disk.js'
import { dayMs } from '../../src/base/index.js'

const cycleDaysMin = 8

export class RetentionOracle {
  readonly #disk: SimDisk
  readonly #pool: NaivePool
  readonly #limits: RetentionLimits
  /** Copies of all cycles, as they reached the disk. */
  readonly #records: CycleOnDisk[] = []
  /** Cycles that were removed. */
  #removedCount = 0
  /** Position of the cycle with which each pending post entered. */
  readonly #enteredAt = new Map<string, number>()
  /** The time by which records are old. */
  #nowMs = -Infinity
  /** The latest value of this time: a removal in progress uses the time at which it began. */
  #latestMs = -Infinity

  constructor(disk: SimDisk, pool: NaivePool, limits: RetentionLimits) {
    this.#disk = disk
    this.#pool = pool
    this.#limits = limits
  }

  /** To be called when the pool has the cycle. */
  cycleStored(position: number, record: CycleOnDisk, cycle: CycleRequest): void {
    this.#records.push(record)
    for (const post of cycle.removals.map(keyOf)) if (!this.#isPending(post)) this.#enteredAt.delete(post)
    for (const post of cycle.candidates.map(keyOf))
      if (this.#isPending(post) && !this.#enteredAt.has(post)) this.#enteredAt.set(post, position)
    this.#nowMs = Math.min(Date.parse(record.receivedAt), this.#pool.newestMs)
    this.#latestMs = Math.max(this.#latestMs, this.#nowMs)
  }

  isExpired(cycleId: string): boolean {
    return this.#records.slice(0, this.#disk.firstPosition - 1).some((record) => record.cycleId === cycleId)
  }

  // ---- removals

  cyclesRemoved(cycles: readonly { readonly position: number; readonly keepEntry: boolean }[]): void {
    for (const { position, keepEntry } of cycles) {
      if (position !== ++this.#removedCount) fail(`cycle ${position} is removed, and is not the oldest`)
      if (position >= this.#records.length) fail('the newest cycle is removed')
      if (!this.#isOldCycle(position, this.#latestMs)) fail(`cycle ${position} is removed, and is not old`)
      if (!keepEntry) this.#checkNotNeeded(position)
    }
  }

  entriesRemoved(positions: readonly number[]): void {
    for (const position of positions) this.#checkNotNeeded(position)
  }

  imagesRemoved(images: readonly ImageArrival[]): void {
    for (const image of images)
      if (!this.#isOldImage(image, this.#latestMs))
        fail(`an image of ${image.key.gallId}/${image.key.postNo} is removed, and must be kept`)
  }

  outcomesRemoved(outcomes: readonly OutcomeEntry[]): void {
    for (const outcome of outcomes)
      if (!this.#isOldOutcome(outcome, this.#latestMs))
        fail(`outcome ${outcome.placementId} is removed, and is not old`)
  }

  // ---- the whole disk

  /** What must be kept is as it was stored. */
  checkKept(): void {
    const { firstPosition } = this.#disk
    this.#records.slice(firstPosition - 1).forEach((record, index) => {
      const position = firstPosition + index
      if (!isDeepStrictEqual(this.#disk.cycleAt(position), record)) fail(`cycle ${position} has changed`)
    })
    const kept = new Set(this.#disk.keptEntries())
    for (const [post, position] of this.#enteredAt)
      if (position < firstPosition && !kept.has(position)) fail(`the entry of ${post} is missing`)
  }

  /** Checks that expired records are deleted. To be called when the service has had idle time. */
  checkGone(): void {
    const { firstPosition } = this.#disk
    if (firstPosition < this.#records.length && this.#isOldCycle(firstPosition, this.#nowMs))
      fail(`cycle ${firstPosition} is old, and is stored`)
    const needed = new Set(this.#enteredAt.values())
    for (const position of this.#disk.keptEntries())
      if (!needed.has(position)) fail(`the entries of cycle ${position} are kept, and no post needs them`)
    for (const image of this.#disk.images())
      if (this.#isOldImage(image, this.#nowMs))
        fail(`an image of ${image.key.gallId}/${image.key.postNo} is old, and is stored`)
    for (const outcome of this.#disk.outcomes())
      if (this.#isOldOutcome(outcome, this.#nowMs))
        fail(`outcome ${outcome.placementId} is old, and is stored`)
  }

  // ---- ages

  #isOldCycle(position: number, nowMs: number): boolean {
    const { receivedAt, cycleAtMs } = this.#records[position - 1] ?? fail(`there is no cycle ${position}`)
    const days = this.#limits.retainCyclesDays
    const bothMs = Math.max(Date.parse(receivedAt), cycleAtMs)
    return days > 0 && bothMs < nowMs - Math.max(days, cycleDaysMin) * dayMs
  }

  #isOldImage({ key, arrivedAtMs }: ImageArrival, nowMs: number): boolean {
    const post = `${key.gallId}/${key.postNo}`
    const days = this.#limits.retainImagesDays
    if (days === 0 || this.#isPending(post) || this.#pool.isRemoved(post)) return false
    return arrivedAtMs < nowMs - days * dayMs
  }

  #isOldOutcome({ record, arrivedAtMs }: OutcomeEntry, nowMs: number): boolean {
    const { placed_at } = JSON.parse(Buffer.from(record).toString()) as { placed_at: string }
    const days = this.#limits.retainOutcomesDays
    return days > 0 && Math.max(Date.parse(placed_at), arrivedAtMs) < nowMs - days * dayMs
  }

  #isPending(post: string): boolean {
    return this.#pool.candidateOf(post) !== undefined
  }

  #checkNotNeeded(position: number): void {
    for (const [post, enteredAt] of this.#enteredAt)
      if (enteredAt === position)
        fail(`cycle ${position} is removed with the entry of ${post}, which is pending`)
  }
}
