/**
 * The progress of a simulation on one line: redrawn in place on a terminal, printed every few seconds elsewhere.
 */
import type { Outage, SimulationProgress } from '../../simulator/index.js'
import { kstTime, milliseconds } from './format.js'
import { cellWidth, fitCells } from './text-table.js'

/** The terminal, or a substitute in tests. */
export interface DisplayTarget {
  readonly write: (text: string) => void
  readonly isTerminal: boolean
  /** Read at every redraw, because windows change their width. */
  readonly columns: () => number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

const terminalEveryMs = 100
const otherwiseEveryMs = 3000
const clearLine = '\r\x1b[2K'

export class ProgressDisplay {
  readonly #target: DisplayTarget
  #line = ''
  /** A time of the target's clock; null while the service responds. */
  #outageSinceMs: number | null = null
  #shownAtMs = -Infinity

  constructor(target: DisplayTarget) {
    this.#target = target
  }

  /** Shows progress, at most once per interval. */
  update(progress: SimulationProgress): void {
    this.#line = progressLine(progress)
    this.#showWhenDue(this.#line)
  }

  /** Shows the start and the end (null) of an outage immediately; in between as often as progress. */
  outage(outage: Outage | null): void {
    const { write, isTerminal, now } = this.#target
    if (outage === null) {
      const outageMs = now() - (this.#outageSinceMs ?? now())
      this.#outageSinceMs = null
      write(`${isTerminal ? clearLine : ''}the service is available again after ${seconds(outageMs)}\n`)
      return
    }
    if (this.#outageSinceMs === null) this.#shownAtMs = -Infinity
    this.#outageSinceMs ??= now() - outage.outageMs
    this.#showWhenDue(`service unavailable for ${seconds(outage.outageMs)}, retrying (${outage.reason})`)
  }

  /** Shows the last progress; it remains on the terminal. */
  finish(): void {
    if (this.#line === '') return
    this.#show(this.#line)
    if (this.#target.isTerminal) this.#target.write('\n')
  }

  #showWhenDue(line: string): void {
    const { isTerminal, now } = this.#target
    if (now() - this.#shownAtMs >= (isTerminal ? terminalEveryMs : otherwiseEveryMs)) this.#show(line)
  }

  #show(line: string): void {
    const { write, isTerminal, columns, now } = this.#target
    this.#shownAtMs = now()
    write(isTerminal ? clearLine + fitFields(line, columns() - 1) : `${line}\n`)
  }
}

/** Progress as one line; the most important figures come first, since a narrow terminal cuts the line. */
export function progressLine(progress: SimulationProgress): string {
  const { cycleAtMs, cycleIndex, cycleCount, wallMs, pending, scored, postMs, imagesUploaded, retries } =
    progress
  const rate = ((1000 * cycleIndex) / Math.max(1, wallMs)).toFixed(1)
  return (
    `${kstTime(cycleAtMs)} KST  cycle ${cycleIndex}/${cycleCount}  ${rate}/s  pending ${pending}  scored ${scored}  ` +
    `p50 ${milliseconds(postMs.p50)}  p99 ${milliseconds(postMs.p99)}  images ${imagesUploaded}` +
    (retries > 0 ? `  retries ${retries}` : '')
  )
}

/** The line without the last of its fields if they do not fit; two spaces separate fields. */
function fitFields(line: string, cellsMax: number): string {
  const fields = line.split('  ')
  while (fields.length > 1 && cellWidth(fields.join('  ')) > cellsMax) fields.pop()
  return fitCells(fields.join('  '), cellsMax)
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}
