/**
 * The progress of a rehearsal: a block that is painted in place on a terminal, a line every few seconds elsewhere.
 */
import type { RehearsalProgress } from '../rehearsal/index.js'
import { fitCells } from './text-table.js'

/** The terminal, or what stands for it. */
export interface DisplayTarget {
  readonly write: (text: string) => void
  readonly isTerminal: boolean
  /** Read at every painting: windows change their width. */
  readonly columns: () => number
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
}

const paintEveryMs = 100
const lineEveryMs = 3000
const barCells = 30
const labelCells = 16
const kstOffsetMs = 9 * 3_600_000

export class ProgressDisplay {
  readonly #target: DisplayTarget
  readonly #startedAtMs: number
  #progress: RehearsalProgress | null = null
  #shownAtMs = -Infinity
  #linesPainted = 0

  constructor(target: DisplayTarget) {
    this.#target = target
    this.#startedAtMs = target.now()
  }

  /** Shows progress, unless something was shown a moment ago. */
  update(progress: RehearsalProgress): void {
    this.#progress = progress
    const everyMs = this.#target.isTerminal ? paintEveryMs : lineEveryMs
    if (this.#target.now() - this.#shownAtMs >= everyMs) this.#show(progress)
  }

  /** Shows what was last reported; a block stays where it is. */
  finish(): void {
    if (this.#progress !== null) this.#show(this.#progress)
    this.#progress = null
    this.#linesPainted = 0
  }

  #show(progress: RehearsalProgress): void {
    const { write, isTerminal, columns, now } = this.#target
    this.#shownAtMs = now()
    const cyclesPerS = (1000 * progress.cycleIndex) / Math.max(1, now() - this.#startedAtMs)
    if (!isTerminal) {
      write(`${progressLine(progress, cyclesPerS)}\n`)
      return
    }
    const lines = progressBlock(progress, cyclesPerS).map(
      (line) => `\x1b[2K${fitCells(line, columns() - 1)}\n`,
    )
    const back = this.#linesPainted === 0 ? '' : `\x1b[${this.#linesPainted}A`
    this.#linesPainted = lines.length
    write(back + lines.join(''))
  }
}

/** Progress as lines of a block. */
export function progressBlock(progress: RehearsalProgress, cyclesPerS: number): string[] {
  const { cycleIndex, cycleCount, pending, scored, postMs, imagesUploaded, retries } = progress
  const full = Math.round((cycleIndex / cycleCount) * barCells)
  const bar = '█'.repeat(full) + '░'.repeat(barCells - full)
  const rows: [string, string][] = [
    ['simulated time', `${kstTime(progress.cycleAtMs)} KST`],
    ['cycles', `${bar} ${cycleIndex} of ${cycleCount}, ${cyclesPerS.toFixed(1)} a second`],
    ['pending posts', `${grouped(pending)}, ${grouped(scored)} of them scored in this cycle`],
    ['answer time', `last ${span(postMs.last)}, median ${span(postMs.p50)}, p99 ${span(postMs.p99)}`],
    ['images', `${grouped(imagesUploaded)} uploaded`],
  ]
  if (retries > 0) rows.push(['retries', `${grouped(retries)}: the service was away`])
  return rows.map(([label, value]) => `  ${label.padEnd(labelCells)}${value}`)
}

/** Progress as one line. */
export function progressLine(progress: RehearsalProgress, cyclesPerS: number): string {
  const { cycleIndex, cycleCount, pending, scored, postMs, imagesUploaded } = progress
  return (
    `${kstTime(progress.cycleAtMs)} KST  cycle ${cycleIndex}/${cycleCount}  ` +
    `pending ${pending}  scored ${scored}  images ${imagesUploaded}  ` +
    `latency last ${span(postMs.last)} p50 ${span(postMs.p50)} p99 ${span(postMs.p99)}  ` +
    `${cyclesPerS.toFixed(1)} cycles/s`
  )
}

/** A time as the clock on a wall in Seoul shows it. */
export function kstTime(atMs: number): string {
  return new Date(atMs + kstOffsetMs).toISOString().slice(0, 16).replace('T', ' ')
}

/** 1234567 → 1,234,567 */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** A span of milliseconds for people. */
export function span(ms: number): string {
  return `${ms.toFixed(ms < 100 ? 1 : 0)} ms`
}
