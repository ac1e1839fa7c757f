/**
 * Formulas that several groups of features use.
 */
import { kstTimeOfDay } from '../../contract/index.js'
import {
  add,
  atLeast,
  atMost,
  divide,
  log,
  multiply,
  round,
  subtract,
  type Expression,
  type Operand,
} from './expression.js'
import { cycleAt } from './columns.js'

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
/** The time of day in Korea at midnight UTC. */
const midnightUtcMs = kstTimeOfDay(0)

/** part / whole, at least 1 in the denominator, at most `ratioMax`. */
export function ratio(part: Expression, whole: Expression, ratioMax: number): Expression {
  return atMost(divide(part, atLeast(whole, 1)), ratioMax)
}

/** Days from `time` to the cycle, clamped to 0..`daysMax`. */
export function daysBeforeCycle(time: Expression, daysMax: number): Expression {
  return atMost(atLeast(divide(subtract(cycleAt, time), dayMs), 0), daysMax)
}

/** log of the hours from `from` to `until`, at least 0. */
export function logHoursBetween(from: Operand, until: Operand): Expression {
  return log(atLeast(divide(subtract(until, from), hourMs), 0))
}

/** The time of day in KST as a fraction of a day from the nearest midnight: -½ to ½. */
export function kstTurns(time: Expression): Expression {
  const kst = add(time, midnightUtcMs)
  return divide(subtract(kst, multiply(round(divide(kst, dayMs)), dayMs)), dayMs)
}
