/**
 * How many images of each post are stored: a feature of every pending post in every cycle. Kept in memory; while it is
 * read in after a start, the store is asked.
 */
import type { ImageKey, Store } from '../store/index.js'
import { nextTurn } from './next-turn.js'

/**
 * Keys that are read in one turn of the event loop. As many as the store looks up at a time, or a multiple: a key that
 * was looked up in an earlier turn may have been removed since.
 */
const keysPerTurn = 1000

export class ImageCounts {
  readonly #store: Store
  /** gall_id → post_no → positions. Positions, so that a key that is both read and added counts once. */
  readonly #positions = new Map<string, Map<number, number[]>>()
  #complete = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Reads in what is stored, a little at a time. Resolves early, without an error, when the store closes. */
  async load(): Promise<void> {
    let read = 0
    // The start goes first.
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

  /** An image is durable now. */
  add({ gallId, postNo, position }: ImageKey): void {
    const posts = this.#positions.get(gallId) ?? new Map<number, number[]>()
    this.#positions.set(gallId, posts)
    const positions = posts.get(postNo) ?? []
    posts.set(postNo, positions)
    if (!positions.includes(position)) positions.push(position)
  }

  /** An image is gone. */
  remove({ gallId, postNo, position }: ImageKey): void {
    const posts = this.#positions.get(gallId)
    const left = posts?.get(postNo)?.filter((known) => known !== position) ?? []
    if (left.length > 0) posts?.set(postNo, left)
    else posts?.delete(postNo)
    if (posts?.size === 0) this.#positions.delete(gallId)
  }

  /** One count a row of the key columns. */
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
