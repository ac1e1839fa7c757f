/**
 * Tombstones: which posts were pending once and are not any more, for seven days. They tell engagement of a removed
 * post from that of a post never seen (decisions.md 16). There may be millions of them: some 23 bytes each, in arrays;
 * the place in the queue of a post that came back is empty until its seven days are over.
 *
 *   batches     | left at 12:00, 2 keys | left at 12:05, 3 keys     |   the oldest is forgotten first
 *   key queue   | (blank)   | g/9       | h/2   | g/7   | (blank)   |   blank: revived since, or buried again, as g/7
 *   key table   g/9 → its row, h/2 → …      what is remembered, each key once
 */
import { KeyQueue } from './key-queue.js'
import { KeyTable } from './key-table.js'

/** How long a removed post is remembered, by cycle time. */
export const tombstoneAgeMsMax = 7 * 24 * 3_600_000

/** Keys of posts that outlive the codes of a state: `gallery` indexes `galleries`, which holds each id once. */
export interface KeyList {
  readonly galleries: readonly string[]
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
}

/** A gallery that has tombstones. */
interface Gallery {
  readonly gallId: string
  /** Stands for the id in the queue. */
  readonly code: number
  /** Tombstones. */
  count: number
  /** No number above it was ever here: a gallery counts its posts up, so that new ones need not be looked for. */
  postNoMax: number
}

export class Tombstones {
  /** Removals of one time each, in order, so that the oldest are forgotten first. */
  readonly #batches: { readonly leftAtMs: number; count: number }[] = []
  readonly #queue = new KeyQueue()
  readonly #table: KeyTable
  /** By gall_id, and by code; null where a code is not in use. */
  readonly #galleries = new Map<string, Gallery>()
  readonly #byCode: (Gallery | null)[] = []
  readonly #unusedCodes: number[] = []

  /** `hashSeed`, of 32 bits: no client that does not know it can make up posts that are slow to find. */
  constructor(hashSeed = 0) {
    this.#table = new KeyTable(this.#queue, hashSeed)
  }

  /** Bytes of the arrays: what the galleries take, and the batches, comes on top. */
  get bytes(): number {
    return this.#queue.bytes + this.#table.bytes
  }

  /** How many galleries have tombstones. */
  get galleryCount(): number {
    return this.#galleries.size
  }

  has(gallId: string, postNo: number): boolean {
    return this.#find(this.#galleries.get(gallId), postNo) >= 0
  }

  /** The posts left at `leftAtMs`, which is not before any earlier call's. Forgets what has become too old by then. */
  bury({ galleries, gallery, postNo }: KeyList, leftAtMs: number): void {
    const buried: (Gallery | undefined)[] = []
    for (let i = 0; i < postNo.length; i++) {
      const code = gallery[i] as number
      const ofGallery = (buried[code] ??= this.#galleryOf(galleries[code] as string))
      this.#bury(ofGallery, postNo[i] as number)
      this.#batchAt(leftAtMs).count++
    }
    this.#forget(leftAtMs - tombstoneAgeMsMax)
  }

  /** The posts are pending again. */
  revive({ galleries, gallery, postNo }: KeyList): void {
    const buried = galleries.map((gallId) => this.#galleries.get(gallId))
    for (let i = 0; i < postNo.length; i++) {
      const row = this.#find(buried[gallery[i] as number], postNo[i] as number)
      if (row >= 0) this.#remove(row)
    }
  }

  #find(gallery: Gallery | undefined, postNo: number): number {
    if (gallery === undefined || postNo > gallery.postNoMax) return -1
    return this.#table.find(gallery.code, postNo)
  }

  #bury(gallery: Gallery, postNo: number): void {
    const before = this.#find(gallery, postNo)
    const row = this.#queue.add(gallery.code, postNo)
    if (before >= 0) this.#clear(before)
    else gallery.count++
    this.#table.add(row)
    gallery.postNoMax = Math.max(gallery.postNoMax, postNo)
  }

  #batchAt(leftAtMs: number): { count: number } {
    const newest = this.#batches.at(-1)
    if (newest?.leftAtMs === leftAtMs) return newest
    const batch = { leftAtMs, count: 0 }
    this.#batches.push(batch)
    return batch
  }

  #forget(beforeMs: number): void {
    for (;;) {
      const oldest = this.#batches[0]
      if (oldest === undefined || oldest.leftAtMs >= beforeMs) return
      this.#batches.shift()
      for (let i = 0; i < oldest.count; i++) {
        const row = this.#queue.oldest
        if (!this.#queue.isBlank(row)) this.#remove(row)
        this.#queue.dropOldest()
      }
    }
  }

  #remove(row: number): void {
    const gallery = this.#byCode[this.#queue.gallery(row)] as Gallery
    this.#clear(row)
    if (--gallery.count === 0) this.#dropGallery(gallery)
  }

  #clear(row: number): void {
    this.#table.remove(row)
    this.#queue.blank(row)
  }

  #galleryOf(gallId: string): Gallery {
    return this.#galleries.get(gallId) ?? this.#addGallery(gallId)
  }

  #addGallery(gallId: string): Gallery {
    const code = this.#unusedCodes.pop() ?? this.#byCode.length
    const gallery = { gallId, code, count: 0, postNoMax: 0 }
    this.#galleries.set(gallId, gallery)
    this.#byCode[code] = gallery
    return gallery
  }

  #dropGallery({ gallId, code }: Gallery): void {
    this.#galleries.delete(gallId)
    this.#byCode[code] = null
    this.#unusedCodes.push(code)
    if (this.#galleries.size > 0) return
    // Both lists are as long as they ever were.
    this.#byCode.length = 0
    this.#unusedCodes.length = 0
  }
}
