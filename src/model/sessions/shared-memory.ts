/**
 * Memory that two processes share: a file without a name, whose descriptor one process hands to the other when it
 * starts it, mapped by both. Without the addon each side has a copy, and the file carries what they tell each other.
 */
import { closeSync, fstatSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSharingAddon, type SharingAddon } from './native.js'

/** Zeros are written this many at a time. */
const zeros = new Uint8Array(64 * 1024)

export class SharedMemory {
  /** Of the file; what a child process inherits. */
  readonly descriptor: number
  readonly #addon: SharingAddon | null
  #buffer = new ArrayBuffer(0)

  /** Memory over a file that another process has made; `addon` null: without the addon. */
  constructor(descriptor: number, addon = loadSharingAddon()) {
    this.descriptor = descriptor
    this.#addon = addon
  }

  /** New memory, of no bytes yet. Throws what the system says when there is no room for a file. */
  static create(addon = loadSharingAddon()): SharedMemory {
    const descriptor = addon?.createMemoryFile() ?? -1
    return new SharedMemory(descriptor >= 0 ? descriptor : createNamelessFile(), addon)
  }

  /**
   * At least `bytes` of the memory from its start. The buffer of an earlier call is out of date when another one is
   * returned. The side that made the memory asks first: then the file is long enough for both.
   */
  reserve(bytes: number): ArrayBuffer {
    if (bytes <= this.#buffer.byteLength) return this.#buffer
    let size = fstatSync(this.descriptor).size
    if (size < bytes) {
      const goal = Math.max(bytes, 2 * size)
      this.#lengthen(size, goal)
      size = goal
    }
    this.#buffer = this.#addon?.mapFile(this.descriptor, size) ?? new ArrayBuffer(size)
    return this.#buffer
  }

  /** After bytes `start` until `end` were written, and before the other side is told. */
  publish(start: number, end: number): void {
    if (this.#addon !== null) return
    for (let at = start; at < end;) {
      at += writeSync(this.descriptor, new Uint8Array(this.#buffer), at, end - at, at)
    }
  }

  /** Before bytes `start` until `end`, which the other side has published, are read. */
  fetch(start: number, end: number): void {
    if (this.#addon !== null) return
    for (let at = start; at < end;) {
      const count = readSync(this.descriptor, new Uint8Array(this.#buffer), at, end - at, at)
      if (count === 0) throw new Error('shared memory ends before its bytes do')
      at += count
    }
  }

  /** Closes the descriptor. Buffers stay what they are. */
  close(): void {
    closeSync(this.descriptor)
  }

  /** Written, not only set to that length: a page for which there is no room would end the process when touched. */
  #lengthen(from: number, to: number): void {
    for (let at = from; at < to;) {
      at += writeSync(this.descriptor, zeros, 0, Math.min(zeros.length, to - at), at)
    }
  }
}

function createNamelessFile(): number {
  const file = join(tmpdir(), `understudy-batch-${randomUUID()}`)
  const descriptor = openSync(file, 'wx+', 0o600)
  rmSync(file)
  return descriptor
}
