/**
 * The keys of the next state: its galleries, and the gallery and post number of each slot.
 */
import { assert, type CycleColumns, type GalleryIds } from '../contract/index.js'
import { gatherFloat64, secondRow, type Sources } from './gather.js'
import { SlotIndex, type PoolKeys, type PoolState } from './state.js'

export interface NextKeys extends PoolKeys {
  readonly galleries: GalleryIds
  /** What `codesIn` returns for the galleries above. */
  readonly codes: Uint32Array
}

/** Gallery codes of a state for the codes of the request. Galleries that the state lacks get codes past its own. */
export function codesIn({ galleries, index }: PoolState, requested: GalleryIds): Uint32Array {
  return Uint32Array.from(requested, (id, request) => index.codeOf(id) ?? galleries.length + request)
}

/**
 * `sources`: by slot of the next state, its slot or candidate row. `codesBefore`: codes of `pool` for the codes of the
 * request. Galleries of posts that stay or enter get new codes in order of appearance; others are dropped.
 */
export function nextKeys(
  pool: PoolState,
  { candidates, galleries: requested }: CycleColumns,
  sources: Sources,
  codesBefore: Uint32Array,
): NextKeys {
  assert(codesBefore.length === requested.length, 'each gallery of a request has a code')
  const galleries: string[] = []
  /** New codes by codes of `codesBefore`; -1 if there is none yet. */
  const newCodes = new Int32Array(pool.galleries.length + requested.length).fill(-1)
  const { rows } = sources
  const gallery = new Uint32Array(rows.length)
  for (let slot = 0; slot < rows.length; slot++) {
    const source = rows[slot]!
    const before = (source >= 0 ? pool.gallery[source] : codesBefore[candidates.gallery[secondRow(source)]!])!
    if (newCodes[before] === -1) {
      const id = pool.galleries[before] ?? requested[before - pool.galleries.length]
      newCodes[before] = galleries.push(id!) - 1
    }
    gallery[slot] = newCodes[before]!
  }
  const codes = codesBefore.map((before, request) => {
    const code = newCodes[before]!
    return code >= 0 ? code : galleries.length + request
  })
  const postNo = gatherFloat64(sources, pool.postNo, candidates.postNo)
  const index = new SlotIndex({ galleries, gallery, postNo })
  return { count: rows.length, galleries, gallery, postNo, index, codes }
}
