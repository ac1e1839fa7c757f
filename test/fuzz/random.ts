/**
 * Seeded random numbers for tests: the same seed gives the same cases on every machine, and a failing case names its seed.
 */

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 32 bits (mulberry32). */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }

  /** An integer from 0 up to `count`, exclusive. */
  below(count: number): number {
    return this.bits() % count
  }

  chance(probability: number): boolean {
    return this.bits() < probability * 0x1_0000_0000
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }
}
