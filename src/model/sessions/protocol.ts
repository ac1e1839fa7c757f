/**
 * What a child process and its owner say to each other, and the plans and batches of the three roles. Types only.
 * The child answers its plan with `unavailable` lines and then `ready` or `failed`, and each batch with one message.
 */
import type { HeadName } from '../../contract/index.js'

/** A file of a package. The child that uses it reads it, and refuses bytes with another hash. */
export interface FilePlan {
  /** Absolute path. */
  readonly file: string
  readonly sha256: string
}

/** An ONNX graph and how to run it. */
export interface GraphPlan extends FilePlan {
  /** Tried in this order, each alone. */
  readonly providers: readonly string[]
  readonly intraOpThreads: number
}

export type ProgramPlan = HeadsPlan | TextPlan | ImagePlan
export type Role = ProgramPlan['role']

/** All heads of a model: one graph or several, over the same rows. */
export interface HeadsPlan {
  readonly role: 'heads'
  readonly graphs: readonly HeadGraphPlan[]
  /** Columns of the matrices; 0: there is no such matrix. */
  readonly featureCount: number
  readonly textDim: number
  readonly imageDim: number
  /** In the order in which they are answered; each is a head of exactly one graph. */
  readonly heads: readonly HeadName[]
}

export interface HeadGraphPlan extends GraphPlan {
  /** Names of graph inputs [N, columns of that matrix], float32 or float64. */
  readonly inputs: { readonly [Matrix in MatrixName]?: string }
  readonly heads: readonly HeadPlace[]
}

export type MatrixName = 'features' | 'text' | 'image'

/** A head is one column of an output [N, columns], or an output [N], whose only column is 0; float32 or float64. */
export interface HeadPlace {
  readonly head: HeadName
  readonly output: string
  /** null: the only one. */
  readonly column: number | null
  /** What makes a share of the graph's value; `none`: it is one. */
  readonly activation: 'none' | 'sigmoid' | 'clip'
}

/**
 * A batch of so many rows, at least one. It and its answer lie in the memory that both sides share (`head-memory.ts`):
 * nothing else is sent. It comes as the number of a doorbell where there is one.
 */
export type HeadsRequest = number

/** The text encoder of a model. Names of graph inputs and the output have their defaults filled in. */
export interface TextPlan extends GraphPlan {
  readonly role: 'text'
  /** `tokenizer.json` of Hugging Face. */
  readonly tokenizer: FilePlan
  /** Holds {title} and may hold {body}. */
  readonly template: string
  /** Special tokens included; longer texts are cut. */
  readonly tokensMax: number
  readonly pooling: 'mean' | 'cls'
  /** To L2 length 1. */
  readonly normalize: boolean
  readonly dim: number
  readonly inputs: {
    readonly inputIds: string
    readonly attentionMask: string
    /** Fed only if the graph has it. */
    readonly tokenTypeIds: string
  }
  readonly output: string
  /** null: what tokenizer.json says, else 0. */
  readonly padTokenId: number | null
  /** Checked before the child is ready. */
  readonly goldenTokens: readonly { readonly text: string; readonly ids: readonly number[] }[]
}

export interface TextRequest {
  /** A candidate's raw JSON object each, as it came. */
  readonly records: readonly Uint8Array[]
  /** Past it, what is not encoded yet is left out. */
  readonly budgetMs: number
}

export interface TextReply {
  /** [records, dim]; zeros where not encoded. */
  readonly vectors: Float32Array
  /** By record: 1 where its row is a vector. */
  readonly encoded: Uint8Array
}

/** The image encoder of a model, with the manifest's defaults filled in. */
export interface ImagePlan extends GraphPlan {
  readonly role: 'image'
  readonly input: string
  readonly output: string
  readonly dim: number
  readonly resize: { readonly shortestEdge: number } | { readonly width: number; readonly height: number }
  /** Centre crop after the resize. */
  readonly crop: { readonly width: number; readonly height: number } | null
  readonly interpolation: 'nearest' | 'bilinear' | 'bicubic' | 'lanczos3'
  readonly channels: 'rgb' | 'bgr'
  readonly layout: 'nchw' | 'nhwc'
  /** A byte times this, less the mean, over the deviation, is what the graph sees; in the order of `channels`. */
  readonly scale: number
  readonly mean: readonly [number, number, number]
  readonly std: readonly [number, number, number]
  /** For an output [N, tokens, dim] or [N, dim, height, width]. */
  readonly pool: 'cls' | 'mean' | null
}

export interface ImageRequest {
  /** Normalised JPEGs. */
  readonly images: readonly Uint8Array[]
}

export interface ImageReply {
  /** [images, dim]; zeros where not encoded. */
  readonly vectors: Float32Array
  /** By image: 0 where it could not be read. */
  readonly encoded: Uint8Array
}

/** A provider that cannot serve a graph, and why. */
export interface Unavailable {
  readonly provider: string
  /** The graph's. */
  readonly file: string
  readonly reason: string
}

/** What the owner says: the plan, and then one batch after the other. */
export type OwnerMessage =
  /** `hasDoorbell`: batches are rung for, and not sent. */
  | { readonly kind: 'open'; readonly plan: ProgramPlan; readonly hasDoorbell: boolean }
  | { readonly kind: 'batch'; readonly request: unknown }

export type ChildMessage =
  | ({ readonly kind: 'unavailable' } & Unavailable)
  | { readonly kind: 'ready'; readonly provider: string }
  /** The program cannot serve, at its start or in a batch; the child is of no further use. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'done'; readonly reply: unknown }
