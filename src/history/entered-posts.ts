/**
 * Where a post's recorded JSON lies: the cycle with which it entered, and its row among those that entered then.
 */
import { postName, savedNames } from '../cycle/index.js'
import type { Position, Store } from '../store/index.js'

/** A post that was pending when the cycle at `position` was scored. */
export interface PendingPost {
  readonly gallId: string
  readonly postNo: number
  readonly position: Position
}

export interface EntryPlace {
  readonly position: Position
  readonly row: number
}

/** Rows, by name, of the posts that entered with the cycle at `position`. */
export function enteredRows(store: Store, position: Position): Map<string, number> {
  return new Map(savedNames(store.readEntered(position)).map((name, row) => [name, row]))
}

/**
 * For each post, its latest entry by the time of its cycle; undefined where the store has none. Read backwards, as far
 * as needed: a post may leave and come again.
 */
export function findEntries(store: Store, posts: readonly PendingPost[]): (EntryPlace | undefined)[] {
  const places: (EntryPlace | undefined)[] = posts.map(() => undefined)
  let missing = [...posts.keys()]
  const last = posts.reduce((max, { position }) => Math.max(max, position), 0)
  for (let position = last; position > 0 && missing.length > 0; position--) {
    const rows = enteredRows(store, position)
    if (rows.size === 0) continue
    missing = missing.filter((index) => {
      const post = posts[index] as PendingPost
      const row = post.position >= position ? rows.get(postName(post.gallId, post.postNo)) : undefined
      if (row === undefined) return true
      places[index] = { position, row }
      return false
    })
  }
  return places
}
