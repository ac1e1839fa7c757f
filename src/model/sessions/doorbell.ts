/**
 * Wakes a child process that waits for a batch, and tells it one number. A message on the pipe would do it too, and does
 * where there is no doorbell; but the kernel takes a write to a pipe as a promise that the writer is about to sleep, and
 * may run the child in its place: the owner then loses the time in which it could have gone on (ARCHITECTURE.md).
 */
import { closeSync, readSync, writeSync } from 'node:fs'
import { loadFromAddon } from '../native.js'
import { loadSharingAddon } from './native.js'

const addon = loadFromAddon('wakeElsewhere')

export class Doorbell {
  /** What the child inherits. */
  readonly descriptor: number
  readonly #number = new BigUint64Array(1)

  private constructor(descriptor: number) {
    this.descriptor = descriptor
  }

  /** null: without the addon, and on systems that have none. */
  static create(): Doorbell | null {
    const descriptor = loadSharingAddon()?.createEvent() ?? -1
    return descriptor < 0 ? null : new Doorbell(descriptor)
  }

  /**
   * Once the child has heard the ring before. `number` is an integer from 1 on. `listener`, the process that waits, is
   * woken on a processor of its own where there is one.
   */
  ring(number: number, listener?: number): void {
    this.#number[0] = BigInt(number)
    const write = (): number => writeSync(this.descriptor, this.#number)
    if (addon === null || listener === undefined) write()
    else addon.wakeElsewhere(Int32Array.of(listener), write)
  }

  close(): void {
    closeSync(this.descriptor)
  }
}

/** In the child: waits for the next ring, and returns its number. */
export function awaitRing(descriptor: number): number {
  const number = new BigUint64Array(1)
  readSync(descriptor, number)
  return Number(number[0])
}
