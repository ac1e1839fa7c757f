/**
 * Posts as keys: lists of them, and a map from a post (gallery and post number) to a value.
 */
import type { GalleryIds } from '../contract/index.js'

/** Keys of posts, one row each, on their own: `gallery` indexes `galleries`, which holds each id once. */
export interface PostKeys {
  readonly galleries: GalleryIds
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
}

/** The gallery id of a row. */
export function gallIdAt(
  { galleries, gallery }: Pick<PostKeys, 'galleries' | 'gallery'>,
  row: number,
): string {
  return galleries[gallery[row]!]!
}

/** `Gallery` is a gall_id or its code. */
export class PostMap<Gallery, Value> {
  /** Values by post number, for each gallery that has any. */
  readonly #byGallery = new Map<Gallery, Map<number, Value>>()

  get galleryCount(): number {
    return this.#byGallery.size
  }

  get(gallery: Gallery, postNo: number): Value | undefined {
    return this.#byGallery.get(gallery)?.get(mapKey(postNo))
  }

  set(gallery: Gallery, postNo: number, value: Value): void {
    let values = this.#byGallery.get(gallery)
    if (values === undefined) {
      values = new Map()
      this.#byGallery.set(gallery, values)
    }
    values.set(mapKey(postNo), value)
  }

  delete(gallery: Gallery, postNo: number): void {
    const values = this.#byGallery.get(gallery)
    if (values === undefined) return
    values.delete(mapKey(postNo))
    if (values.size === 0) this.#byGallery.delete(gallery)
  }
}

/**
 * V8 hashes strings with a random seed and numbers without one. A client could therefore send post numbers that all
 * collide: 20,000 of them occupy the event loop for 1.6 s. No result depends on the salt.
 */
const salt = Math.floor(Math.random() * 2 ** 31)

/** A different number for each post number: the lower 32 bits are combined with the salt. */
export function mapKey(postNo: number): number {
  const low = postNo >>> 0
  return postNo - low + ((low ^ salt) >>> 0)
}
