/**
 * Space on the disk of the data directory. Health, readiness and metrics use the same figures, and a disk that hangs delays none of
 * them for long.
 */
import { stat, statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { inBackground, mebibyte } from '../base/index.js'
import type { HealthReason } from '../contract/index.js'
import { databasePath, diskBytesFreeMin } from '../store/index.js'

const readMs = 2000
/** A disk that takes longer counts as failed. */
const responseMsMax = 1000

/** Null: it cannot be read, or not in time. */
export interface DiskFigures {
  /** Space on the data directory's file system. */
  readonly freeBytes: number | null
  /** Size of the data file. */
  readonly fileBytes: number | null
}

const unknown: DiskFigures = { freeBytes: null, fileBytes: null }

/**
 * Figures of a data directory, read at most every two seconds. A disk that hangs delays a caller by a second and holds one
 * thread of Node's pool.
 */
export class DiskSpace {
  readonly #read: () => Promise<DiskFigures>
  #reading: Promise<DiskFigures> | null = null
  #readAt = -Infinity
  #last = unknown
  #timer: NodeJS.Timeout | undefined

  constructor(directory: string, read = () => figuresOf(directory)) {
    this.#read = read
  }

  async read(): Promise<DiskFigures> {
    if (performance.now() - this.#readAt < readMs) return this.#last
    this.#reading ??= this.#readOnce()
    const late = delay(responseMsMax, unknown, { ref: false })
    this.#last = await Promise.race([this.#reading, late])
    this.#readAt = performance.now()
    return this.#last
  }

  /** Reads the figures now, and again every two seconds until `stop`. Resolves after the first read. */
  async watch(): Promise<void> {
    this.#timer = setInterval(() => inBackground('disk space', this.read()), readMs).unref()
    await this.read()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Why there is no room for cycles; null if there is. As of the last read: it does not wait. */
  get problem(): HealthReason | null {
    const { freeBytes } = this.#last
    return freeBytes === null || freeBytes < diskBytesFreeMin ? diskReason(this.#last) : null
  }

  async #readOnce(): Promise<DiskFigures> {
    try {
      return await this.#read()
    } finally {
      this.#reading = null
    }
  }
}

export function diskReason({ freeBytes }: DiskFigures): HealthReason {
  return freeBytes === null
    ? { code: 'disk_silent' }
    : { code: 'disk_free', free_mib: Math.round(freeBytes / mebibyte) }
}

async function figuresOf(directory: string): Promise<DiskFigures> {
  const orNull = (): null => null
  // One after the other: if the disk hangs, one thread of the pool waits for it.
  const freeBytes = await statfs(directory).then(({ bavail, bsize }) => bavail * bsize, orNull)
  return { freeBytes, fileBytes: await stat(databasePath(directory)).then(({ size }) => size, orNull) }
}
