/**
 * The progress of a simulation: on a terminal a block that is redrawn in place, elsewhere a line every few seconds.
 */
import type { Outage, SimulationProgress } from '../simulator/index.js'
import { fitCells } from './text-table.js'

/** The terminal, or a substitute in tests. */
export interface DisplayTarget {
  readonly write: (text: string) => void
  readonly isTerminal: boolean
  /** Read at every redraw, because windows change their width. */
  readonly columns: () => number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

const paintEveryMs = 100
const lineEveryMs = 3000
const barCells = 30
const labelCells = 16
const kstOffsetMs = 9 * 3_600_000

export class ProgressDisplay {
  readonly #target: DisplayTarget
  #progress: SimulationProgress | null = null
  /** On the clock of the target; null while the service responds. */
  #outageSinceMs: number | null = null
  #outageReason = ''
  #shownAtMs = -Infinity
  #linesPainted = 0

  constructor(target: DisplayTarget) {
    this.#target = target
  }

  /** Shows progress, at most once per interval. */
  update(progress: SimulationProgress): void {
    this.#progress = progress
    this.#showAfter(this.#target.isTerminal ? paintEveryMs : lineEveryMs)
  }

  /** Prints a line before the first cycle. */
  remark(text: string): void {
    this.#target.write(`${text}\n`)
  }

  /** Shows the start and the end (null) of an outage at once; in between as often as progress. */
  outage(outage: Outage | null): void {
    const isChange = (outage === null) !== (this.#outageSinceMs === null)
    const { isTerminal, write, now } = this.#target
    if (outage === null && this.#outageSinceMs !== null && !isTerminal) {
      write(`the service is available again after ${seconds(now() - this.#outageSinceMs)}\n`)
    }
    this.#outageSinceMs = outage === null ? null : now() - outage.outageMs
    this.#outageReason = outage?.reason ?? ''
    if (isTerminal ? isChange : isChange && outage !== null) this.#show()
  }

  /** Called about every second: during an outage nothing else updates the display. */
  refresh(): void {
    if (this.#outageSinceMs !== null) this.#showAfter(this.#target.isTerminal ? paintEveryMs : lineEveryMs)
  }

  /** Shows the last report; a block remains on the terminal. */
  finish(): void {
    if (this.#progress !== null) this.#show()
    this.#progress = null
    this.#outageSinceMs = null
    this.#linesPainted = 0
  }

  #showAfter(everyMs: number): void {
    if (this.#target.now() - this.#shownAtMs >= everyMs) this.#show()
  }

  #show(): void {
    const { write, isTerminal, columns, now } = this.#target
    this.#shownAtMs = now()
    const outage =
      this.#outageSinceMs === null ? null : outageLine(now() - this.#outageSinceMs, this.#outageReason)
    if (!isTerminal) {
      if (outage !== null) write(`${outage}\n`)
      else if (this.#progress !== null) write(`${progressLine(this.#progress)}\n`)
      return
    }
    const block = this.#progress === null ? [] : progressBlock(this.#progress)
    const lines = [...block, ...(outage === null ? [] : [`  ${outage}`])]
    const painted = lines.map((line) => `\x1b[2K${fitCells(line, columns() - 1)}\n`)
    const back = this.#linesPainted === 0 ? '' : `\x1b[${this.#linesPainted}A`
    // Clears the rest of a block that was higher.
    const rest = this.#linesPainted > lines.length ? '\x1b[J' : ''
    this.#linesPainted = lines.length
    write(back + painted.join('') + rest)
  }
}

/** Progress as lines of a block. */
export function progressBlock(progress: SimulationProgress): string[] {
  const { cycleIndex, cycleCount, pending, scored, postMs, imagesUploaded, retries } = progress
  const full = Math.round((cycleIndex / cycleCount) * barCells)
  const bar = '█'.repeat(full) + '░'.repeat(barCells - full)
  const rows: [string, string][] = [
    ['simulated time', `${kstTime(progress.cycleAtMs)} KST`],
    ['cycles', `${bar} ${cycleIndex} of ${cycleCount}, ${rateOf(progress)} a second`],
    ['pending posts', `${grouped(pending)}, ${grouped(scored)} of them scored in this cycle`],
    ['response time', `last ${span(postMs.last)}, median ${span(postMs.p50)}, p99 ${span(postMs.p99)}`],
    ['images', `${grouped(imagesUploaded)} uploaded`],
  ]
  if (retries > 0) rows.push(['retries', `${grouped(retries)}, while the service was unavailable`])
  return rows.map(([label, value]) => `  ${label.padEnd(labelCells)}${value}`)
}

/** Progress as one line. */
export function progressLine(progress: SimulationProgress): string {
  const { cycleIndex, cycleCount, pending, scored, postMs, imagesUploaded } = progress
  return (
    `${kstTime(progress.cycleAtMs)} KST  cycle ${cycleIndex}/${cycleCount}  ` +
    `pending ${pending}  scored ${scored}  images ${imagesUploaded}  ` +
    `latency last ${span(postMs.last)} p50 ${span(postMs.p50)} p99 ${span(postMs.p99)}  ` +
    `${rateOf(progress)} cycles/s`
  )
}

/** Cycles per second since the first one began. */
function rateOf({ cycleIndex, wallMs }: SimulationProgress): string {
  return ((1000 * cycleIndex) / Math.max(1, wallMs)).toFixed(1)
}

function outageLine(outageMs: number, reason: string): string {
  return `service unavailable for ${seconds(outageMs)}, retrying (${reason})`
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

/** A time in Korea, as YYYY-MM-DD HH:MM. */
export function kstTime(atMs: number): string {
  return new Date(atMs + kstOffsetMs).toISOString().slice(0, 16).replace('T', ' ')
}

/** 1234567 → 1,234,567 */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** A duration, such as 12.3 ms. */
export function span(ms: number): string {
  return `${ms.toFixed(ms < 100 ? 1 : 0)} ms`
}
