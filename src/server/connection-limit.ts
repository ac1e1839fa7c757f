/**
 * Counts open connections and limits them. Each takes a file descriptor and up to one request head of memory. Some
 * descriptors stay free: without any, accepting a connection would fail in a busy loop.
 */
import type { Log } from '../base/index.js'
import { assert } from '../contract/index.js'

/** Descriptors reserved for the database, model processes, logs, model files, settings and commands of the admin listener. */
const otherDescriptorsMax = 256
/** Interval of log lines about refused connections. */
const logEveryMs = 60_000

export interface ConnectionOptions {
  /** Connections of the admin listener, which are not counted here. */
  readonly adminConnectionsMax: number
  /** The file descriptors that the system grants this process. */
  readonly descriptorsMax: number
}

export class ConnectionLimit {
  readonly #log: Log
  readonly #descriptorsMax: number
  readonly #reservedMax: number
  #max = 0
  #openCount = 0
  #refusedCount = 0
  #loggedAt = -Infinity

  constructor(max: number, log: Log, { adminConnectionsMax, descriptorsMax }: ConnectionOptions) {
    this.#log = log
    this.#descriptorsMax = descriptorsMax
    this.#reservedMax = otherDescriptorsMax + adminConnectionsMax
    this.limit(max)
  }

  get openCount(): number {
    return this.#openCount
  }

  /** The limit in force: the setting, or less if the system grants too few descriptors. */
  get max(): number {
    return this.#max
  }

  /** Changes the limit. Open connections stay open. */
  limit(max: number): void {
    this.#max = Math.max(1, Math.min(max, this.#descriptorsMax - this.#reservedMax))
    if (this.#max < max) {
      this.#log.warn(
        { connections_max: max, in_force: this.#max, descriptors_max: this.#descriptorsMax },
        'connectionsMax lowered: file descriptor limit (RLIMIT_NOFILE) is too low',
      )
    }
  }

  /** Counts a connection that was opened (1) or closed (-1). Returns false for one past the limit. */
  count(change: number): boolean {
    this.#openCount += change
    assert(this.#openCount >= 0, 'each connection is closed once')
    if (change < 0 || this.#openCount <= this.#max) return true
    this.#logRefusal()
    return false
  }

  /** At most once a minute, with their number so far. */
  #logRefusal(): void {
    this.#refusedCount++
    const now = performance.now()
    if (now - this.#loggedAt < logEveryMs) return
    this.#loggedAt = now
    this.#log.warn(
      { connections_max: this.#max, count: this.#refusedCount },
      'connections are refused: the limit is reached',
    )
  }
}
