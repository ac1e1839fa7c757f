/**
 * The type of a feature: a name for manifests, a formula in words, and the same formula as an expression.
 */
import type { InputUnit, InputWords, ShownInput } from '../../contract/index.js'
import type { Expression } from './expression.js'

export interface Feature {
  /** Unique in the catalogue. The meaning of a name never changes, since trained models depend on it. */
  readonly name: string
  /** The formula, in the terms of the interface. `log` is the natural logarithm of 1 + x. */
  readonly formula: string
  /** The value if an input is missing; null for a feature whose inputs are always present. */
  readonly missing: number | null
  /**
   * NaN if the feature is missing, else finite for any inputs; never NaN if `missing` is null. An indicator such as
   * `views_missing` is never missing.
   */
  readonly value: Expression
  readonly shown: ShownInput
}

/** A row of the tables of features. */
export type FeatureRow = readonly [
  name: Feature['name'],
  formula: Feature['formula'],
  missing: Feature['missing'],
  value: Feature['value'],
  shown: Feature['shown'],
]

export function featureTable(rows: readonly FeatureRow[]): readonly Feature[] {
  return rows.map(([name, formula, missing, value, shown]) => ({ name, formula, missing, value, shown }))
}

/** A feature with a name of its own. */
export function named(of: keyof InputWords['named'], unit: InputUnit, logs = 0): ShownInput {
  return { form: 'named', of, unit, logs }
}
