/**
 * The index of a post's gallery in the list of a manifest, as a categorical input.
 */
import { assert } from '../../contract/index.js'
import type { ScoringInputs } from '../../pool/index.js'

/** Writes an index for each row: from 1 in the order of the list; 0 for a gallery that is not in it. A `matrix` without columns stays empty. */
export type FillGalleryIndexes = (inputs: ScoringInputs, matrix: Float32Array) => void

export function galleryIndex(galleries: readonly string[]): (gallId: string) => number {
  const indexes = new Map(galleries.map((id, index) => [id, index + 1]))
  return (gallId) => indexes.get(gallId) ?? 0
}

/** Looks up each gallery of the inputs once, not each row. */
export function fillGalleryIndexes(galleries: readonly string[]): FillGalleryIndexes {
  const indexOf = galleryIndex(galleries)
  return (inputs, matrix) => {
    if (matrix.length === 0) return
    assert(matrix.length === inputs.count, 'each row has one index of a gallery')
    const indexOfCode = Uint32Array.from(inputs.galleries, indexOf)
    for (let row = 0; row < inputs.count; row++) {
      const code = inputs.gallery[inputs.slots[row]!]!
      matrix[row] = indexOfCode[code]!
    }
  }
}
