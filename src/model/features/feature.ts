/**
 * What a feature is: a name that manifests ask for, a formula in words, and a loop that fills one matrix column.
 */
import type { ScoringInputs } from '../../pool/index.js'

/**
 * Writes column `column` of a row-major matrix whose rows are `stride` values long, for rows 0 to
 * `inputs.count` - 1. Every value written is a finite float32, whatever the inputs hold.
 */
export type Fill = (inputs: ScoringInputs, out: Float32Array, column: number, stride: number) => void

export interface Feature {
  /** Unique in the catalogue. A name never changes its meaning: trained models depend on it. */
  readonly name: string
  /** The value, in words of the interface. `log` is the natural logarithm of 1 + x. */
  readonly formula: string
  /** The value where an input is missing; null for a feature whose inputs are always there. */
  readonly missing: number | null
  readonly fill: Fill
}
