/**
 * Estimates with their bootstrap intervals. The unit that a bootstrap draws is the KST day, or the decision cycle if
 * the window has few days with saves.
 */
import { dayMs } from '../../base/index.js'
import { type Estimate, kstOffsetMs } from '../../contract/index.js'
import type { UnitSums } from './intervals.js'
import { fates, lastBefore } from './ranker-evaluation.js'
import type { EvaluationWindow } from './window.js'

const daysMin = 5
/** Fewer units agree by chance too often: four of four do in one case of eight. */
export const verdictUnitsMin = 5

export function kstDay(ms: number): number {
  return Math.floor((ms + kstOffsetMs) / dayMs)
}

export class Units {
  readonly isDays: boolean
  readonly #window: EvaluationWindow
  readonly #times: readonly number[]

  constructor(window: EvaluationWindow) {
    this.#window = window
    this.#times = window.cycles.map(({ cycleAtMs }) => cycleAtMs)
    const { fate, decidedMs, count } = window.fates
    const days = new Set<number>()
    for (let visit = 0; visit < count; visit++)
      if (fates[fate[visit]!] === 'saved') days.add(kstDay(decidedMs[visit]!))
    this.isDays = days.size >= daysMin
  }

  /** The unit of a decided visit: the day of its decision, or the cycle. */
  ofVisit(visit: number): number {
    const decided = this.#window.fates.decidedMs[visit]!
    if (this.isDays) return kstDay(decided)
    const cycle = this.#window.decisions.cycle[visit]!
    return cycle >= 0 ? cycle : lastBefore(this.#times, decided)
  }

  ofCycle(index: number): number {
    return this.isDays ? kstDay(this.#times[index]!) : index
  }

  estimate(sums: UnitSums): Estimate {
    return { mean: sums.ratio, n: sums.denominator, ci95: sums.interval() }
  }
}
