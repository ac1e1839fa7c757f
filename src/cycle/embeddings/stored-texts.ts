/**
 * Texts of posts in the store: the keys of their vectors, and the candidates as they arrived, cut out of stored requests.
 */
import { readCycleTable } from '../../records/index.js'
import type { Store } from '../../store/index.js'
import { unpackRequest } from '../intake/index.js'

/** The key of a text's vector, 8 bytes. `row`: the place among the posts that entered with the cycle at `position`. */
export function textKey(position: number, row: number): Uint8Array {
  const key = Buffer.alloc(8)
  key.writeUInt32BE(position, 0)
  key.writeUInt32BE(row, 4)
  return key
}

/** Raw JSON objects of `rows`, which are rows among the candidates of the cycle at `position`. */
export async function readCandidates(
  store: Store,
  position: number,
  rows: readonly number[],
): Promise<Uint8Array[]> {
  const record = store.readRecord(position)
  const request = store.readRequest(position)
  if (record === undefined || request === undefined)
    throw new Error(`cycle ${position} is kept without its candidates`)
  const { row_start, row_end } = readCycleTable(record, 'candidates')
  const json = await unpackRequest(request)
  return rows.map((row) => json.subarray(row_start[row], row_end[row]))
}
