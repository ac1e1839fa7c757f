/**
 * Files for the floor of durable writes: one that is filled in advance, so that a timed write allocates no disk blocks, and one that grows
 * with each write, as the service's database does until expired records leave pages to reuse.
 */
import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeSync, writevSync } from 'node:fs'
import { sum } from '../statistics.js'

const filledBytes = 64 * 1024 * 1024
/** Then the file that grows is cut to nothing, so that a long run does not fill the disk. */
const grownBytesMax = 1024 * 1024 * 1024

export class FloorFile {
  readonly #file: number
  readonly #bytesMax: number
  #at = 0

  private constructor(path: string, bytesMax: number) {
    this.#file = openSync(path, 'w+')
    this.#bytesMax = bytesMax
  }

  static filled(path: string): FloorFile {
    const file = new FloorFile(path, filledBytes)
    const zeros = Buffer.alloc(1024 * 1024)
    for (let at = 0; at < filledBytes; at += zeros.length) writeSync(file.#file, zeros, 0, zeros.length, at)
    fdatasyncSync(file.#file)
    return file
  }

  static growing(path: string): FloorFile {
    return new FloorFile(path, grownBytesMax)
  }

  /** Milliseconds for one write and one flush. */
  write(parts: readonly Uint8Array[]): number {
    const byteCount = sum(parts.map(({ length }) => length))
    if (this.#at + byteCount > this.#bytesMax) {
      this.#at = 0
      if (this.#bytesMax === grownBytesMax) ftruncateSync(this.#file)
    }
    const startedAt = performance.now()
    writevSync(this.#file, parts, this.#at)
    fdatasyncSync(this.#file)
    const tookMs = performance.now() - startedAt
    this.#at += byteCount
    return tookMs
  }

  close(): void {
    closeSync(this.#file)
  }
}
