/**
 * The progress of a rehearsal: a block that is painted in place on a terminal, a line every few seconds elsewhere.
 */
import type { Absence, RehearsalProgress } from '../rehearsal/index.js'
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
  #progress: RehearsalProgress | null = null
  /** On the clock of the target; null while the service answers. */
  #awaySinceMs: number | null = null
  #awayReason = ''
  #shownAtMs = -Infinity
  #linesPainted = 0

  constructor(target: DisplayTarget) {
    this.#target = target
  }

  /** Shows progress, unless something was shown a moment ago. */
  update(progress: RehearsalProgress): void {
    this.#progress = progress
    this.#showAfter(this.#target.isTerminal ? paintEveryMs : lineEveryMs)
  }

  /** Says what is done before the first cycle. */
  remark(text: string): void {
    this.#target.write(`${text}\n`)
  }

  /** Shows at once that the service went away, or with null that it is back; in between as often as progress. */
  away(absence: Absence | null): void {
    const isNews = (absence === null) !== (this.#awaySinceMs === null)
    const { isTerminal, write, now } = this.#target
    if (absence === null && this.#awaySinceMs !== null && !isTerminal) {
      write(`the service is back after ${seconds(now() - this.#awaySinceMs)}\n`)
    }
    this.#awaySinceMs = absence === null ? null : now() - absence.awayMs
    this.#awayReason = absence?.reason ?? ''
    if (isTerminal ? isNews : isNews && absence !== null) this.#show()
  }

  /** To be called every second or so: while the service is away, nothing else moves the display. */
  refresh(): void {
    if (this.#awaySinceMs !== null) this.#showAfter(this.#target.isTerminal ? paintEveryMs : lineEveryMs)
  }

  /** Shows what was last reported; a block stays where it is. */
  finish(): void {
    if (this.#progress !== null) this.#show()
    this.#progress = null
    this.#awaySinceMs = null
    this.#linesPainted = 0
  }

  #showAfter(everyMs: number): void {
    if (this.#target.now() - this.#shownAtMs >= everyMs) this.#show()
  }

  #show(): void {
    const { write, isTerminal, columns, now } = this.#target
    this.#shownAtMs = now()
    const away = this.#awaySinceMs === null ? null : awayWords(now() - this.#awaySinceMs, this.#awayReason)
    if (!isTerminal) {
      if (away !== null) write(`${away}\n`)
      else if (this.#progress !== null) write(`${progressLine(this.#progress)}\n`)
      return
    }
    const block = this.#progress === null ? [] : progressBlock(this.#progress)
    const lines = [...block, ...(away === null ? [] : [`  ${away}`])]
    const painted = lines.map((line) => `\x1b[2K${fitCells(line, columns() - 1)}\n`)
    const back = this.#linesPainted === 0 ? '' : `\x1b[${this.#linesPainted}A`
    // What is left of a block that was higher goes too.
    const rest = this.#linesPainted > lines.length ? '\x1b[J' : ''
    this.#linesPainted = lines.length
    write(back + painted.join('') + rest)
  }
}

/** Progress as lines of a block. */
export function progressBlock(progress: RehearsalProgress): string[] {
  const { cycleIndex, cycleCount, pending, scored, postMs, imagesUploaded, retries } = progress
  const full = Math.round((cycleIndex / cycleCount) * barCells)
  const bar = '█'.repeat(full) + '░'.repeat(barCells - full)
  const rows: [string, string][] = [
    ['simulated time', `${kstTime(progress.cycleAtMs)} KST`],
    ['cycles', `${bar} ${cycleIndex} of ${cycleCount}, ${rateOf(progress)} a second`],
    ['pending posts', `${grouped(pending)}, ${grouped(scored)} of them scored in this cycle`],
    ['answer time', `last ${span(postMs.last)}, median ${span(postMs.p50)}, p99 ${span(postMs.p99)}`],
    ['images', `${grouped(imagesUploaded)} uploaded`],
  ]
  if (retries > 0) rows.push(['retries', `${grouped(retries)}, since the service was away`])
  return rows.map(([label, value]) => `  ${label.padEnd(labelCells)}${value}`)
}

/** Progress as one line. */
export function progressLine(progress: RehearsalProgress): string {
  const { cycleIndex, cycleCount, pending, scored, postMs, imagesUploaded } = progress
  return (
    `${kstTime(progress.cycleAtMs)} KST  cycle ${cycleIndex}/${cycleCount}  ` +
    `pending ${pending}  scored ${scored}  images ${imagesUploaded}  ` +
    `latency last ${span(postMs.last)} p50 ${span(postMs.p50)} p99 ${span(postMs.p99)}  ` +
    `${rateOf(progress)} cycles/s`
  )
}

/** Cycles a second since the first one began. */
function rateOf({ cycleIndex, wallMs }: RehearsalProgress): string {
  return ((1000 * cycleIndex) / Math.max(1, wallMs)).toFixed(1)
}

function awayWords(awayMs: number, reason: string): string {
  return `service away for ${seconds(awayMs)}, retrying (${reason})`
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
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
