/**
 * Memory for the columns of one cycle: its decoded rows and the resulting state of the pool. An arena allocates from
 * the front of one block. After the last release a later cycle reuses the block. Without this reuse, each
 * cycle would allocate megabytes for typed arrays: page faults, and a full garbage collection every other cycle.
 *
 *   | engagement.views | … | removals | latest.views | … | snapshot.upimg_height | free |
 *
 * An arena has one owner, the call that acquired it. The pool retains the arena of its current state, and a shadow that of
 * the cycle that it scores.
 */
import { assert } from './assert.js'

const blockBytesMin = 64 * 1024
/** A larger block served a rare flood of candidates and is not kept. */
const blockBytesKeptMax = 32 * 1024 * 1024
/** A cache line: columns are copied as a whole. */
const alignment = 64
/** The arena of the current state, that of the cycle in progress, and one for a body that is decoded meanwhile. */
const idleCountMax = 3

/** Allocated columns have undefined contents: the caller writes every value. */
export class Arena {
  #block = new ArrayBuffer(blockBytesMin)
  #used = 0
  /** Bytes that did not fit. The next block is large enough for them. */
  #missing = 0
  #holderCount = 1
  readonly #onReleased: (arena: Arena) => void

  constructor(onReleased: (arena: Arena) => void = () => undefined) {
    this.#onReleased = onReleased
  }

  /** Adds a holder, who calls `release` once. */
  retain(): void {
    assert(this.#holderCount > 0, 'an arena is retained while it is held')
    this.#holderCount++
  }

  /** After the last holder's release, the columns must not be read. */
  release(): void {
    assert(this.#holderCount > 0, 'each holder of an arena releases it once')
    if (--this.#holderCount === 0) this.#onReleased(this)
  }

  /** Frees everything, and makes the block large enough for another cycle of this size. */
  reset(): void {
    assert(this.#holderCount === 0, 'an arena that is held is not reset')
    const needed = this.#used + this.#missing
    if (this.#missing > 0 || this.#block.byteLength > blockBytesKeptMax)
      this.#block = new ArrayBuffer(needed > blockBytesKeptMax ? blockBytesMin : Math.ceil(needed * 1.25))
    this.#used = 0
    this.#missing = 0
    this.#holderCount = 1
  }

  /** `bytes` of a buffer, from `start` on. */
  bytes(bytes: number): { readonly buffer: ArrayBuffer; readonly start: number } {
    const size = Math.ceil(bytes / alignment) * alignment
    const start = this.#used
    if (start + size <= this.#block.byteLength) {
      this.#used += size
      return { buffer: this.#block, start }
    }
    this.#missing += size
    return { buffer: new ArrayBuffer(size), start: 0 }
  }

  float64(count: number): Float64Array {
    const { buffer, start } = this.bytes(count * 8)
    return new Float64Array(buffer, start, count)
  }

  uint32(count: number): Uint32Array {
    const { buffer, start } = this.bytes(count * 4)
    return new Uint32Array(buffer, start, count)
  }

  uint8(count: number): Uint8Array {
    const { buffer, start } = this.bytes(count)
    return new Uint8Array(buffer, start, count)
  }
}

/** The arenas of a service. */
export class ArenaPool {
  readonly #idle: Arena[] = []

  /** An arena with one holder: the caller. */
  acquire(): Arena {
    const arena = this.#idle.pop()
    if (arena === undefined) return new Arena((released) => this.#keep(released))
    arena.reset()
    return arena
  }

  #keep(arena: Arena): void {
    if (this.#idle.length < idleCountMax) this.#idle.push(arena)
  }
}
