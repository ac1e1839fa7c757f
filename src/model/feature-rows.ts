/**
 * Inputs of the head graphs: values of the manifest's features, not posts. For golden cases and checks.
 */

export interface FeatureRows {
  readonly count: number
  /** Row-major [count, features] in the order of the manifest; NaN for a missing value of a model that accepts NaN. */
  readonly features: Float32Array
  /** Row-major [count, dim] of the text encoder; null if the model has none, or no row has a text. */
  readonly text: Float32Array | null
  readonly image: Float32Array | null
}
