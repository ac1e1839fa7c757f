/**
 * The recorded request and response of a cycle, and where the entry records contain a post.
 */
import type { CycleResponse } from '../contract/index.js'
import { postName, savedNames, unpackRequest } from '../cycle/index.js'
import type { Position, Store } from '../store/index.js'

/** The body of the request at a position: JSON. Throws when it is missing or incomplete. */
export async function readBody(store: Store, position: Position): Promise<Uint8Array> {
  const request = store.readRequest(position)
  if (request === undefined) throw new Error(`the store has no request at position ${position}`)
  const json = await unpackRequest(request)
  if (json.length !== request.bodyBytes)
    throw new Error(`the request unpacks to ${json.length} bytes instead of ${request.bodyBytes}`)
  return json
}

/** The response of a cycle. Throws when the store does not have it. */
export function readResponse(store: Store, cycleId: string): CycleResponse {
  const bytes = store.readResponse(cycleId)
  if (bytes === undefined) throw new Error(`the store has no response of cycle ${cycleId}`)
  return JSON.parse(Buffer.from(bytes).toString()) as CycleResponse
}

/** A post that was pending when the cycle at `position` was scored. */
export interface PendingPost {
  readonly gallId: string
  readonly postNo: number
  readonly position: Position
}

/** The cycle with which a post entered, and its row among the posts that entered with it. */
export interface EntryPlace {
  readonly position: Position
  readonly row: number
}

/** Rows, by name, of the posts that entered with the cycle at `position`. */
export function enteredRows(store: Store, position: Position): Map<string, number> {
  return new Map(savedNames(store.readEntered(position)).map((name, row) => [name, row]))
}

/**
 * The latest entry of each post up to its cycle; undefined where the store has none. Reads backwards as far as
 * necessary, because a post may leave and enter again.
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
