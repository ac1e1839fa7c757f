/**
 * Writes log lines to a file descriptor in the background. A log that cannot be written (a full disk, a closed terminal, a
 * reader that stalls) loses lines and takes a bounded amount of memory, but never stops the service. The first line after
 * that states how many lines were lost.
 */
import { write, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { kibibyte, memoizeLast } from '../base/index.js'

/** Bytes of lines that wait to be written; as many again are being written. */
const waitingBytesMax = 512 * kibibyte
/**
 * How long lines are collected before they are written together. A write takes a thread of the pool, and to wake one takes
 * as long as the rest of a short request.
 */
const collectMs = 10
/** Delay before the next attempt on a busy descriptor. */
const retryMs = 100

export class LogOutput {
  readonly #descriptor: number
  #waiting: string[] = []
  #waitingBytes = 0
  /** Lines are collected or being written. */
  #isBusy = false
  #lostCount = 0
  #onIdle: () => void = () => undefined

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Adds one line, with its line feed. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#waitingBytes + bytes > waitingBytesMax) {
      this.#lostCount++
      return
    }
    this.#waiting.push(line)
    this.#waitingBytes += bytes
    if (!this.#isBusy) this.#collect()
  }

  /** Writes the lines that wait, and returns when they are written: for a process that ends immediately afterwards. */
  flush(): void {
    const lines = this.#waiting.splice(0)
    try {
      writeSync(this.#descriptor, lines.join(''))
    } catch {
      // The descriptor is closed, full or busy: there is no other place for them.
    }
  }

  /** Resolves when all lines are written or lost, after `msMax` at the latest. */
  async drain(msMax: number): Promise<void> {
    if (!this.#isBusy) return
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve))
    await Promise.race([idle, delay(msMax)])
  }

  #collect(): void {
    this.#isBusy = true
    setTimeout(() => this.#writeAll(), collectMs)
  }

  /** Writes all lines that wait, and collects those that arrive meanwhile. */
  #writeAll(): void {
    const lines = this.#waiting.splice(0)
    this.#waitingBytes = 0
    const lostBefore = this.#lostCount
    if (lostBefore > 0) lines.unshift(lossLine(lostBefore))
    this.#writeBytes(Buffer.from(lines.join('')), (error) => {
      if (error === null) this.#lostCount -= lostBefore
      else this.#lostCount += lines.length - Number(lostBefore > 0)
      this.#isBusy = false
      if (this.#waiting.length > 0) this.#collect()
      else this.#onIdle()
    })
  }

  #writeBytes(bytes: Uint8Array, done: (error: Error | null) => void): void {
    write(this.#descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => this.#writeBytes(bytes, done), retryMs).unref()
      else if (error === null && written < bytes.length) this.#writeBytes(bytes.subarray(written), done)
      else done(error)
    })
  }
}

/** The time as a member of pino's lines. It has milliseconds, and is made once for all lines of one. */
export function isoTimeOnce(): () => string {
  const textOf = memoizeLast((ms: number) => `,"time":"${new Date(ms).toISOString()}"`)
  return () => textOf(Date.now())
}

/** A warning with its time, in the format of the other lines. */
function lossLine(count: number): string {
  const time = new Date().toISOString()
  return `${JSON.stringify({ level: 40, time, lost: count, msg: 'lines of the log were lost' })}\n`
}
