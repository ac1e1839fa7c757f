/**
 * Tombstones: which posts were pending once and are not any more, for seven days. They tell engagement of a removed
 * post from that of a post never seen (decisions.md 16).
 */

/** How long a removed post is remembered, by cycle time. */
export const tombstoneAgeMsMax = 7 * 24 * 3_600_000

export interface KeyList {
  readonly gallery: readonly number[]
  readonly postNo: readonly number[]
}

export class Tombstones {
  /** gallery code → post_no → when it left (cycle time, never falling). */
  readonly #leftAtMs = new Map<number, Map<number, number>>()
  /** Removals in order, so that the oldest are forgotten first. */
  readonly #batches: { readonly leftAtMs: number; readonly keys: KeyList }[] = []

  has(gallery: number, postNo: number): boolean {
    return this.#leftAtMs.get(gallery)?.has(postNo) ?? false
  }

  /** The posts left at `leftAtMs`, which is not before any earlier call's. Forgets what has become too old by then. */
  bury(keys: KeyList, leftAtMs: number): void {
    keys.gallery.forEach((gallery, i) => {
      const posts = this.#leftAtMs.get(gallery) ?? new Map<number, number>()
      this.#leftAtMs.set(gallery, posts)
      posts.set(keys.postNo[i] as number, leftAtMs)
    })
    if (keys.gallery.length > 0) this.#batches.push({ leftAtMs, keys })
    this.#forget(leftAtMs - tombstoneAgeMsMax)
  }

  /** The posts are pending again. */
  revive(keys: KeyList): void {
    keys.gallery.forEach((gallery, i) => this.#leftAtMs.get(gallery)?.delete(keys.postNo[i] as number))
  }

  #forget(beforeMs: number): void {
    for (;;) {
      const oldest = this.#batches[0]
      if (oldest === undefined || oldest.leftAtMs >= beforeMs) return
      this.#batches.shift()
      oldest.keys.gallery.forEach((gallery, i) => {
        const posts = this.#leftAtMs.get(gallery)
        const postNo = oldest.keys.postNo[i] as number
        // A post that came back and left again has a younger tombstone.
        if (posts?.get(postNo) === oldest.leftAtMs) posts.delete(postNo)
      })
    }
  }
}
