/**
 * `manifest.json` of a model package: its type, which the JSON schema is made of and `docs/models.md` explains member
 * by member. Members that are not known are refused: what this service does not understand, it must not leave out.
 */
import type { tags } from 'typia'
import type { HeadName } from '../../contract/index.js'

/** A file or directory inside the package: no separators, no leading dot. */
export type PlainName = string & tags.Pattern<'^[A-Za-z0-9][A-Za-z0-9._-]*$'>
/** A file of the package, in a folder of it too: `head.onnx`, `text/model.onnx`. */
export type PackageFile = string & tags.Pattern<'^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$'>
/** SHA-256 in lower-case hexadecimal digits. */
export type Sha256 = string & tags.Pattern<'^[0-9a-f]{64}$'>

/** Names that ONNX Runtime's binding for Node knows; which of them a machine has shows at the start. */
export type ExecutionProvider = 'cpu' | 'cuda' | 'tensorrt' | 'coreml' | 'dml' | 'webgpu' | 'qnn' | 'openvino'

type Name = string & tags.MinLength<1>
type Index = number & tags.Type<'uint32'>
type Size = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<65536>
type Pixels = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<4096>
type Threads = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<256>
type Providers = ExecutionProvider[] & tags.MinItems<1> & tags.UniqueItems
type PerChannel = [number, number, number]
type Divisor = number & tags.ExclusiveMinimum<0>
type DivisorPerChannel = [Divisor, Divisor, Divisor]

export interface Manifest {
  /** For editors: where the JSON schema of this file is. Not read. */
  $schema?: string
  /** Label of every score, and the name of the package's directory. */
  model_version: PlainName
  /** A transport test is no trained model: it proves the way of the data, not the worth of the scores. */
  kind: 'trained' | 'transport-test'
  provenance?: Provenance
  /** For people; shown by `models inspect`. */
  note?: string
  /** Catalogue names in the order of the columns of the feature input. */
  features: (Name[] & tags.MinItems<1>) & tags.UniqueItems
  /**
   * `imputed` (the default): a missing value is what the catalogue says, often 0 with an indicator beside it. `nan`: it
   * is NaN in the matrix, as tree models take it; a missing embedding is then a row of NaN.
   */
  missing?: 'imputed' | 'nan'
  /** One graph for all heads, or up to four; each head is given once, and at least one of the first three is. */
  head: HeadManifest | (HeadManifest[] & tags.MinItems<1> & tags.MaxItems<4>)
  text?: TextManifest
  image?: ImageManifest
  /** Providers on which the model was checked; others that the service is configured with are passed over. */
  execution_providers?: Providers
  /** Threads of one run, where the service is not configured otherwise. */
  intra_op_threads?: Threads
  golden?: GoldenManifest
}

/** Where the model comes from. Nothing of it changes a score. */
export interface Provenance {
  /** The data, in words. */
  trained_on?: string
  /** The day of the training, YYYY-MM-DD. */
  date?: string & tags.Format<'date'>
  note?: string
}

/** An ONNX file, and how it is run. */
export interface GraphManifest {
  /** The file, relative to the manifest. */
  file: PackageFile
  sha256: Sha256
  /** As for the whole model, for this graph alone. */
  execution_providers?: Providers
  /** As for the whole model, for this graph alone. */
  intra_op_threads?: Threads
}

/** A graph from features and embeddings to heads. */
export interface HeadManifest extends GraphManifest {
  /** Names of the graph's inputs; at least one. Each is [N, width], float32 or float64. */
  inputs: HeadInputs
  outputs: { [Name in HeadName]?: HeadOutput }
}

export interface HeadInputs {
  /** [N, number of features]. */
  features?: Name
  /** [N, dim of the text encoder]. */
  text?: Name
  /** [N, dim of the image encoder]. */
  image?: Name
}

/** A column of the float32 or float64 output `name` [N, columns]; without `column`, the only one of [N] or [N, 1]. */
export interface HeadOutput {
  name: Name
  column?: Index
  /** What is still to be done to a value: `sigmoid` for a logit, `clip` into 0 to 1 for a regressor. Default: nothing. */
  activation?: 'sigmoid' | 'clip'
}

/** A transformer exported the Hugging Face way. */
export interface TextManifest extends GraphManifest {
  tokenizer: {
    /** Hugging Face `tokenizer.json`. */
    file: PackageFile
    sha256: Sha256
  }
  /** What the encoder reads of a post: `{title}`, and `{body}` where it is to read the body, with text around. */
  template: string & tags.Pattern<'[{]title[}]'>
  /** Special tokens included; a longer text is cut. */
  tokens_max: number & tags.Type<'uint32'> & tags.Minimum<2> & tags.Maximum<8192>
  /** How token vectors become one: their mean over the attention mask, or the first. */
  pooling: 'mean' | 'cls'
  /** Whether the vector is divided by its length (L2). Default false. */
  normalize?: boolean
  /** Length of the vector. */
  dim: Size
  /** Names of the graph's inputs, where they are not Hugging Face's. `token_type_ids` is fed where the graph has it. */
  inputs?: {
    input_ids?: Name
    attention_mask?: Name
    token_type_ids?: Name
  }
  /** Name of the output, [N, tokens, dim] or [N, dim] (used as it is). Default `last_hidden_state`. */
  output?: Name
  /** Default: what `tokenizer.json` says, else 0. */
  pad_token_id?: Index
  /**
   * Texts with the token ids of the training's own tokenizer. Required where a pre-tokenizer is known to split otherwise
   * here: `Whitespace`, `Punctuation`, `Digits`, some kinds of `Split`.
   */
  golden_tokens?: GoldenTokens[] & tags.MinItems<1>
}

export interface GoldenTokens {
  text: string
  /** With special tokens, uncut and unpadded. */
  ids: Index[]
}

/** A graph from pictures to vectors. */
export interface ImageManifest extends GraphManifest {
  /** Name of the graph's input, [N, 3, height, width] or [N, height, width, 3]. */
  input: Name
  /** Name of the output: [N, dim], [N, tokens, dim] or [N, dim, height, width]. */
  output: Name
  /** Length of the vector. */
  dim: Size
  /** To a shortest edge, keeping the proportions, or to a size. */
  resize: { shortest_edge: Pixels } | { width: Pixels; height: Pixels }
  /** From the centre, after `resize`. */
  crop?: { width: Pixels; height: Pixels }
  /** Default `bicubic`. */
  interpolation?: 'nearest' | 'bilinear' | 'bicubic' | 'lanczos3'
  /** Order of the channels. Default `rgb`. */
  channels?: 'rgb' | 'bgr'
  /** Default `nchw`. */
  layout?: 'nchw' | 'nhwc'
  /** What a byte is multiplied with, before `mean` and `std`. Default 1/255. */
  scale?: number & tags.ExclusiveMinimum<0>
  /** Subtracted, per channel in the order of `channels`. */
  mean: PerChannel
  /** Divided by, per channel in the order of `channels`. */
  std: DivisorPerChannel
  /** How an output with tokens or cells becomes a vector. Needed where it is not [N, dim]. */
  pool?: 'cls' | 'mean'
  /** How the vectors of a post's images become one, in position order. */
  pooling: 'mean' | 'max'
  /** Whether posts whose expected images are not all encoded are counted in a warning. Default false. */
  required?: boolean
}

/** Cases that the model must reproduce, here and at the one who made it. `models golden` records them. */
export interface GoldenManifest {
  file: PackageFile
  sha256: Sha256
  /** Largest absolute difference of a head. Default 1e-4. */
  tolerance?: number & tags.ExclusiveMinimum<0> & tags.Maximum<1>
}
