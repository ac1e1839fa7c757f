/** Figures of the Node process: event loop, garbage collector, memory, CPU. */
import { constants, monitorEventLoopDelay, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import type { Metrics } from './registry.js'
import type { garbageKinds } from './table.js'

/** Of the timer that measures the delay. */
const resolutionMs = 20
/** Of the delays that a scrape reads. Prometheus scrapes at least once a minute by default. */
const windowMs = 60_000

type Delays = Readonly<Record<'p50' | 'p99' | 'max', number>>

export class RuntimeFigures {
  readonly #metrics: Metrics
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs })
  readonly #observer: PerformanceObserver
  readonly #windowTimer: NodeJS.Timeout
  /** Of the last complete window, in seconds; null: it is the first one. */
  #delays: Delays | null = null
  #cpuSeconds = 0

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    this.#delay.enable()
    // Not at each scrape: with several readers, each would see a part of the delays.
    this.#windowTimer = setInterval(() => {
      this.#delays = this.#currentDelays()
      this.#delay.reset()
    }, windowMs).unref()
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind?: number } }
        const kind = kindNames.get(detail?.kind ?? -1)
        if (kind !== undefined) metrics.garbage.observe({ kind }, entry.duration / 1000)
      }
    })
    this.#observer.observe({ entryTypes: ['gc'] })
    metrics.startTime.set(performance.timeOrigin / 1000)
  }

  collect(): void {
    const { loopDelay, heapBytes, residentBytes, cpuSeconds } = this.#metrics
    for (const [percentile, seconds] of Object.entries(this.#delays ?? this.#currentDelays()))
      loopDelay.set({ percentile }, seconds)
    const { rss, heapUsed, external } = process.memoryUsage()
    heapBytes.set({ kind: 'used' }, heapUsed)
    heapBytes.set({ kind: 'external' }, external)
    residentBytes.set(rss)
    const { user, system } = process.cpuUsage()
    const used = (user + system) / 1e6
    cpuSeconds.inc(Math.max(0, used - this.#cpuSeconds))
    this.#cpuSeconds = used
  }

  #currentDelays(): Delays {
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

const kindNames: ReadonlyMap<number, (typeof garbageKinds)[number]> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])
