/**
 * Texts and pictures that end the process of their encoder. What was in a batch when it ended is suspected; who has
 * been suspected often enough is tried alone; what ends the process alone is left out for the life of this service.
 * They are known by what they hold: a position in the pool may be another post's by the next try.
 */
import { createHash } from 'node:crypto'

/** Batches that end with an item in them before it is tried alone. */
export const batchEndsMax = 2
/** Far more than any pool holds at a time; the oldest are forgotten. */
const itemsMax = 20_000

export class Poison {
  readonly #suspects = new Map<string, number>()
  readonly #poison = new Set<string>()

  /** Nothing is known: then nothing need be hashed either. */
  get isEmpty(): boolean {
    return this.#suspects.size === 0 && this.#poison.size === 0
  }

  /** What an item is known by, here and nowhere else. */
  key(encoder: string, item: Uint8Array): string {
    return `${encoder} ${createHash('sha256').update(item).digest('base64')}`
  }

  has(key: string): boolean {
    return this.#poison.has(key)
  }

  /** True: it must be tried alone. */
  isSuspect(key: string): boolean {
    return (this.#suspects.get(key) ?? 0) >= batchEndsMax
  }

  /** The process has ended with these in a batch. */
  suspect(keys: readonly string[]): void {
    for (const key of keys) {
      const count = this.#suspects.get(key) ?? 0
      this.#suspects.delete(key)
      this.#suspects.set(key, count + 1)
    }
    forgetOldest(this.#suspects)
  }

  /** They were encoded. */
  clear(keys: readonly string[]): void {
    for (const key of keys) this.#suspects.delete(key)
  }

  /** It has ended the process alone. */
  condemn(key: string): void {
    this.#suspects.delete(key)
    this.#poison.add(key)
    forgetOldest(this.#poison)
  }
}

function forgetOldest(items: Map<string, unknown> | Set<string>): void {
  for (const key of items.keys()) {
    if (items.size <= itemsMax) return
    items.delete(key)
  }
}
