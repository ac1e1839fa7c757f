/**
 * The interface of a model: vectors for texts and images, predictions for the rows of a cycle, and its version.
 */
import type { HeadColumns } from '../contract/index.js'
import type { ScoringInputs } from '../pool/index.js'

export interface Model {
  /** `model_version` of responses and health. */
  readonly version: string
  /** A transport test is not a trained model: its responses and reports carry a warning. */
  readonly kind: 'trained' | 'transport-test'
  /** Execution provider that serves the heads, such as `cpu`; for several graphs, the distinct providers joined by `+`. */
  readonly provider: string
  /** null: the model has no text encoder. */
  readonly text: TextEncoder | null
  /** null: the model has no image encoder. */
  readonly image: ImageEncoder | null
  /**
   * One batch for all rows. Heads come as `inputs.count` float32 values each, finite and in 0..1. Rejects with a
   * `ModelError` when the model fails or a head is outside that range. When this function returns, the inputs have been
   * read: they may change. `timeLimitMs`: default that of the model.
   */
  predict(inputs: ModelInputs, timeLimitMs?: number): Promise<HeadColumns>
}

export interface TextEncoder {
  /** Hash of everything that determines a vector: the key of stored vectors. */
  readonly hash: string
  readonly dim: number
  /**
   * Vectors of candidates, each the raw JSON object of the request. Texts that do not fit into the time budget are skipped;
   * default: there is no budget. Rejects with a `ModelError` when the encoder fails.
   */
  encode(records: readonly Uint8Array[], budgetMs?: number): Promise<Vectors>
}

export interface ImageEncoder {
  /** Hash of everything that determines a vector: with the hash of the image, the key of stored vectors. */
  readonly hash: string
  readonly dim: number
  /** Pools the vectors of a post's images. */
  readonly pooling: 'mean' | 'max'
  /** Whether a warning counts posts whose expected images are not all encoded. */
  readonly required: boolean
  /** Vectors of normalised JPEGs. Rejects with a `ModelError` when the encoder fails. */
  encode(images: readonly Uint8Array[]): Promise<Vectors>
}

export interface Vectors {
  /** Row-major [items, dim]; zeros if not encoded. */
  readonly vectors: Float32Array
  /** 1 for each item whose row is a vector. */
  readonly encoded: Uint8Array
  /** Items that the encoder cannot encode, such as one on which its graph returns an error. Absent: none. */
  readonly failures?: readonly ItemFailure[]
  /** By item, if the request asks for it; null: the record cannot be read, or not be tokenized. */
  readonly tokenized?: readonly (TokenizedText | null)[]
}

export interface TokenizedText {
  /** The filled template. Only the beginning of a long body is in it. */
  readonly text: string
  /** Special tokens are included; truncated to `tokens_max`. */
  readonly tokenIds: readonly number[]
}

export interface ItemFailure {
  /** Index in the batch. */
  readonly item: number
  readonly reason: string
}

/** The inputs of a prediction. An embedding column must have the dim of the model's encoder; null: all are missing. */
export interface ModelInputs extends ScoringInputs {
  readonly text: EmbeddingColumn | null
  readonly image: EmbeddingColumn | null
}

/** Embeddings by slot: slot s has the vector `row[s]`, or none if that is -1. */
export interface EmbeddingColumn {
  readonly dim: number
  /** Row-major [vectors, dim]. */
  readonly vectors: Float32Array
  readonly row: Int32Array
}

/** Inputs of the head graphs: values of the manifest's features, not posts. For golden cases and checks. */
export interface FeatureRows {
  readonly count: number
  /** Row-major [count, features] in the order of the manifest; NaN for a missing value of a model that accepts NaN. */
  readonly features: Float32Array
  /** Row-major [count, dim] of the text encoder; null if the model has none. */
  readonly text: Float32Array | null
  readonly image: Float32Array | null
  /** An index for each row, for a model that reads galleries. Default: all galleries are unknown. */
  readonly gallery_index?: Float32Array
}

/** A failure of the model, not of the request. */
export class ModelError extends Error {
  override name = 'ModelError'
}

/** The graph returns an error for a row, or a head is not a share in some rows; `row`, an index in the batch, is the first. */
export class ModelRowError extends ModelError {
  constructor(
    message: string,
    readonly row: number,
  ) {
    super(message)
  }
}

/** The program of a process returned an error for its input: the process did not end, and no limit of time or memory killed it. */
export class GraphError extends ModelError {}

/** There is no process for the work, or it was closed: the work was not tried, or did not cause the failure. */
export class ModelDownError extends ModelError {
  override name = 'ModelDownError'
}
