/**
 * What the service can see of the client's clock: the time at which a cycle arrives, minus its `cycle_time`. A client sends
 * a cycle at or after its `cycle_time`, so by equal clocks the difference is not negative. It is the delay of the client
 * plus what its clock is behind: only the smallest of many differences says something about clocks.
 */
import { type Log, minuteMs } from '../base/index.js'
import type { CycleColumns } from '../contract/index.js'

const windowMinutes = 60
/** One warning in the log; the next one has the number of refusals since. */
const warnEveryMs = 10 * minuteMs

export interface RefusedForFuture {
  readonly cycleId: string
  readonly aheadMs: number
  readonly at: number
}

interface Minute {
  readonly index: number
  differenceMs: number
  refusedCount: number
}

export class ClockDifference {
  readonly #log: Log
  /** Minutes with cycles, oldest first, at most those of an hour. */
  #minutes: Minute[] = []
  #lastRefused: RefusedForFuture | null = null
  #warnedAt = -Infinity
  #unloggedCount = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** A well-formed cycle that was not stored before. `skewMs`: how far ahead a `cycle_time` may be. */
  observe(
    { cycleId, cycleAt }: Pick<CycleColumns, 'cycleId' | 'cycleAt'>,
    nowMs: number,
    skewMs: number,
  ): void {
    const differenceMs = nowMs - cycleAt.ms
    const minute = this.#minuteOf(nowMs)
    minute.differenceMs = Math.min(minute.differenceMs, differenceMs)
    if (-differenceMs <= skewMs) return
    minute.refusedCount++
    this.#unloggedCount++
    this.#lastRefused = { cycleId, aheadMs: -differenceMs, at: nowMs }
    if (Math.abs(nowMs - this.#warnedAt) < warnEveryMs) return
    this.#log.warn(
      { cycle_id: cycleId, ahead_ms: -differenceMs, refused: this.#unloggedCount },
      'a cycle was refused because its cycle_time is in the future: the clocks of client and service differ',
    )
    this.#warnedAt = nowMs
    this.#unloggedCount = 0
  }

  /** The smallest difference in the hour before `nowMs`; null without cycles. */
  smallestMs(nowMs: number): number | null {
    const minutes = this.#within(nowMs)
    return minutes.length === 0 ? null : Math.min(...minutes.map((minute) => minute.differenceMs))
  }

  /** Cycles that were refused in the hour before `nowMs`, and the last of them; null: none. */
  refused(nowMs: number): { readonly count: number; readonly last: RefusedForFuture } | null {
    const count = this.#within(nowMs).reduce((sum, minute) => sum + minute.refusedCount, 0)
    return count === 0 || this.#lastRefused === null ? null : { count, last: this.#lastRefused }
  }

  #minuteOf(nowMs: number): Minute {
    const index = Math.floor(nowMs / minuteMs)
    const last = this.#minutes.at(-1)
    if (last?.index === index) return last
    const minute = { index, differenceMs: Infinity, refusedCount: 0 }
    this.#minutes = [...this.#within(nowMs), minute]
    return minute
  }

  /** Omits later minutes: this clock may have been set back. */
  #within(nowMs: number): Minute[] {
    const now = Math.floor(nowMs / minuteMs)
    return this.#minutes.filter(({ index }) => index > now - windowMinutes && index <= now)
  }
}
