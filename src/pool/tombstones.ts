/**
 * Tombstones: which posts were pending once and are not any more, for seven days. They tell engagement of a removed
 * post from that of a post never seen (decisions.md 16).
 */

/** How long a removed post is remembered, by cycle time. */
export const tombstoneAgeMsMax = 7 * 24 * 3_600_000

/** Keys of posts that outlive the codes of a state: galleries by their ids. */
export interface KeyList {
  readonly gallIds: readonly string[]
  readonly postNo: readonly number[]
}

export class Tombstones {
  /** gall_id → post_no → when it left (cycle time, never falling). */
  readonly #leftAtMs = new Map<string, Map<number, number>>()
  /** Removals in order, so that the oldest are forgotten first. */
  readonly #batches: { readonly leftAtMs: number; readonly keys: KeyList }[] = []

  has(gallId: string, postNo: number): boolean {
    return this.#leftAtMs.get(gallId)?.has(postNo) ?? false
  }

  /** The posts left at `leftAtMs`, which is not before any earlier call's. Forgets what has become too old by then. */
  bury(keys: KeyList, leftAtMs: number): void {
    keys.gallIds.forEach((gallId, i) => {
      const posts = this.#leftAtMs.get(gallId) ?? new Map<number, number>()
      this.#leftAtMs.set(gallId, posts)
      posts.set(keys.postNo[i] as number, leftAtMs)
    })
    if (keys.gallIds.length > 0) this.#batches.push({ leftAtMs, keys })
    this.#forget(leftAtMs - tombstoneAgeMsMax)
  }

  /** The posts are pending again. */
  revive(keys: KeyList): void {
    keys.gallIds.forEach((gallId, i) => this.#delete(gallId, keys.postNo[i] as number))
  }

  #forget(beforeMs: number): void {
    for (;;) {
      const oldest = this.#batches[0]
      if (oldest === undefined || oldest.leftAtMs >= beforeMs) return
      this.#batches.shift()
      oldest.keys.gallIds.forEach((gallId, i) => {
        const postNo = oldest.keys.postNo[i] as number
        // A post that came back and left again has a younger tombstone.
        if (this.#leftAtMs.get(gallId)?.get(postNo) === oldest.leftAtMs) this.#delete(gallId, postNo)
      })
    }
  }

  #delete(gallId: string, postNo: number): void {
    const posts = this.#leftAtMs.get(gallId)
    posts?.delete(postNo)
    if (posts?.size === 0) this.#leftAtMs.delete(gallId)
  }
}
