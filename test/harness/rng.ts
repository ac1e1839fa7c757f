/**
 * Seeded random numbers for tests: the same seed gives the same cases on every machine, and a failing case names its seed.
 */
import { mulberry32 } from '../../src/base/mulberry32.js'

export class Random {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = mulberry32(seed)
  }

  /** 32 bits. */
  bits(): number {
    return this.#next() * 2 ** 32
  }

  /** An integer from 0 up to `count`, exclusive. */
  below(count: number): number {
    return this.bits() % count
  }

  chance(probability: number): boolean {
    return this.#next() < probability
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }
}
