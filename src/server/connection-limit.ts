/**
 * The limit of open connections. Each takes a file descriptor and up to one request head of memory. Some descriptors stay
 * free: without any, accepting a connection would fail in a busy loop.
 */
import { readFileSync } from 'node:fs'

/** Descriptors reserved for the database, model processes, logs, model files and settings. */
const otherDescriptorsMax = 256
/** Between two log lines about refused connections. */
const logEveryMs = 60_000

interface Log {
  warn(fields: object, message: string): void
}

export class ConnectionLimit {
  readonly #log: Log
  readonly #descriptorsMax: number
  #max = 0
  #openCount = 0
  #refusedCount = 0
  #loggedAt = -Infinity

  /** `descriptorsMax`: the file descriptors that the system grants this process. */
  constructor(max: number, log: Log, descriptorsMax = grantedDescriptors()) {
    this.#log = log
    this.#descriptorsMax = descriptorsMax
    this.limit(max)
  }

  get openCount(): number {
    return this.#openCount
  }

  /** The limit in force: the setting, or less where the system grants too few descriptors. */
  get max(): number {
    return this.#max
  }

  /** Changes the limit. Open connections stay open. */
  limit(max: number): void {
    this.#max = Math.max(1, Math.min(max, this.#descriptorsMax - otherDescriptorsMax))
    if (this.#max < max) {
      this.#log.warn(
        { connections_max: max, in_force: this.#max, descriptors_max: this.#descriptorsMax },
        'connectionsMax is lowered: the system grants too few file descriptors',
      )
    }
  }

  /** Counts a connection that was opened (1) or closed (-1). Returns false for one past the limit. */
  count(change: number): boolean {
    this.#openCount += change
    if (change < 0 || this.#openCount <= this.#max) return true
    this.#refusedCount++
    const now = performance.now()
    if (now - this.#loggedAt >= logEveryMs) {
      this.#loggedAt = now
      this.#log.warn(
        { connections_max: this.#max, refused: this.#refusedCount },
        'connections are refused: the limit is reached',
      )
    }
    return false
  }
}

/** RLIMIT_NOFILE, which Node raises to the hard limit at its start. Infinity where /proc is missing. */
function grantedDescriptors(): number {
  try {
    const granted = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return granted === undefined ? Infinity : Number(granted)
  } catch {
    return Infinity
  }
}
