/**
 * Which images of each post are stored: their number is a feature of every pending post in every cycle. The positions are in
 * memory. Until they are loaded after startup, they are read from the store.
 */
import { PostMap } from '../pool/index.js'
import type { ImageKey, Store } from '../store/index.js'
import { nextTurn } from './next-turn.js'

/**
 * Keys that are read per turn of the event loop: a multiple of the number that the store reads at a time, because a key
 * read in an earlier turn may have been removed since.
 */
const keysPerTurn = 1000

/** One list for all posts without images: most posts, in every cycle. */
const none: readonly number[] = []

export class ImageCounts {
  readonly #store: Store
  /** A key that is both loaded and added counts once. */
  #positions = new PostMap<string, readonly number[]>()
  #complete = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Loads the stored keys in pieces. Resolves early, without an error, when the store closes. */
  async load(): Promise<void> {
    const isClosed = (): boolean => this.#store.closed
    let read = 0
    // The rest of the startup has priority.
    await nextTurn()
    if (isClosed()) return
    for (const key of this.#store.imageKeys()) {
      this.add(key)
      if (++read % keysPerTurn !== 0) continue
      await nextTurn()
      if (isClosed()) return
    }
    this.#complete = true
  }

  /** Forgets all keys and loads them again. Until it resolves, they are read from the store. */
  async reload(): Promise<void> {
    this.#complete = false
    this.#positions = new PostMap()
    await this.load()
  }

  /** To be called when an image is durable. */
  add({ gallId, postNo, position }: ImageKey): void {
    const positions = this.#positions.get(gallId, postNo) ?? []
    if (!positions.includes(position)) this.#positions.set(gallId, postNo, [...positions, position])
  }

  /** To be called when an image has been removed. */
  remove({ gallId, postNo, position }: ImageKey): void {
    const remaining = this.#positions.get(gallId, postNo)?.filter((known) => known !== position) ?? []
    if (remaining.length > 0) this.#positions.set(gallId, postNo, remaining)
    else this.#positions.delete(gallId, postNo)
  }

  /** Positions of the stored images of a post. */
  positions(gallId: string, postNo: number): readonly number[] {
    return this.#complete
      ? (this.#positions.get(gallId, postNo) ?? none)
      : this.#store.imagePositions(gallId, postNo)
  }

  /** One count per row of the key columns. */
  column(galleries: readonly string[], gallery: Uint32Array, postNo: Float64Array): Uint32Array {
    const counts = new Uint32Array(gallery.length)
    for (let row = 0; row < counts.length; row++)
      counts[row] = this.positions(galleries[gallery[row] as number] as string, postNo[row] as number).length
    return counts
  }
}
