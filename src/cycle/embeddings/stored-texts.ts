/**
 * Texts of posts in the store: the keys of their vectors, and the candidates as they arrived, cut out of stored requests.
 */
import { unpackTable } from '../../codec/index.js'
import type { Store } from '../../store/index.js'
import { unpackRequest } from '../request-body.js'

/** Columns of an `entered` record that give the byte range of a row in the request (see saved-state.ts). */
const rowStartColumn = 2
const rowEndColumn = 3

/** The key of a text's vector, 8 bytes. `row`: the place among the posts that entered with the cycle at `position`. */
export function textKey(position: number, row: number): Uint8Array {
  const key = Buffer.alloc(8)
  key.writeUInt32BE(position, 0)
  key.writeUInt32BE(row, 4)
  return key
}

/** Raw JSON objects of `rows`, which are places among the posts that entered with the cycle at `position`. */
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
