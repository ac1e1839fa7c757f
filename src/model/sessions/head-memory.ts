/**
 * Where a batch of heads lies in the memory that both processes share:
 *
 *   features [count, featureCount] | text [count, textDim] | image [count, imageDim] | heads [heads, count]
 *
 * float32, row-major, without gaps. Each side maps the same bytes, so only the count of rows is sent.
 */
import type { HeadsPlan, MatrixName } from './protocol.js'

export type Matrices = Readonly<Record<MatrixName, Float32Array>>

export interface HeadMemory {
  readonly matrices: Matrices
  /** In the order of the plan, `count` values each. */
  readonly heads: readonly Float32Array[]
}

type Shape = Pick<HeadsPlan, 'featureCount' | 'textDim' | 'imageDim' | 'heads'>

/** Bytes of the matrices, behind which the heads begin. */
export function matrixBytes({ featureCount, textDim, imageDim }: Shape, count: number): number {
  return count * (featureCount + textDim + imageDim) * Float32Array.BYTES_PER_ELEMENT
}

/** Bytes of a whole batch. */
export function batchBytes(plan: Shape, count: number): number {
  return matrixBytes(plan, count) + count * plan.heads.length * Float32Array.BYTES_PER_ELEMENT
}

/** A batch at the front of `memory`, which holds at least `batchBytes`. */
export function viewBatch(plan: Shape, count: number, memory: ArrayBuffer): HeadMemory {
  let at = 0
  const next = (columnCount: number): Float32Array => {
    const view = new Float32Array(memory, at, count * columnCount)
    at += view.byteLength
    return view
  }
  return {
    matrices: { features: next(plan.featureCount), text: next(plan.textDim), image: next(plan.imageDim) },
    heads: plan.heads.map(() => next(1)),
  }
}
