/**
 * Counts open connections and limits them. Each takes a file descriptor and up to one request head of memory. Some
 * descriptors stay free: without any, accepting a connection would fail in a busy loop.
 */
import { readFileSync } from 'node:fs'
import type { Log } from '../base/index.js'
import { assert } from '../contract/index.js'

/** Descriptors reserved for the database, model processes, logs, model files, settings and commands of the admin listener. */
const otherDescriptorsMax = 256
/** Interval of log lines of one kind. */
const logEveryMs = 60_000

export interface ConnectionOptions {
  readonly isTls: boolean
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
  readonly #refused: RateLimitedWarning
  readonly #silent: RateLimitedWarning | null
  /** No request has arrived since a connection was opened. */
  #awaitsRequest = false

  constructor(max: number, log: Log, { isTls, adminConnectionsMax, descriptorsMax }: ConnectionOptions) {
    this.#log = log
    this.#refused = new RateLimitedWarning(log, 'connections are refused: the limit is reached')
    this.#silent = isTls ? new RateLimitedWarning(log, silentMessage) : null
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
    if (change < 0) {
      if (this.#awaitsRequest) this.#silent?.add({})
      this.#awaitsRequest = false
      return true
    }
    this.#awaitsRequest = this.#openCount <= this.#max
    if (!this.#awaitsRequest) this.#refused.add({ connections_max: this.#max })
    return this.#awaitsRequest
  }

  /** Must be called for each request. */
  requestArrived(): void {
    this.#awaitsRequest = false
  }
}

/** uWebSockets.js closes a connection whose TLS handshake fails, and does not report the reason. */
const silentMessage =
  'a connection closed without a request: this port speaks TLS, so plain HTTP and clients that do not trust the ' +
  'certificate end like this'

/** Logs a repeated event at most once a minute, with its number so far. */
class RateLimitedWarning {
  #count = 0
  #loggedAt = -Infinity

  constructor(
    readonly log: Log,
    readonly message: string,
  ) {}

  add(fields: object): void {
    this.#count++
    const now = performance.now()
    if (now - this.#loggedAt < logEveryMs) return
    this.#loggedAt = now
    this.log.warn({ ...fields, count: this.#count }, this.message)
  }
}

/** RLIMIT_NOFILE, which Node raises to the hard limit at startup. Infinity if /proc is missing. */
export function grantedDescriptors(): number {
  try {
    const granted = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return granted === undefined ? Infinity : Number(granted)
  } catch {
    return Infinity
  }
}
