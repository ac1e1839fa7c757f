/**
 * Tombstones: posts that left the pool in the last seven days. They distinguish engagement of a removed post from
 * engagement of a post never seen (docs/contract.md, The pending pool).
 *
 *   departures   | left at 12:00: g/7, g/9 | left at 12:05: h/2, g/7 |   the oldest expire first
 *   newest       g/9 → 12:00, h/2 → 12:05, g/7 → 12:05                   a post that left twice has one tombstone
 */
import { dayMs } from '../base/index.js'
import { assert } from '../contract/index.js'
import { gallIdAt, PostMap, type PostKeys } from './post-map.js'

/** Age at which a tombstone expires, by cycle time. */
export const tombstoneAgeMsMax = 7 * dayMs

/**
 * Posts in the departures that are kept: those of 100 days at the contract's volumes. Without a bound, a client that
 * sends and removes posts with the same calls fills the memory.
 */
const departedPostsMax = 250_000

/** Posts that left with one cycle. */
export interface Departure {
  readonly posts: PostKeys
  readonly leftAtMs: number
}

export class Tombstones {
  /** The newest departure of each post, by gall_id. */
  readonly #newest = new PostMap<string, Departure>()
  /** The expiry queue, in order of time. It keeps posts that entered again until their departure expires. */
  readonly #departures: Departure[] = []
  /** Posts in `#departures`. */
  #departedPosts = 0

  /** The tombstones at `nowMs`. Of the departures, from the newest back, it reads those that are kept and one more. */
  static at(nowMs: number, newestFirst: Iterable<Departure>): Tombstones {
    const kept: Departure[] = []
    let departedPosts = 0
    for (const departure of newestFirst) {
      departedPosts += departure.posts.postNo.length
      if (!isKept(departure, nowMs, departedPosts)) break
      kept.push(departure)
    }
    const tombstones = new Tombstones()
    for (const { posts, leftAtMs } of kept.reverse()) tombstones.add(posts, leftAtMs)
    return tombstones
  }

  /** Number of galleries that have tombstones. */
  get galleryCount(): number {
    return this.#newest.galleryCount
  }

  has(gallId: string, postNo: number): boolean {
    return this.#newest.get(gallId, postNo) !== undefined
  }

  /** Adds posts that left at `leftAtMs`, which is never earlier than in a call before. Expires what is then not kept. */
  add(posts: PostKeys, leftAtMs: number): void {
    assert(!((this.#departures.at(-1)?.leftAtMs ?? -Infinity) > leftAtMs), 'times of departure never fall')
    const { postNo } = posts
    if (postNo.length > 0) {
      const departure = { posts, leftAtMs }
      this.#departures.push(departure)
      this.#departedPosts += postNo.length
      for (let i = 0; i < postNo.length; i++) this.#newest.set(gallIdAt(posts, i), postNo[i]!, departure)
    }
    this.#expire(leftAtMs)
  }

  /** Deletes the tombstones of posts that entered again. */
  delete(posts: PostKeys): void {
    for (let i = 0; i < posts.postNo.length; i++) this.#newest.delete(gallIdAt(posts, i), posts.postNo[i]!)
  }

  /** A post that left again after its oldest departure keeps its tombstone. */
  #expire(nowMs: number): void {
    let expired = 0
    for (const departure of this.#departures) {
      if (isKept(departure, nowMs, this.#departedPosts)) break
      expired++
      const { postNo } = departure.posts
      this.#departedPosts -= postNo.length
      for (let i = 0; i < postNo.length; i++) {
        const gallId = gallIdAt(departure.posts, i)
        if (this.#newest.get(gallId, postNo[i]!) === departure) this.#newest.delete(gallId, postNo[i]!)
      }
    }
    this.#departures.splice(0, expired)
  }
}

/**
 * `departedPosts`: posts that left with this departure and the later ones. Depends on departures alone, not on when this
 * process started: a plan is the same whenever it is made.
 */
function isKept({ leftAtMs }: Departure, nowMs: number, departedPosts: number): boolean {
  return leftAtMs >= nowMs - tombstoneAgeMsMax && departedPosts <= departedPostsMax
}
