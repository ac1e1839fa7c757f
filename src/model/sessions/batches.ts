/**
 * Batches of heads and of encoders, and the parts of their messages:
 *
 *   heads     features, text, image, gallery indexes: float32 [count, width] each  →  float32 [count] for each head of the plan; or,
 *             in the header alone, the row for which a graph returns an error
 *   encoder   the bytes of each item  →  vectors, float32 [items, dim]; flags, one byte per item: 1 if it is encoded;
 *             in the header, the items that cannot be encoded, with reasons, and what was tokenized if the request asks for it
 */
import { assert } from '../../contract/index.js'
import { matrixNames, type MatrixName } from './head-ports.js'
import { ModelRowError, type ItemFailure, type Vectors } from '../model.js'
import type { HeadsPlan } from './plans.js'
import type { ChildFormat, OwnerFormat } from './messages.js'

/** Row-major; without values if the width is 0. */
export type Matrices = Readonly<Record<MatrixName, Float32Array>>

export function byMatrix(make: (name: MatrixName) => Float32Array): Matrices {
  return {
    features: make('features'),
    text: make('text'),
    image: make('image'),
    gallery_index: make('gallery_index'),
  }
}

/** The parent's request: a number of rows, and a function that writes their matrices. */
export interface HeadRows {
  readonly count: number
  /** Must write every value: the memory is reused. Called once, before the call that gets the rows returns. */
  readonly fill: (matrices: Matrices) => void
}

/** The same in the child. */
export interface HeadsBatch {
  readonly count: number
  readonly matrices: Matrices
}

export interface EncoderRequest {
  /** Texts: the raw JSON object of a candidate each. Images: a normalised JPEG each. */
  readonly items: readonly Uint8Array[]
  /** Texts that are not encoded by then are skipped; null: no time limit. */
  readonly budgetMs: number | null
  /** Whether the reply states the filled template and the token ids of each text. Default: it does not. */
  readonly withTokens?: boolean
}

export function headsOwnerFormat(plan: HeadsPlan): OwnerFormat<HeadRows, Float32Array[]> {
  const { widths } = plan
  const rowWidth = matrixNames.reduce((sum, name) => sum + widths[name], 0)
  let memory = new Float32Array(0)
  return {
    replyKind: 'done',
    describe: ({ count }) => `a batch of ${count} rows`,
    encodeRequest({ count, fill }) {
      const length = count * rowWidth
      if (memory.length < length) memory = new Float32Array(length)
      let at = 0
      const matrices = byMatrix((name) => memory.subarray(at, (at += count * widths[name])))
      assert(at === length, 'the matrices have all values of the rows')
      fill(matrices)
      return { header: { kind: 'batch', count }, parts: matrixNames.map((name) => matrices[name]) }
    },
    decodeReply({ header, parts }) {
      const { failure } = header as { readonly failure: ItemFailure | null }
      if (failure !== null)
        throw new ModelRowError(`the graph returns an error: ${failure.reason}`, failure.item)
      return parts.map(floats)
    },
  }
}

/** `failure`: the first row for which a graph returns an error; then there are no heads. */
export interface HeadsReply {
  readonly heads: readonly Float32Array[]
  readonly failure: ItemFailure | null
}

export const headsChildFormat: ChildFormat<HeadsBatch, HeadsReply> = {
  decodeRequest({ header, parts }) {
    const values = parts.map(floats)
    const matrices = byMatrix((name) => values[matrixNames.indexOf(name)]!)
    return { count: (header as { count: number }).count, matrices }
  },
  encodeReply({ heads, failure }) {
    const areEqual = heads.every(({ length }) => length === heads[0]?.length)
    assert(areEqual, 'each head has a value for each row')
    return { header: { kind: 'done', failure }, parts: heads }
  },
}

export function encoderOwnerFormat(role: 'text' | 'image'): OwnerFormat<EncoderRequest, Vectors> {
  return {
    replyKind: 'done',
    describe: ({ items }) => `a batch of ${items.length} ${role}s`,
    encodeRequest: ({ items, ...options }) => ({ header: { kind: 'batch', ...options }, parts: items }),
    decodeReply({ header, parts }) {
      const [vectors, encoded] = parts as [Uint8Array, Uint8Array]
      const { failures, tokenized } = header as Pick<Vectors, 'tokenized'> &
        Required<Pick<Vectors, 'failures'>>
      return {
        vectors: floats(vectors),
        encoded,
        failures,
        ...(tokenized === undefined ? {} : { tokenized }),
      }
    },
  }
}

export const encoderChildFormat: ChildFormat<EncoderRequest, Vectors> = {
  decodeRequest: ({ header, parts }) => ({ ...(header as Omit<EncoderRequest, 'items'>), items: parts }),
  encodeReply: ({ vectors, encoded, failures = [], tokenized }) => ({
    header: { kind: 'done', failures, tokenized },
    parts: [vectors, encoded],
  }),
}

/** Throws a RangeError if the length is not a multiple of 4. */
function floats({ buffer, byteOffset, length }: Uint8Array): Float32Array {
  if (length % Float32Array.BYTES_PER_ELEMENT !== 0) throw new RangeError(`${length} bytes are not float32`)
  return new Float32Array(buffer, byteOffset, length / Float32Array.BYTES_PER_ELEMENT)
}
