/**
 * Bootstrap intervals of ratios of sums (a mean is one): whole units (days, or cycles) are drawn with replacement, so
 * that events of one day do not count as independent. Percentile method; a fixed seed makes reports reproducible.
 */
import { mulberry32 } from '../../base/index.js'
import type { Interval } from '../../contract/index.js'
import { quantile } from './ranking.js'

const drawCount = 2000
const seed = 0x5eed

/** Sums by unit: the ratio is sum of `numerators` by sum of `denominators`. */
export class UnitSums {
  readonly #units = new Map<number, { numerator: number; denominator: number }>()

  add(unit: number, numerator: number, denominator = 1): void {
    const sums = this.#units.get(unit)
    if (sums === undefined) this.#units.set(unit, { numerator, denominator })
    else {
      sums.numerator += numerator
      sums.denominator += denominator
    }
  }

  get unitCount(): number {
    return this.#units.size
  }

  get denominator(): number {
    let sum = 0
    for (const unit of this.#units.values()) sum += unit.denominator
    return sum
  }

  get ratio(): number | null {
    let [numerator, denominator] = [0, 0]
    for (const unit of this.#units.values()) {
      numerator += unit.numerator
      denominator += unit.denominator
    }
    return denominator > 0 ? numerator / denominator : null
  }

  /** 95 %. Null without data. Draws whose denominator is 0 are omitted. The units are drawn by their ascending order. */
  interval(): Interval | null {
    const units = [...this.#units].sort(([a], [b]) => a - b).map(([, sums]) => sums)
    if (this.ratio === null) return null
    const random = mulberry32(seed)
    const ratios: number[] = []
    for (let draw = 0; draw < drawCount; draw++) {
      let [numerator, denominator] = [0, 0]
      for (let drawn = 0; drawn < units.length; drawn++) {
        const unit = units[Math.floor(random() * units.length)]!
        numerator += unit.numerator
        denominator += unit.denominator
      }
      if (denominator > 0) ratios.push(numerator / denominator)
    }
    return [quantile(ratios, 0.025)!, quantile(ratios, 0.975)!]
  }
}
