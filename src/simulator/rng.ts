/**
 * Seeded pseudo-random numbers. Labels name a stream, so the draws of one part of the simulation never shift those of
 * another part: the same labels give the same numbers on every machine.
 */

/** A stream of pseudo-random numbers (sfc32), seeded by its labels. */
export class Rng {
  private a: number
  private b: number
  private c: number
  private counter = 1

  constructor(...labels: readonly (string | number)[]) {
    const text = labels.join('\u0000')
    this.a = hashText(text, 0x9e3779b9)
    this.b = hashText(text, 0x243f6a88)
    this.c = hashText(text, 0xb7e15162)
    // The first draws of sfc32 still resemble the seed.
    for (let i = 0; i < 12; i++) this.next()
  }

  /** In 0 ≤ x < 1, in steps of 2^-32. */
  next(): number {
    const sum = (this.a + this.b + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0
    return (sum >>> 0) / 4294967296
  }

  /** An integer from `minimum` to `maximum`, both included. */
  int(minimum: number, maximum: number): number {
    return minimum + Math.floor(this.next() * (maximum - minimum + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('nothing to pick from')
    return list[this.int(0, list.length - 1)] as T
  }

  /** An index into `weights`, with a probability in proportion to its weight. */
  weighted(weights: readonly number[]): number {
    let left = this.next() * weights.reduce((sum, weight) => sum + weight, 0)
    for (const [index, weight] of weights.entries()) {
      left -= weight
      if (left < 0) return index
    }
    return weights.length - 1
  }

  /** Standard normal, by Box and Muller. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  /** A Poisson count, by Knuth's method: `mean` should stay below a few hundred. */
  poisson(mean: number): number {
    const floor = Math.exp(-mean)
    let product = this.next()
    let count = 0
    while (product > floor) {
      product *= this.next()
      count++
    }
    return count
  }

  shuffled<T>(list: readonly T[]): T[] {
    const result = [...list]
    for (let last = result.length - 1; last > 0; last--) {
      const other = this.int(0, last)
      const kept = result[last] as T
      result[last] = result[other] as T
      result[other] = kept
    }
    return result
  }
}

/** 32 bits of a text (FNV-1a with a finaliser), as an unsigned integer. */
export function hashText(text: string, basis = 0x811c9dc5): number {
  let hash = basis
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
