/**
 * Timings of all cycles by stage in HDR histograms, and the resources that the process used: for benchmarks, and collected
 * only where the setting `stageReport` names a file.
 */
import { writeFileSync } from 'node:fs'
import { createHistogram, monitorEventLoopDelay, type RecordableHistogram } from 'node:perf_hooks'
import { stageNames, type StageClock, type StageName } from '../cycle/index.js'

const nsPerMs = 1e6

export class StageReport {
  readonly #file: string
  readonly #histograms = new Map<StageName, RecordableHistogram>(
    stageNames.map((stage) => [stage, createHistogram({ figures: 3 })]),
  )
  readonly #eventLoopDelay = monitorEventLoopDelay({ resolution: 1 })
  readonly #cpuAtStart = process.cpuUsage()
  #cycles = 0

  constructor(file: string) {
    this.#file = file
    this.#eventLoopDelay.enable()
  }

  add(stages: StageClock): void {
    this.#cycles++
    for (const [stage, ms] of stages.ms)
      this.#histograms.get(stage)?.record(Math.max(1, Math.round(ms * nsPerMs)))
  }

  /** Writes the report. */
  write(): void {
    const { user, system } = process.cpuUsage(this.#cpuAtStart)
    const report = {
      cycles: this.#cycles,
      stages_ms: Object.fromEntries(
        [...this.#histograms]
          .filter(([, histogram]) => histogram.count > 0)
          .map(([stage, h]) => [stage, summary(h)]),
      ),
      event_loop_delay_ms: {
        p50: this.#eventLoopDelay.percentile(50) / nsPerMs,
        p99: this.#eventLoopDelay.percentile(99) / nsPerMs,
        max: this.#eventLoopDelay.max / nsPerMs,
      },
      cpu_s: { user: user / 1e6, system: system / 1e6 },
      rss_peak_bytes: process.resourceUsage().maxRSS * 1024,
    }
    writeFileSync(this.#file, `${JSON.stringify(report)}\n`)
  }
}

function summary(histogram: RecordableHistogram): Record<string, number> {
  const ms = (ns: number): number => ns / nsPerMs
  return {
    count: histogram.count,
    min: ms(histogram.min),
    mean: ms(histogram.mean),
    p50: ms(histogram.percentile(50)),
    p90: ms(histogram.percentile(90)),
    p99: ms(histogram.percentile(99)),
    max: ms(histogram.max),
  }
}
