/**
 * How many connections are open, and the end of those past the limit: a descriptor each, and up to the whole head of a
 * request in memory. Where descriptors ran out, accepting would fail again and again at full speed, so some stay free.
 */
import { readFileSync } from 'node:fs'

/** Descriptors for all but connections: the database, model processes, logs, files of models and settings. */
const otherDescriptorsMax = 256
/** Between two lines about connections that are refused. */
const tellEveryMs = 60_000

interface Log {
  warn(fields: object, message: string): void
}

export class Connections {
  readonly #log: Log
  readonly #descriptorsMax: number
  #max = 0
  #openCount = 0
  #refusedCount = 0
  #toldAt = -Infinity

  /** `descriptorsMax`: what the system grants this process. */
  constructor(max: number, log: Log, descriptorsMax = grantedDescriptors()) {
    this.#log = log
    this.#descriptorsMax = descriptorsMax
    this.limit(max)
  }

  get openCount(): number {
    return this.#openCount
  }

  /** The limit in force: as asked for, or what descriptors allow. */
  get max(): number {
    return this.#max
  }

  /** Changes the limit. Connections that are open stay so. */
  limit(max: number): void {
    this.#max = Math.max(1, Math.min(max, this.#descriptorsMax - otherDescriptorsMax))
    if (this.#max < max) {
      this.#log.warn(
        { connections_max: max, in_force: this.#max, descriptors_max: this.#descriptorsMax },
        'the system grants too few descriptors for so many connections',
      )
    }
  }

  /** Takes note of a connection that has come (1) or is gone (-1); false: it is one too many. */
  count(change: number): boolean {
    this.#openCount += change
    if (change < 0 || this.#openCount <= this.#max) return true
    this.#refusedCount++
    const now = performance.now()
    if (now - this.#toldAt >= tellEveryMs) {
      this.#toldAt = now
      this.#log.warn(
        { connections_max: this.#max, refused: this.#refusedCount },
        'connections are refused: as many as may be are open',
      )
    }
    return false
  }
}

/** RLIMIT_NOFILE, which Node raises to the hard limit at its start. Infinite where nobody tells. */
function grantedDescriptors(): number {
  try {
    const granted = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return granted === undefined ? Infinity : Number(granted)
  } catch {
    return Infinity
  }
}
