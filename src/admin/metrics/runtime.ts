/** Figures that the Node process measures all the time: delays of the event loop, pauses of the garbage collector. */
import { constants, monitorEventLoopDelay, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import type { garbageKinds } from './table.js'

/** Resolution of the timer that measures the delay. */
const resolutionMs = 20
/** Of the delays that a scrape reads. Prometheus scrapes at least once a minute by default. */
const windowMs = 60_000

/** In seconds. */
export type LoopDelay = Readonly<Record<'p50' | 'p99' | 'max', number>>
type GarbageKind = (typeof garbageKinds)[number]

export class RuntimeFigures {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs })
  readonly #observer: PerformanceObserver
  readonly #windowTimer: NodeJS.Timeout
  /** Delay in the last complete window; null: it is the first one. */
  #lastDelay: LoopDelay | null = null

  constructor(onGarbage: (kind: GarbageKind, seconds: number) => void) {
    this.#delay.enable()
    // Not at each scrape: with several readers, each would see a part of the delays.
    this.#windowTimer = setInterval(() => {
      this.#lastDelay = this.#currentDelay()
      this.#delay.reset()
    }, windowMs).unref()
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind?: number } }
        const kind = kindNames.get(detail?.kind ?? -1)
        if (kind !== undefined) onGarbage(kind, entry.duration / 1000)
      }
    })
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  /** Delay in the last complete minute. */
  get loopDelay(): LoopDelay {
    return this.#lastDelay ?? this.#currentDelay()
  }

  #currentDelay(): LoopDelay {
    const seconds = (nanoseconds: number): number =>
      Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000) : 0
    return {
      p50: seconds(this.#delay.percentile(50)),
      p99: seconds(this.#delay.percentile(99)),
      max: seconds(this.#delay.max),
    }
  }

  close(): void {
    clearInterval(this.#windowTimer)
    this.#delay.disable()
    this.#observer.disconnect()
  }
}

const kindNames: ReadonlyMap<number, GarbageKind> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])
