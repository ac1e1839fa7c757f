/**
 * Plans: what a child process is to open, with every default filled in. One type for each role. Types only.
 */
import type { HeadName } from '../../contract/index.js'

/** A file of a package. The process that uses it reads it, and refuses bytes with another hash. */
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

/** The roles that serve batches. */
export type ServingPlan = HeadsPlan | TextPlan | ImagePlan
export type Role = ServingPlan['role']

/** All heads of a model: one graph or several, over the same rows. */
export interface HeadsPlan {
  readonly role: 'heads'
  readonly graphs: readonly HeadGraphPlan[]
  /** Columns of the matrices; 0: there is no such matrix. */
  readonly featureCount: number
  readonly textDim: number
  readonly imageDim: number
  /** In the order of the reply; each is a head of exactly one graph. */
  readonly heads: readonly HeadName[]
}

export interface HeadGraphPlan extends GraphPlan {
  /** Names of graph inputs [N, columns of that matrix], float32 or float64. */
  readonly inputs: { readonly [Matrix in MatrixName]?: string }
  readonly heads: readonly HeadColumn[]
}

/** The ports that a graph of heads must have. */
export type HeadPorts = Pick<HeadGraphPlan, 'inputs' | 'heads'>
export type HeadWidths = Pick<HeadsPlan, 'featureCount' | 'textDim' | 'imageDim'>

export type MatrixName = 'features' | 'text' | 'image'

/** A head is one column of an output [N, columns], or an output [N], whose only column is 0; float32 or float64. */
export interface HeadColumn {
  readonly head: HeadName
  readonly output: string
  /** null: the only one. */
  readonly column: number | null
  /** Turns the graph's value into a share; `none`: the value is one. */
  readonly activation: 'none' | 'sigmoid' | 'clip'
}

/** The text encoder of a model. */
export interface TextPlan extends GraphPlan {
  readonly role: 'text'
  /** `tokenizer.json` of Hugging Face. */
  readonly tokenizer: FilePlan
  /** Holds {title} and may hold {body}. */
  readonly template: string
  /** Special tokens included; longer texts are cut. */
  readonly tokensMax: number
  /** null: the output is a vector a text. */
  readonly pooling: 'mean' | 'cls' | null
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
  /** null: the value of tokenizer.json, else 0. */
  readonly padTokenId: number | null
  /** Checked before the process is ready. */
  readonly goldenTokens: readonly { readonly text: string; readonly ids: readonly number[] }[]
}

/** The ports that the graph of a text encoder must have. */
export type TextPorts = Pick<TextPlan, 'inputs' | 'output' | 'dim' | 'pooling'>

/** The image encoder of a model. */
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
  /** The graph's input is (byte * scale - mean) / std, per channel in the order of `channels`. */
  readonly scale: number
  readonly mean: readonly [number, number, number]
  readonly std: readonly [number, number, number]
  /** For an output [N, tokens, dim] or [N, dim, height, width]. */
  readonly pool: 'cls' | 'mean' | null
}

/** The ports that the graph of an image encoder must have. */
export type ImagePorts = Pick<ImagePlan, 'input' | 'output' | 'dim' | 'resize' | 'crop' | 'layout' | 'pool'>
