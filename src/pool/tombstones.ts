/**
 * Tombstones: which posts were pending once and are not any more, for seven days. They tell engagement of a removed
 * post from that of a post never seen (decisions.md 16).
 */

/** How long a removed post is remembered, by cycle time. */
export const tombstoneAgeMsMax = 7 * 24 * 3_600_000

/** Keys of posts that outlive the codes of a state: `gallery` indexes `galleries`, which holds each id once. */
export interface KeyList {
  readonly galleries: readonly string[]
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
}

/** Tombstones of one gallery. */
interface Buried {
  /** post_no → when it left (cycle time, never falling). */
  readonly leftAtMs: Map<number, number>
  /** No number above it was ever here: a gallery counts its posts up, so that new ones need not be looked for. */
  postNoMax: number
}

export class Tombstones {
  /** By gall_id. */
  readonly #galleries = new Map<string, Buried>()
  /** Removals in order, so that the oldest are forgotten first. */
  readonly #batches: { readonly leftAtMs: number; readonly keys: KeyList }[] = []

  has(gallId: string, postNo: number): boolean {
    return this.#galleries.get(gallId)?.leftAtMs.has(postNo) ?? false
  }

  /** The posts left at `leftAtMs`, which is not before any earlier call's. Forgets what has become too old by then. */
  bury(keys: KeyList, leftAtMs: number): void {
    const { galleries, gallery, postNo } = keys
    const buried = galleries.map((gallId) => this.#buriedIn(gallId))
    for (let i = 0; i < postNo.length; i++) {
      const ofGallery = buried[gallery[i] as number] as Buried
      ofGallery.leftAtMs.set(postNo[i] as number, leftAtMs)
      ofGallery.postNoMax = Math.max(ofGallery.postNoMax, postNo[i] as number)
    }
    if (postNo.length > 0) this.#batches.push({ leftAtMs, keys })
    this.#forget(leftAtMs - tombstoneAgeMsMax)
  }

  /** The posts are pending again. */
  revive(keys: KeyList): void {
    this.#delete(keys, null)
  }

  #forget(beforeMs: number): void {
    for (;;) {
      const oldest = this.#batches[0]
      if (oldest === undefined || oldest.leftAtMs >= beforeMs) return
      this.#batches.shift()
      this.#delete(oldest.keys, oldest.leftAtMs)
    }
  }

  /** With a time, younger tombstones stay: they are of posts that came back and left again. */
  #delete({ galleries, gallery, postNo }: KeyList, leftAtMs: number | null): void {
    const buried = galleries.map((gallId) => this.#galleries.get(gallId))
    for (let i = 0; i < postNo.length; i++) {
      const ofGallery = buried[gallery[i] as number]
      const post = postNo[i] as number
      if (ofGallery === undefined || post > ofGallery.postNoMax) continue
      if (leftAtMs === null || ofGallery.leftAtMs.get(post) === leftAtMs) ofGallery.leftAtMs.delete(post)
    }
    galleries.forEach((gallId, code) => {
      if (buried[code]?.leftAtMs.size === 0) this.#galleries.delete(gallId)
    })
  }

  #buriedIn(gallId: string): Buried {
    const known = this.#galleries.get(gallId)
    if (known !== undefined) return known
    const buried: Buried = { leftAtMs: new Map(), postNoMax: 0 }
    this.#galleries.set(gallId, buried)
    return buried
  }
}
