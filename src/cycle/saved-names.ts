/**
 * Names of posts: keys for maps and sets of posts that outlive one state's gallery codes, and the names in the records
 * of saved-state.ts.
 */
import { unpackTable } from '../codec/index.js'

/** A post's name. `postNo` is a number, so names are unique whatever `gallId` contains. */
export function postName(gallId: string, postNo: number): string {
  return `${gallId}/${postNo}`
}

/** Names of the posts of an `entered` or a `left` record, by row; none where there is no record. */
export function savedNames(packed: Uint8Array | null | undefined): string[] {
  if (packed === null || packed === undefined) return []
  const { header, columns } = unpackTable(packed)
  const { galleries = [] } = header as { galleries?: readonly string[] }
  const [codes, postNo] = columns
  return Array.from(codes ?? [], (code, row) => postName(galleries[code] ?? '', postNo?.[row] ?? 0))
}
