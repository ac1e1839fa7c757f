/**
 * Which cycles stand in the line: one that is under way and so many behind it, from the end of their bodies to their
 * answers. Calls with the same id share a place. Bodies that are just arriving are reckoned with, so that those
 * which would find the line full are refused before they cost anything; slow ones are not, so that they keep nobody out.
 */
import { RetrySchedule, ServiceError } from '../contract/index.js'

/** For so long a body that has begun to arrive is expected in the line. */
const expectedMsMax = 50

export interface Place {
  /** For which it was taken. */
  readonly cycleId: string
  /** Gives it up. A second time does nothing. */
  leave(): void
}

export class Places {
  readonly #waitingMax: () => number
  readonly #now: () => number
  readonly #retrySchedule: RetrySchedule
  /** Bodies on their way, in the order in which they have begun to arrive. */
  readonly #arriving = new Set<{ readonly sinceMs: number }>()
  /** Calls by the id that they state. */
  readonly #calls = new Map<string, number>()
  #leftAtMs = 0

  /** `waitingMax` is asked each time: it may change. `now`: milliseconds of any monotonic clock. */
  constructor(waitingMax: () => number, now = (): number => performance.now()) {
    this.#waitingMax = waitingMax
    this.#now = now
    this.#retrySchedule = new RetrySchedule(undefined, now)
  }

  /** Whether a call that states `cycleId` would find a place. */
  hasRoom(cycleId: string): boolean {
    return this.#calls.size <= this.#waitingMax() || this.#calls.has(cycleId)
  }

  /** The same for one whose body begins to arrive now. While nobody stands here, it would. */
  willHaveRoom(cycleId: string): boolean {
    if (this.#calls.has(cycleId)) return true
    return this.#calls.size === 0 || this.#calls.size + this.#expectedCount() <= this.#waitingMax()
  }

  /** A body has begun to arrive; the function returned says that it has arrived, or never will. */
  expect(): () => void {
    const arrival = { sinceMs: this.#now() }
    this.#arriving.add(arrival)
    return () => this.#arriving.delete(arrival)
  }

  /** Throws `unavailable` when there is none. */
  take(cycleId: string): Place {
    if (!this.hasRoom(cycleId)) throw this.refusal()
    const takenAtMs = this.#now()
    this.#calls.set(cycleId, (this.#calls.get(cycleId) ?? 0) + 1)
    let isTaken = true
    const leave = (): void => {
      if (isTaken) this.#leave(cycleId, takenAtMs)
      isTaken = false
    }
    return { cycleId, leave }
  }

  /** What a caller is told that finds no place, and when to come back. */
  refusal(): ServiceError {
    const retryAfterS = this.#retrySchedule.reserve(this.#calls.size, this.#waitingMax() + 1)
    return new ServiceError('unavailable', 'too many cycles are queued', { retryAfterS })
  }

  #leave(cycleId: string, takenAtMs: number): void {
    const left = (this.#calls.get(cycleId) ?? 1) - 1
    if (left > 0) {
      this.#calls.set(cycleId, left)
      return
    }
    this.#calls.delete(cycleId)
    const nowMs = this.#now()
    this.#retrySchedule.recordWork(nowMs - Math.max(takenAtMs, this.#leftAtMs))
    this.#leftAtMs = nowMs
  }

  #expectedCount(): number {
    const sinceMs = this.#now() - expectedMsMax
    for (const arrival of this.#arriving) {
      if (arrival.sinceMs >= sinceMs) break
      this.#arriving.delete(arrival)
    }
    return this.#arriving.size
  }
}
