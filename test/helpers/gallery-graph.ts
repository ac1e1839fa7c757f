/**
 * A head that reads nothing but the index of a post's gallery: each gallery has a share of its own.
 */
import { elementTypes, type ElementType, type Port } from '../../models/onnx-writer.js'
import { smallGraph } from './model-packages.js'

export const galleries = ['programming', '등산', 'cat']
/** The share of an unknown gallery, then those of the list. */
export const galleryShares = [0.125, 0.25, 0.5, 0.75]

/** `probs` is the share of the gallery in `table`. */
export function galleryGraph(
  shape: Port['shape'] = ['N'],
  element: ElementType = 'int64',
  table: readonly number[] = galleryShares,
): Uint8Array {
  return smallGraph({
    inputs: [{ name: 'gallery', shape, element }],
    outputs: [{ name: 'probs', shape: ['N', 1] }],
    constants: [
      { name: 'table', shape: [table.length], values: Float32Array.from(table) },
      { name: 'column', shape: [2], values: BigInt64Array.of(-1n, 1n) },
    ],
    operators: [
      {
        type: 'Cast',
        inputs: ['gallery'],
        outputs: ['index'],
        attributes: { to: { int: elementTypes.int64 } },
      },
      { type: 'Gather', inputs: ['table', 'index'], outputs: ['share'] },
      { type: 'Reshape', inputs: ['share', 'column'], outputs: ['probs'] },
    ],
  })
}
