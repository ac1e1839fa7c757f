/**
 * A file for the floor of durable writes. It is filled in advance, so that a timed write allocates no disk blocks.
 */
import { closeSync, fdatasyncSync, openSync, writeSync, writevSync } from 'node:fs'
import { sum } from '../statistics.js'

const fileBytes = 64 * 1024 * 1024

export class PreallocatedFile {
  readonly #file: number
  #at = 0

  constructor(path: string) {
    this.#file = openSync(path, 'w+')
    const zeros = Buffer.alloc(1024 * 1024)
    for (let at = 0; at < fileBytes; at += zeros.length) writeSync(this.#file, zeros, 0, zeros.length, at)
    fdatasyncSync(this.#file)
  }

  /** Milliseconds for one write and one flush. */
  write(parts: readonly Uint8Array[]): number {
    const byteCount = sum(parts.map(({ length }) => length))
    if (this.#at + byteCount > fileBytes) this.#at = 0
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
