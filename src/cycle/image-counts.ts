/**
 * How many images of each post are stored, in memory: a feature of every pending post in every cycle.
 */
import type { ImageKey } from '../store/index.js'

export class ImageCounts {
  readonly #counts = new Map<string, Map<number, number>>()

  constructor(keys: Iterable<ImageKey>) {
    for (const key of keys) this.add(key)
  }

  add({ gallId, postNo }: ImageKey): void {
    const posts = this.#counts.get(gallId) ?? new Map<number, number>()
    this.#counts.set(gallId, posts)
    posts.set(postNo, (posts.get(postNo) ?? 0) + 1)
  }

  /** One count a row of the key columns. */
  column(galleries: readonly string[], gallery: Uint32Array, postNo: Float64Array): Uint32Array {
    const byCode = galleries.map((id) => this.#counts.get(id))
    return gallery.map((code, row) => byCode[code]?.get(postNo[row] as number) ?? 0)
  }
}
