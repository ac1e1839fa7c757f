/**
 * A batch of heads in messages. The request holds the matrices and the reply the heads, each float32 and row-major:
 *
 *   features [count, featureCount] | text [count, textDim] | image [count, imageDim]
 *   head 0 [count] | head 1 [count] | ...                                            in the order of the plan
 */
import type { HeadsPlan, MatrixName } from '../plans/index.js'
import type { ChildFormat, OwnerFormat } from './messages.js'

export type Matrices = Readonly<Record<MatrixName, Float32Array>>

/** The owner's request: a number of rows, and a function that writes their matrices. */
export interface HeadRows {
  readonly count: number
  /** Must write every value: the memory is reused. */
  readonly fill: (matrices: Matrices) => void
}

/** The same in the child. */
export interface HeadsBatch {
  readonly count: number
  readonly matrices: Matrices
}

type Widths = Pick<HeadsPlan, 'featureCount' | 'textDim' | 'imageDim'>

const batchHeader = { kind: 'batch' }
const valueBytes = Float32Array.BYTES_PER_ELEMENT

export function headsOwnerFormat(
  plan: Widths & Pick<HeadsPlan, 'heads'>,
): OwnerFormat<HeadRows, Float32Array[]> {
  return {
    encodeRequest: ({ count, fill }) => ({
      header: { ...batchHeader, count },
      payloadBytes: count * rowBytes(plan),
      write: (payload) => fill(matricesOf(plan, count, payload)),
    }),
    decodeReply: ({ payload }) => {
      const count = payload.length / (valueBytes * plan.heads.length)
      return plan.heads.map((_, head) => floats(payload, head * count, count))
    },
  }
}

export function headsChildFormat(plan: Widths): ChildFormat<HeadsBatch, readonly Float32Array[]> {
  return {
    decodeRequest: ({ header, payload }) => {
      const { count } = header as { count: number }
      return { count, matrices: matricesOf(plan, count, payload) }
    },
    encodeReply: (heads) => ({
      header: { kind: 'done' },
      payloadBytes: heads.reduce((sum, { byteLength }) => sum + byteLength, 0),
      write: (payload) => {
        let at = 0
        for (const values of heads) {
          floats(payload, at, values.length).set(values)
          at += values.length
        }
      },
    }),
  }
}

function rowBytes({ featureCount, textDim, imageDim }: Widths): number {
  return (featureCount + textDim + imageDim) * valueBytes
}

function matricesOf(
  { featureCount, textDim, imageDim }: Widths,
  count: number,
  payload: Uint8Array,
): Matrices {
  return {
    features: floats(payload, 0, count * featureCount),
    text: floats(payload, count * featureCount, count * textDim),
    image: floats(payload, count * (featureCount + textDim), count * imageDim),
  }
}

/** A view of `length` values from value `start` on. */
function floats({ buffer, byteOffset }: Uint8Array, start: number, length: number): Float32Array {
  return new Float32Array(buffer, byteOffset + start * valueBytes, length)
}
