/**
 * Formulas that several groups of features share.
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
/** What clocks in Korea show at midnight UTC. */
const midnightUtcMs = kstTimeOfDay(0)

/** part / whole, at least 1 in the denominator, at most `ratioMax`. */
export function ratio(part: Expression, whole: Expression, ratioMax: number): Expression {
  return atMost(divide(part, atLeast(whole, 1)), ratioMax)
}

/** Days from `time` until the cycle, held within 0..`daysMax`. */
export function daysBeforeCycle(time: Expression, daysMax: number): Expression {
  return atMost(atLeast(divide(subtract(cycleAt, time), dayMs), 0), daysMax)
}

/** log of the hours from `from` until `until`, at least 0. */
export function logHoursBetween(from: Operand, until: Operand): Expression {
  return log(atLeast(divide(subtract(until, from), hourMs), 0))
}

/** The time of day in KST in turns, a day being a full one, from the nearest midnight: -½ to ½. */
export function kstTurns(time: Expression): Expression {
  const kst = add(time, midnightUtcMs)
  return divide(subtract(kst, multiply(round(divide(kst, dayMs)), dayMs)), dayMs)
}
