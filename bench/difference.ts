/**
 * A confidence interval of the difference between two kinds of cycles at a quantile, by a bootstrap over rounds. Cycles of
 * one round are correlated, so the bootstrap draws whole rounds, not cycles.
 */
import { Rng } from '../src/simulator/rng.js'
import { quantileOfSorted } from './statistics.js'

/** Samples of both kinds that were measured under the same conditions. */
export interface Round {
  readonly aMs: readonly number[]
  readonly bMs: readonly number[]
}

/** The quantile of all a minus that of all b, in milliseconds. */
export interface Difference {
  readonly ms: number
  /** Bounds of 95 % of the draws. If they include zero, no difference larger than the interval was found. */
  readonly lowMs: number
  readonly highMs: number
}

const drawCount = 2000

/** `part`: the quantile, 0 to 1. The same rounds give the same interval. Throws without a sample of each kind. */
export function differenceOf(rounds: readonly Round[], part: number): Difference {
  const rng = new Rng('difference', rounds.length, part)
  const draws = Array.from({ length: drawCount }, () =>
    differenceIn(
      rounds.map(() => rounds[Math.floor(rng.next() * rounds.length)]!),
      part,
    ),
  ).sort((x, y) => x - y)
  return {
    ms: differenceIn(rounds, part),
    lowMs: quantileOfSorted(draws, 0.025),
    highMs: quantileOfSorted(draws, 0.975),
  }
}

export function differenceText({ ms, lowMs, highMs }: Difference): string {
  const signed = (value: number): string => `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(1)}`
  return `${signed(ms)} ms (95 %: ${signed(lowMs)} to ${signed(highMs)})`
}

function differenceIn(rounds: readonly Round[], part: number): number {
  return quantile(rounds, 'aMs', part) - quantile(rounds, 'bMs', part)
}

function quantile(rounds: readonly Round[], kind: keyof Round, part: number): number {
  const all = Float64Array.from(rounds.flatMap((round) => round[kind])).sort()
  if (all.length === 0) throw new Error('no samples')
  return quantileOfSorted(all, part)
}
