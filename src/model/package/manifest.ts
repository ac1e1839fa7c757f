/**
 * The type of `manifest.json`. Its JSON schema is generated from this type, doc comments included; `docs/manifest.md`
 * explains each member. Unknown members are refused, so that a misspelt one is not ignored. A `@title` says what a value
 * must be: error messages use it.
 */
import type { tags } from 'typia'
import type { GalleryId, HeadName } from '../../contract/index.js'

/** @title a name of letters, digits, ".", "_" and "-" that begins with a letter or a digit */
export type PlainName = string & tags.Pattern<'^[A-Za-z0-9][A-Za-z0-9._-]*$'>
/** @title a file of the package, such as head.onnx or text/model.onnx */
export type PackageFile = string & tags.Pattern<'^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$'>
/** @title a SHA-256 of 64 lower-case hexadecimal digits */
export type Sha256 = string & tags.Pattern<'^[0-9a-f]{64}$'>

/** Names that ONNX Runtime's binding for Node accepts; whether a machine has one shows when a session is opened. */
export type ExecutionProvider = 'cpu' | 'cuda' | 'tensorrt' | 'coreml' | 'dml' | 'webgpu' | 'qnn' | 'openvino'

type Name = string & tags.MinLength<1>
/** @title a day of the calendar, such as 2026-03-02 */
type Day = string & tags.Format<'date'>
/** @title a text that holds {title} */
type Template = string & tags.Pattern<'[{]title[}]'>
type Index = number & tags.Type<'uint32'> & tags.Maximum<4294967295>
type Size = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<65536>
type Pixels = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<4096>
type BatchRows = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<4096>
type Threads = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<256>
type Providers = ExecutionProvider[] & tags.MinItems<1> & tags.UniqueItems
type MissingEmbedding = 'zeros' | 'nan'
type Byte = number & tags.Type<'uint32'> & tags.Maximum<255>
type PerChannel = [number, number, number]
type Divisor = number & tags.ExclusiveMinimum<0>
type DivisorPerChannel = [Divisor, Divisor, Divisor]

export interface Manifest {
  /** For editors: where the JSON schema of this file is. Not read. */
  $schema?: string
  /** Label of every score, and the name of the package's directory. */
  model_version: PlainName
  /** `transport-test`: the model is not trained. It shows that the data arrive; its scores have no meaning. */
  kind: 'trained' | 'transport-test'
  provenance?: Provenance
  /** Free text for readers; `models inspect` prints it. */
  note?: string
  /**
   * Features of the catalogue in the order of the columns of the feature input, each a name, or a name with a transform.
   * Required when a head has an input for features.
   */
  features?: (Name | FeatureColumn)[]
  /**
   * `imputed` (the default): a missing value becomes the feature's value for missing inputs, often 0 with an indicator
   * feature. `nan`: it is NaN in the matrix, as tree models expect.
   */
  missing?: 'imputed' | 'nan'
  /**
   * Galleries by `gall_id`, for heads with an input `gallery_index`: the first has the index 1, and a gallery that is not in the
   * list has 0. Required when a head has such an input.
   */
  galleries?: GalleryId[] & tags.MinItems<1> & tags.MaxItems<100000>
  /** One graph for all heads, or up to four; each head comes from one graph, and at least one of the first three exists. */
  head: HeadManifest | (HeadManifest[] & tags.MinItems<1> & tags.MaxItems<4>)
  text?: TextManifest
  image?: ImageManifest
  /** Providers on which the model was tested; the service ignores its other configured providers for this model. */
  execution_providers?: Providers
  /** Threads of one run, unless the service is configured with a number. */
  intra_op_threads?: Threads
  golden?: GoldenManifest
  /**
   * Members that `models init` has guessed, such as `text.pooling`. `verify` warns while there are any: compare each with the
   * training, and remove it here. The service ignores them.
   */
  draft?: Name[]
}

export interface FeatureColumn {
  name: Name
  /** `raw`: the feature as it is. `log1p`: log(1 + |x|) with the sign of x. */
  transform: 'raw' | 'log1p'
}

/** Where the model comes from. It does not affect scores. */
export interface Provenance {
  /** The training data, described in words. */
  trained_on?: string
  /** The day of the training, YYYY-MM-DD. */
  date?: Day
  note?: string
}

/** An ONNX file, and how to run it. */
export interface GraphManifest {
  /** The file, relative to the manifest. */
  file: PackageFile
  sha256: Sha256
  /** The files in which the graph keeps weights (external data), if any: each that the graph names. */
  external_data?: DataFile[] & tags.MinItems<1>
  /**
   * Rows of each run; the last run is filled up with its last row. For a graph of a fixed batch size, and, with 1, for one
   * whose results depend on the other rows, as those of dynamic quantisation do. Default: the service decides.
   */
  batch?: BatchRows
  /** Overrides the member of the package for this graph. */
  execution_providers?: Providers
  /** Overrides the member of the package for this graph. */
  intra_op_threads?: Threads
}

/** A file of weights, at the place that the graph names. */
export interface DataFile {
  file: PackageFile
  sha256: Sha256
}

/** A graph from features and embeddings to heads. */
export interface HeadManifest extends GraphManifest {
  /** Names of the graph's inputs; at least one. Each is [N, width], float32, float64 or float16. */
  inputs: HeadInputs
  outputs: { [Name in HeadName]?: HeadOutput }
}

export interface HeadInputs {
  /**
   * [N, number of features]; or the names of several inputs in the order of the features, each of which takes as many as it has
   * columns: [N, 3], [N, 1], [N].
   */
  features?: Name | (Name[] & tags.MinItems<1>)
  /** [N, dim of the text encoder]. */
  text?: Name
  /** [N, dim of the image encoder]. */
  image?: Name
  /** [N, 1] or [N], int64, int32, float32 or float64: the index of the post's gallery in `galleries`, 0 for any other. */
  gallery_index?: Name
}

/** A column of the output `name` [N, columns]; without `column`, the only one of [N] or [N, 1]. */
export interface HeadOutput {
  name: Name
  column?: Index
  /** The output is [columns, N]. Default false. */
  transposed?: boolean
  /** Dimensions of size 1, other than that of the rows, are removed: [N, 1, 3] becomes [N, 3]. Default false. */
  squeeze?: boolean
  /** Factor for each value, applied first. Default 1. */
  scale?: number
  /** Added next. Default 0. */
  offset?: number
  /**
   * Applied last: `sigmoid` for a logit, `softmax` for logits of which each column has one, `clip` to 0 to 1 for a regressor.
   * Default: none.
   */
  activation?: 'sigmoid' | 'softmax' | 'clip'
}

/** A transformer in Hugging Face's export format. */
export interface TextManifest extends GraphManifest {
  tokenizer: {
    /** Hugging Face `tokenizer.json`. */
    file: PackageFile
    sha256: Sha256
  }
  /** The encoder's input: text with the placeholder `{title}` and, if the encoder reads bodies, `{body}`. */
  template: Template
  /** Maximum length in tokens, special tokens included; a longer text is truncated. */
  tokens_max: number & tags.Type<'uint32'> & tags.Minimum<2> & tags.Maximum<8192>
  /** Pooling of token vectors: their mean over the attention mask, or the first one. Required unless the output is [N, dim]. */
  pooling?: 'mean' | 'cls'
  /** Whether the vector is normalised to length 1 (L2). Default false. */
  normalize?: boolean
  /** Length of the vector. */
  dim: Size
  /** Names of the graph's inputs, if not Hugging Face's. `token_type_ids` is passed if the graph has that input. */
  inputs?: {
    input_ids?: Name
    attention_mask?: Name
    token_type_ids?: Name
  }
  /** Name of the output: [N, tokens, dim], or [N, dim] without pooling. Default `last_hidden_state`. */
  output?: Name
  /** A missing embedding: a row of zeros or of NaN. Default: NaN if `missing` is `nan`, else zeros. */
  missing_embedding?: MissingEmbedding
  /** Default: the value in `tokenizer.json`, else 0. */
  pad_token_id?: Index
  /** Texts with the token ids of the tokenizer used in training. A package is refused if it gives others here. */
  golden_tokens?: GoldenTokens[] & tags.MinItems<1>
}

export interface GoldenTokens {
  text: string
  /** With special tokens, not truncated and not padded. */
  ids: Index[]
}

/** A graph from images to vectors. */
export interface ImageManifest extends GraphManifest {
  /** Name of the graph's input, [N, 3, height, width] or [N, height, width, 3]. */
  input: Name
  /** Name of the output: [N, dim], [N, tokens, dim] or [N, dim, height, width]. */
  output: Name
  /** Length of the vector. */
  dim: Size
  /** To a shortest edge, keeping the aspect ratio, or to a size. */
  resize: { shortest_edge: Pixels } | { width: Pixels; height: Pixels }
  /** Fits the image into the size of `resize`, keeping its aspect ratio, and fills the rest. */
  pad?: Padding
  /** Centre crop, after `resize`. */
  crop?: { width: Pixels; height: Pixels }
  /** Default `bicubic`. */
  interpolation?: 'nearest' | 'bilinear' | 'bicubic' | 'lanczos3'
  /** Order of the channels. Default `rgb`. */
  channels?: 'rgb' | 'bgr'
  /** Default `nchw`. */
  layout?: 'nchw' | 'nhwc'
  /** Factor for each byte, applied before `mean` and `std`. Default 1/255. */
  scale?: number & tags.ExclusiveMinimum<0>
  /** Subtracted, per channel in the order of `channels`. Required, with `std`, unless the graph takes the bytes as uint8. */
  mean?: PerChannel
  /** Divided by, per channel in the order of `channels`. */
  std?: DivisorPerChannel
  /** Pooling of an output with tokens or cells into one vector. Required unless the output is [N, dim]. */
  pool?: 'cls' | 'mean'
  /** Pooling of the vectors of a post's images, in position order. */
  pooling: 'mean' | 'max'
  /** The embedding of a post without encoded images: a row of zeros or of NaN. Default: NaN if `missing` is `nan`, else zeros. */
  missing_embedding?: MissingEmbedding
  /** Whether a warning counts the posts whose expected images are not all encoded. Default false. */
  required?: boolean
}

export interface Padding {
  /** Red, green, blue. */
  color: [Byte, Byte, Byte]
  /** Where the colour is. `end`: on the right or at the bottom; `start`: on the left or at the top; `both`: around the image. */
  side: 'start' | 'end' | 'both'
}

/** Cases that the model must reproduce here as it did in training. `models golden` records them. */
export interface GoldenManifest {
  file: PackageFile
  sha256: Sha256
  /** Maximum absolute difference of a head, and of a vector alone and in a batch. Default 1e-4. */
  tolerance?: number & tags.ExclusiveMinimum<0> & tags.Maximum<1>
}
