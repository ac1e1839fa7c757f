/**
 * What the service asks of a model: predictions for the rows of a cycle, and the name to label them with.
 */
import type { HeadColumns } from '../contract/index.js'
import type { ScoringInputs } from '../pool/index.js'

export interface Model {
  /** `model_version` of responses and health. */
  readonly version: string
  /** A transport test is no trained model, and says so wherever it speaks. */
  readonly kind: 'trained' | 'transport-test'
  /** Execution provider that serves, such as `cpu`. */
  readonly provider: string
  /**
   * One batch for all rows. Heads come as `inputs.count` float32 values each, finite and in 0..1. Rejects with a
   * `ModelError` when the model fails or breaks that promise. `onFeatures` is called when the features are computed.
   */
  predict(inputs: ScoringInputs, onFeatures?: () => void): Promise<HeadColumns>
}

/** The model, not the request, is at fault. */
export class ModelError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ModelError'
  }
}
