/**
 * Runs of a fixed number of rows, for graphs whose manifest states `batch`.
 */
import type { MatrixWidths } from './head-ports.js'
import { byMatrix, type HeadsBatch } from './batches.js'

/** The items, and the last one again until there are `batch`; without `batch`, the items. */
export function filledUp<Item>(items: readonly Item[], batch = 0): readonly Item[] {
  const last = items.at(-1)
  if (last === undefined || items.length >= batch) return items
  return [...items, ...new Array<Item>(batch - items.length).fill(last)]
}

/** A part of a batch, with as many rows as a run has. */
export interface Run extends HeadsBatch {
  /** Its first row in the batch. */
  readonly start: number
}

/** The batch in runs of `size` rows each; the last one is filled up with its last row. */
export function runsOf({ count, matrices }: HeadsBatch, widths: MatrixWidths, size: number): Run[] {
  return Array.from({ length: Math.ceil(count / size) }, (_, index) => {
    const start = index * size
    const end = start + size
    const part = byMatrix((name) => {
      const width = widths[name]
      const rows = matrices[name].subarray(start * width, end * width)
      if (end <= count) return rows
      const filled = new Float32Array(size * width)
      filled.set(rows)
      const last = rows.subarray(rows.length - width)
      for (let row = count - start; row < size; row++) filled.set(last, row * width)
      return filled
    })
    return { start, count: size, matrices: part }
  })
}
