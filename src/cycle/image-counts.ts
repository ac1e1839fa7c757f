/**
 * Which images of each post are stored: their number is a feature of every pending post in every cycle. The positions are in
 * memory. Until they are loaded after startup, they are read from the store.
 */
import { nextTurn } from '../base/index.js'
import type { GalleryIds } from '../contract/index.js'
import { PostMap } from '../pool/index.js'
import { imageKeyBatch, type ImageKey, type Store } from '../store/index.js'

/** One list for all posts without images: most posts, in every cycle. */
const none: readonly number[] = []

export class ImageCounts {
  readonly #store: Store
  /** Ascending, without duplicates: a key may be both loaded and added. */
  #positions = new PostMap<string, number[]>()
  #complete = false
  /** Increases with each load: one that is overtaken by another stops. */
  #loadNumber = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Loads the stored keys in pieces. Resolves early, without an error, when the store closes or another load begins. */
  async load(): Promise<void> {
    const number = ++this.#loadNumber
    const isOver = (): boolean => this.#store.closed || number !== this.#loadNumber
    let read = 0
    // The rest of the startup has priority.
    await nextTurn()
    if (isOver()) return
    for (const key of this.#store.imageKeys()) {
      this.add(key)
      // A turn ends where the store reads again: a key read in an earlier turn may have been removed since.
      if (++read % imageKeyBatch !== 0) continue
      await nextTurn()
      if (isOver()) return
    }
    this.#complete = true
  }

  /** Forgets all keys and loads them again. Until they are loaded, they are read from the store. */
  reload(): Promise<void> {
    this.#complete = false
    this.#positions = new PostMap()
    return this.load()
  }

  /** The image is durable. */
  add({ gallId, postNo, position }: ImageKey): void {
    const positions = this.#positions.get(gallId, postNo)
    if (positions === undefined) this.#positions.set(gallId, postNo, [position])
    else {
      const index = indexOfFirst(positions, position)
      if (positions[index] !== position) positions.splice(index, 0, position)
    }
  }

  /** The image is removed. */
  remove({ gallId, postNo, position }: ImageKey): void {
    const positions = this.#positions.get(gallId, postNo)
    if (positions === undefined) return
    const index = indexOfFirst(positions, position)
    if (positions[index] === position) positions.splice(index, 1)
    if (positions.length === 0) this.#positions.delete(gallId, postNo)
  }

  /** Positions of the stored images of a post, ascending. Valid in the current turn of the event loop. */
  positions(gallId: string, postNo: number): readonly number[] {
    return this.#complete
      ? (this.#positions.get(gallId, postNo) ?? none)
      : this.#store.imagePositions(gallId, postNo)
  }

  /** One count per row of the key columns. */
  column(galleries: GalleryIds, gallery: Uint32Array, postNo: Float64Array): Uint32Array {
    const counts = new Uint32Array(gallery.length)
    for (let row = 0; row < counts.length; row++)
      counts[row] = this.positions(galleries[gallery[row]!]!, postNo[row]!).length
    return counts
  }
}

/** The index of the first item that is not less than `value`; the length if there is none. */
function indexOfFirst(ascending: readonly number[], value: number): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
