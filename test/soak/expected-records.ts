/**
 * The records that the service must still have and those that it must have deleted, derived from what it was sent: a
 * second, simple implementation of the retention rules. Records are deleted during the cycles after the one that makes
 * them expire, so each count has a minimum and a maximum.
 */
import { dayMs, hourMs } from '../../src/base/index.js'
import type { CycleRequest } from '../../src/contract/index.js'
import { tombstoneAgeMsMax } from '../../src/pool/tombstones.js'
import type { Upload } from '../../src/simulator/base-images.js'
import type { CyclePlan } from '../../src/simulator/world.js'

/** Days that records are kept; cycles at least 8, whatever the setting (src/cycle/retention.ts). */
export interface KeptDays {
  readonly cycles: number
  readonly images: number
  readonly outcomes: number
}

export interface Bounds {
  readonly least: number
  readonly most: number
}

const cycleDaysMin = 8
/**
 * How many cycles deletion may lag behind: for cycles, and for records that are scanned in parts. It yields to cycles,
 * which these tests send without a pause.
 */
const cyclesLag = 6
const sweepLag = 72

/** An outcome is sent again with each reading of its post, this many hours after the placement. */
const readingHours = [1, 6, 24, 48]

interface Placement {
  readonly placedAtMs: number
  /** Readings sent; -1 before the first. */
  readings: number
  arrivedAtMs: number
}

interface PostKey {
  readonly gall_id: string
  readonly post_no: number
}

export class ExpectedRecords {
  readonly #days: KeptDays
  readonly #cycles: { readonly cycleId: string; readonly receivedAtMs: number }[] = []
  /** By post: when it left, in cycle time; Infinity while it is pending. */
  readonly #leftAtMs = new Map<string, number>()
  readonly #pending = new Map<string, PostKey>()
  readonly #uploads = new Map<string, { readonly post: string; readonly arrivedAtMs: number }>()
  readonly #placements: Placement[] = []
  #placementsSent = 0
  /** Placements at the start of the list that are not sent again. */
  #placementsClosed = 0

  constructor(days: KeptDays) {
    this.#days = days
  }

  /** Adds a cycle whose response arrived and whose images were accepted. */
  add({ uploadsBefore, uploadsAfter, placed }: CyclePlan, request: CycleRequest, receivedAtMs: number): void {
    this.#cycles.push({ cycleId: request.cycle_id, receivedAtMs })
    for (const candidate of request.candidates) {
      this.#pending.set(nameOf(candidate), candidate)
      this.#leftAtMs.set(nameOf(candidate), Infinity)
    }
    for (const removal of request.removals) {
      this.#pending.delete(nameOf(removal))
      this.#leftAtMs.set(nameOf(removal), receivedAtMs)
    }
    for (const upload of [...uploadsBefore, ...uploadsAfter]) this.#addUpload(upload, receivedAtMs)
    for (const { departure } of placed)
      this.#placements.push({ placedAtMs: departure.atMs, readings: -1, arrivedAtMs: NaN })
  }

  /** All placements that were new or had a new reading at `atMs` were acknowledged at `nowMs`. */
  outcomesSent(atMs: number, nowMs: number): void {
    for (const placement of this.#placements.slice(this.#placementsClosed)) {
      const readings = readingHours.filter((hours) => placement.placedAtMs + hours * hourMs <= atMs).length
      if (readings === placement.readings) continue
      placement.readings = readings
      placement.arrivedAtMs = nowMs
    }
    this.#placementsSent = this.#placements.length
  }

  /** Placements since the last report will not be sent, and earlier ones not again. */
  forgetUnsentOutcomes(): void {
    this.#placements.length = this.#placementsSent
    this.#placementsClosed = this.#placementsSent
  }

  pending(): PostKey[] {
    return [...this.#pending.values()]
  }

  /** Cycle ids whose responses must be stored, and those whose responses must have expired. */
  cycleIds(): { kept: string[]; gone: string[] } {
    const from = this.#agoMs(this.#cycleDays)
    const deletedBefore = this.#agoMs(this.#cycleDays, cyclesLag)
    const named = (isIncluded: (receivedAtMs: number) => boolean): string[] =>
      this.#cycles.filter(({ receivedAtMs }) => isIncluded(receivedAtMs)).map(({ cycleId }) => cycleId)
    return { kept: named((ms) => ms >= from), gone: named((ms) => ms < deletedBefore) }
  }

  responses(): Bounds {
    const { kept, gone } = this.cycleIds()
    return { least: kept.length, most: this.#cycles.length - gone.length }
  }

  /** The record of a cycle is kept as long as outcomes, and at least as long as its response. */
  cycleRecords(): Bounds {
    const days = Math.max(this.#cycleDays, this.#days.outcomes)
    const count = (lag: number): number =>
      this.#cycles.filter(({ receivedAtMs }) => receivedAtMs >= this.#agoMs(days, lag)).length
    return { least: count(0), most: count(cyclesLag) }
  }

  cycleIdCount(): number {
    return this.#cycles.length
  }

  images(): Bounds {
    const count = (lag: number): number => {
      const arrivedFrom = this.#agoMs(this.#days.images, lag)
      const leftFrom = this.#nowMs(lag) - tombstoneAgeMsMax
      const stays = ({ post, arrivedAtMs }: { post: string; arrivedAtMs: number }): boolean =>
        arrivedAtMs >= arrivedFrom || (this.#leftAtMs.get(post) ?? 0) >= leftFrom
      return [...this.#uploads.values()].filter(stays).length
    }
    return { least: count(0), most: count(sweepLag) }
  }

  outcomes(): Bounds {
    const sent = this.#placements.slice(0, this.#placementsSent)
    const count = (lag: number): number =>
      sent.filter(({ arrivedAtMs }) => arrivedAtMs >= this.#agoMs(this.#days.outcomes, lag)).length
    return { least: count(0), most: count(sweepLag) }
  }

  get #cycleDays(): number {
    return Math.max(cycleDaysMin, this.#days.cycles)
  }

  #addUpload(upload: Upload, arrivedAtMs: number): void {
    const post = nameOf({ gall_id: upload.gallId, post_no: upload.postNo })
    this.#uploads.set(upload.comment, { post, arrivedAtMs })
  }

  /** The service's clock at the last cycle, or `lag` cycles earlier. */
  #nowMs(lag: number): number {
    return this.#cycles.at(-1 - Math.min(lag, this.#cycles.length - 1))?.receivedAtMs ?? 0
  }

  #agoMs(days: number, lag = 0): number {
    return this.#nowMs(lag) - days * dayMs
  }
}

function nameOf({ gall_id, post_no }: PostKey): string {
  return `${gall_id}/${post_no}`
}
