/**
 * What a cycle stores of the changes of the pool:
 *
 *   entered  columns of the posts that entered with one cycle: key, byte range in the request, what never changes
 *   left     keys of the posts that left with one cycle, with reason, tier and times
 */
import { packTable, unpackTable, type PackedTable } from '../codec/index.js'
import type { CycleColumns, PostColumns } from '../contract/index.js'
import { listPostColumns, postColumnsOf, type Column, type CyclePlan, type PostKeys } from '../pool/index.js'
import { StoreError } from '../store/index.js'

/** A post's name. `postNo` is a number, so names are unique whatever `gallId` contains. */
export function postName(gallId: string, postNo: number): string {
  return `${gallId}/${postNo}`
}

/** Names of the posts of an `entered` or a `left` record, by row; none if there is no record. */
export function savedNames(packed: Uint8Array | null | undefined): string[] {
  if (packed === null || packed === undefined) return []
  const { header, columns } = unpackTable(packed)
  const { galleries = [] } = header as { galleries?: readonly string[] }
  const [codes, postNo] = columns
  return Array.from(codes ?? [], (code, row) => postName(galleries[code] ?? '', postNo?.[row] ?? 0))
}

/** The posts of a record, by row. */
export interface SavedPosts {
  readonly gallIds: readonly string[]
  readonly postNo: Float64Array
}

/** The posts that entered with a cycle; a row is also a slice of the body. */
export interface SavedEntries extends SavedPosts {
  readonly rowStart: Float64Array
  readonly rowEnd: Float64Array
  readonly posts: PostColumns
}

/** The posts that left with a cycle; `reason` and `tier` are codes. */
export interface SavedDepartures extends SavedPosts {
  readonly reason: Float64Array
  readonly tier: Float64Array
  readonly decidedAtMs: Float64Array
  /** Keys of the same posts, and when they left by the time of the pool. */
  readonly posts: PostKeys
  readonly leftAtMs: number
}

/** The posts of an `entered` record; null if there is no record. */
export function savedEntries(packed: Uint8Array | undefined): SavedEntries | null {
  if (packed === undefined) return null
  const { gallIds, columns } = openPosts(packed, 'entered')
  const [postNo, rowStart, rowEnd, ...posts] = columns
  if (postNo === undefined || rowStart === undefined || rowEnd === undefined)
    fail('the entered record has too few columns')
  return { gallIds, postNo, rowStart, rowEnd, posts: postColumnsOf(posts) }
}

/** The posts of a `left` record; null if there is no record. */
export function savedDepartures(packed: Uint8Array | undefined): SavedDepartures | null {
  if (packed === undefined) return null
  const { header, gallery, gallIds, columns } = openPosts(packed, 'left')
  const { galleries = [], leftAtMs } = header
  const [postNo, reason, tier, decidedAtMs] = columns
  if (postNo === undefined || reason === undefined || tier === undefined || decidedAtMs === undefined)
    fail('the left record has too few columns')
  if (leftAtMs === undefined) fail('the left record has no time')
  const posts = { galleries, gallery: Uint32Array.from(gallery), postNo }
  return { gallIds, postNo, reason, tier, decidedAtMs, posts, leftAtMs }
}

/** Version of both layouts above. */
const layout = 1

export interface SavedCycle {
  readonly entered: Uint8Array | null
  readonly left: Uint8Array | null
}

/** The records of a cycle. */
export function saveCycle(cycle: CycleColumns, plan: CyclePlan): SavedCycle {
  return {
    entered: saveEntered(cycle, plan),
    left: saveLeft(cycle, plan),
  }
}

interface Header {
  readonly layout: number
  readonly galleries?: readonly string[]
  readonly leftAtMs?: number
}

type Saved = PackedTable & { readonly header: Header }

function open(packed: Uint8Array, what: string): Saved {
  const table = unpackTable(packed)
  const header = table.header as Header
  if (header.layout !== layout) fail(`the ${what} record has layout ${header.layout}, not ${layout}`)
  return { ...table, header }
}

/** Gallery ids by row, and the columns after that of the galleries. */
function openPosts(
  packed: Uint8Array,
  what: string,
): Saved & { readonly gallery: Float64Array; readonly gallIds: readonly string[] } {
  const saved = open(packed, what)
  const [gallery = new Float64Array(0), ...columns] = saved.columns
  const gallIds = Array.from(gallery, (code) => saved.header.galleries?.[code] ?? '')
  return { ...saved, gallery, gallIds, columns }
}

function fail(message: string): never {
  throw new StoreError('unusable', message)
}

function saveEntered({ candidates }: CycleColumns, { entries }: CyclePlan): Uint8Array | null {
  const rows = entries.enteredRows
  if (rows.length === 0) return null
  const { galleries, gallery } = entries.entered
  const { postNo, rowStart, rowEnd } = candidates
  const columns = selectRows([postNo, rowStart, rowEnd, ...listPostColumns(candidates)], rows)
  return packTable({ layout, galleries }, rows.length, [new Float64Array(gallery), ...columns])
}

function saveLeft({ removals }: CycleColumns, { entries, leftAtMs }: CyclePlan): Uint8Array | null {
  const rows = entries.leftRows
  if (rows.length === 0) return null
  const { galleries, gallery } = entries.left
  const { postNo, reason, tier, decidedAtMs } = removals
  const columns = selectRows([postNo, reason, tier, decidedAtMs], rows)
  return packTable({ layout, galleries, leftAtMs }, rows.length, [new Float64Array(gallery), ...columns])
}

/** The values of `rows`, in each column. */
function selectRows(columns: readonly Column[], rows: Uint32Array): Float64Array[] {
  return columns.map((column) => {
    // A loop: `Float64Array.from` allocates an object for each value.
    const selected = new Float64Array(rows.length)
    for (let i = 0; i < rows.length; i++) selected[i] = column[rows[i] as number] as number
    return selected
  })
}
