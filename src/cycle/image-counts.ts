/**
 * How many images of each post are stored: a feature of every pending post in every cycle. The counts are in memory.
 * Until they are loaded after a start, they are read from the store.
 */
import type { ImageKey, Store } from '../store/index.js'
import { nextTurn } from './next-turn.js'

/**
 * Keys that are read per turn of the event loop: a multiple of the number that the store reads at a time, because a key
 * read in an earlier turn may have been removed since.
 */
const keysPerTurn = 1000

export class ImageCounts {
  readonly #store: Store
  /** gall_id → post_no → positions. A key that is both loaded and added counts once. */
  readonly #positions = new Map<string, Map<number, number[]>>()
  #complete = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Loads the stored keys in pieces. Resolves early, without an error, when the store closes. */
  async load(): Promise<void> {
    let read = 0
    // The rest of the start has priority.
    await nextTurn()
    if (this.#ended()) return
    for (const key of this.#store.imageKeys()) {
      this.add(key)
      if (++read % keysPerTurn !== 0) continue
      await nextTurn()
      if (this.#ended()) return
    }
    this.#complete = true
  }

  #ended(): boolean {
    return this.#store.closed
  }

  /** To be called when an image is durable. */
  add({ gallId, postNo, position }: ImageKey): void {
    const posts = this.#positions.get(gallId) ?? new Map<number, number[]>()
    this.#positions.set(gallId, posts)
    const positions = posts.get(postNo) ?? []
    posts.set(postNo, positions)
    if (!positions.includes(position)) positions.push(position)
  }

  /** To be called when an image has been removed. */
  remove({ gallId, postNo, position }: ImageKey): void {
    const posts = this.#positions.get(gallId)
    const left = posts?.get(postNo)?.filter((known) => known !== position) ?? []
    if (left.length > 0) posts?.set(postNo, left)
    else posts?.delete(postNo)
    if (posts?.size === 0) this.#positions.delete(gallId)
  }

  /** One count per row of the key columns. */
  column(galleries: readonly string[], gallery: Uint32Array, postNo: Float64Array): Uint32Array {
    const counts = new Uint32Array(gallery.length)
    const byCode = galleries.map((id) => this.#positions.get(id))
    for (let row = 0; row < counts.length; row++) {
      const code = gallery[row] as number
      const post = postNo[row] as number
      counts[row] = this.#complete
        ? (byCode[code]?.get(post)?.length ?? 0)
        : this.#store.imagePositions(galleries[code] as string, post).length
    }
    return counts
  }
}
