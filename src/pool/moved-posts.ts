/**
 * The pool after entries and departures: its keys, and what stays the same of each post from its entry on.
 */
import type { CycleColumns } from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import { joinPosts } from './columns.js'
import type { Entries } from './entries.js'
import { SlotIndex } from './key-index.js'
import type { PoolKeys, PoolState } from './state.js'
import { source } from './stretches.js'

/** Gallery codes of a state for the codes of the request. Galleries that the state lacks get codes past its own. */
export function codesIn(galleries: readonly string[], requested: readonly string[]): Uint32Array {
  const known = new Map<string, number>()
  galleries.forEach((id, code) => known.set(id, code))
  const codes = new Uint32Array(requested.length)
  requested.forEach((id, index) => (codes[index] = known.get(id) ?? galleries.length + index))
  return codes
}

export interface MovedKeys extends PoolKeys {
  readonly galleries: readonly string[]
  /** As `codesIn` gives them for the galleries above. */
  readonly codes: Uint32Array
}

/** `codesBefore`: gallery codes of the pool, as it is, for the codes of the request. */
export function moveKeys(
  pool: PoolState,
  { candidates, galleries: requested }: CycleColumns,
  { moved, keptCount, enteredRows }: Entries,
  codesBefore: Uint32Array,
  memory: ColumnMemory,
): MovedKeys {
  const galleries = new MovedGalleries(pool.galleries, requested)
  const gallery = memory.uint32(moved.count)
  for (let i = 0; i < moved.stretchCount; i++) {
    const { from, start, at, end } = moved.stretch(i)
    if (from === source.first) galleries.renumber(pool.gallery, start, gallery, at, end)
  }
  for (let i = 0; i < enteredRows.length; i++) {
    const request = candidates.gallery[enteredRows[i] as number] as number
    gallery[keptCount + i] = galleries.code(codesBefore[request] as number)
  }
  const postNo = moved.float64(pool.postNo, candidates.postNo, memory)
  return {
    count: moved.count,
    galleries: galleries.ids,
    gallery,
    postNo,
    index: new SlotIndex(gallery, postNo, pool.factors, memory),
    factors: pool.factors,
    codes: galleries.codesOf(codesBefore),
  }
}

/** Galleries of the posts that stay and enter, in order of appearance: nothing is retained of others. */
class MovedGalleries {
  readonly ids: string[] = []
  readonly #before: readonly string[]
  readonly #requested: readonly string[]
  /** New codes by codes before, among which those of `codesIn`; -1 while there is none. */
  readonly #codes: Int32Array

  constructor(before: readonly string[], requested: readonly string[]) {
    this.#before = before
    this.#requested = requested
    this.#codes = new Int32Array(before.length + requested.length).fill(-1)
  }

  /** The new code for a code before. */
  code(before: number): number {
    const known = this.#codes[before] as number
    return known >= 0 ? known : this.#add(before)
  }

  /** Puts the new codes of `before`, from row `start` on, into rows `at` to before `end` of `after`. */
  renumber(before: Uint32Array, start: number, after: Uint32Array, at: number, end: number): void {
    const codes = this.#codes
    for (let row = at; row < end; row++) {
      const code = before[start + row - at] as number
      const known = codes[code] as number
      after[row] = known >= 0 ? known : this.#add(code)
    }
  }

  /** New codes of the request's galleries for their codes before. */
  codesOf(codesBefore: Uint32Array): Uint32Array {
    return codesBefore.map((before, request) => {
      const known = this.#codes[before] as number
      return known >= 0 ? known : this.ids.length + request
    })
  }

  #add(before: number): number {
    const requested = before - this.#before.length
    const id = requested < 0 ? this.#before[before] : this.#requested[requested]
    return (this.#codes[before] = this.ids.push(id as string) - 1)
  }
}

/** What stays the same of each post from its entry on. */
export function movePosts(
  pool: PoolState,
  { candidates }: CycleColumns,
  { moved, keptCount }: Entries,
  position: number,
  memory: ColumnMemory,
): Pick<PoolState, 'enteredPosition' | 'enteredRow' | 'posts'> {
  // What the candidates' numbers put behind the kept rows is written over.
  const enteredPosition = moved.float64(pool.enteredPosition, candidates.postNo, memory)
  const enteredRow = moved.float64(pool.enteredRow, candidates.postNo, memory)
  enteredPosition.fill(position, keptCount)
  for (let slot = keptCount; slot < moved.count; slot++) enteredRow[slot] = slot - keptCount
  return { enteredPosition, enteredRow, posts: joinPosts(pool.posts, candidates, moved, memory) }
}
