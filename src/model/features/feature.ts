/**
 * What a feature is: a name that manifests ask for, a formula in words, and the same formula as an expression.
 */
import type { Expression } from './expression.js'

export interface Feature {
  /** Unique in the catalogue. A name never changes its meaning: trained models depend on it. */
  readonly name: string
  /** The value, in words of the interface. `log` is the natural logarithm of 1 + x. */
  readonly formula: string
  /** The value where an input is missing; null for a feature whose inputs are always there. */
  readonly missing: number | null
  /**
   * NaN where the feature is missing, else finite, whatever the inputs hold; never NaN where `missing` is null.
   * A flag is never missing: it answers whether something is there.
   */
  readonly value: Expression
}
