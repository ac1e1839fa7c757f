/**
 * Formulas that several groups of features use.
 */
import { hourMs } from '../../base/index.js'
import { atLeast, atMost, divide, signedLog1p, subtract, type Expression } from './expression.js'

/** part / whole, at least 1 in the denominator, at most `ratioMax`. */
export function ratio(part: Expression, whole: Expression, ratioMax: number): Expression {
  return atMost(divide(part, atLeast(whole, 1)), ratioMax)
}

/** log of the hours from `from` to `until`, at least 0. */
export function logHoursBetween(from: Expression, until: Expression): Expression {
  return signedLog1p(atLeast(divide(subtract(until, from), hourMs), 0))
}
