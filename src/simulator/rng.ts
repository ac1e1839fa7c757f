/**
 * Seeded pseudo-random numbers. Labels name a stream, so the draws of one part of the simulation never shift those of
 * another part: the same labels give the same numbers on every machine.
 */
import { createHash } from 'node:crypto'

/** A stream of pseudo-random numbers (sfc32), seeded by its labels. */
export class Rng {
  private a: number
  private b: number
  private c: number
  private counter = 1

  constructor(...labels: readonly (string | number)[]) {
    const seed = createHash('sha256').update(labels.join('\u0000')).digest()
    this.a = seed.readInt32LE(0)
    this.b = seed.readInt32LE(4)
    this.c = seed.readInt32LE(8)
  }

  /** 0 ≤ x < 1, in steps of 2^-32. */
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
    if (list.length === 0) throw new RangeError('nothing to pick from')
    return list[this.int(0, list.length - 1)] as T
  }

  /** An index into `weights`, with a probability in proportion to its weight. */
  weighted(weights: readonly number[]): number {
    let remaining = this.next() * weights.reduce((sum, weight) => sum + weight, 0)
    const index = weights.findIndex((weight) => (remaining -= weight) < 0)
    return index === -1 ? weights.length - 1 : index
  }

  /** Standard normal, by the Box-Muller transform. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  /** A Poisson count, by Knuth's method: `mean` should be below a few hundred. */
  poisson(mean: number): number {
    const floor = Math.exp(-mean)
    let count = 0
    for (let product = this.next(); product > floor; product *= this.next()) count++
    return count
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((item) => ({ item, order: this.next() }))
      .sort((a, b) => a.order - b.order)
      .map(({ item }) => item)
  }
}
