/**
 * Candidates as they came: their JSON objects, cut out of the stored requests.
 */
import { unpackTable } from '../../codec/index.js'
import type { Store } from '../../store/index.js'
import { unpackRequest } from '../request-body.js'

/** Columns of an `entered` record that say where a row lies in the request (see saved-state.ts). */
const rowStartColumn = 2
const rowEndColumn = 3

/** JSON objects of `rows`, counted among the posts that entered with the cycle at `position`. */
export async function readCandidates(
  store: Store,
  position: number,
  rows: readonly number[],
): Promise<Uint8Array[]> {
  const packed = store.readEntered(position)
  const request = store.readRequest(position)
  if (packed === undefined || request === undefined)
    throw new Error(`cycle ${position} is kept without its candidates`)
  const { columns } = unpackTable(packed)
  const json = await unpackRequest(request)
  return rows.map((row) => json.slice(columns[rowStartColumn]?.[row], columns[rowEndColumn]?.[row]))
}
