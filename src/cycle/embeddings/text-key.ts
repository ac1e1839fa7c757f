/**
 * What a text's vector is stored under: where its post entered.
 */

/** `row` is the place among the posts that entered with the cycle at `position`. 8 bytes. */
export function textKey(position: number, row: number): Uint8Array {
  const key = Buffer.alloc(8)
  key.writeUInt32BE(position, 0)
  key.writeUInt32BE(row, 4)
  return key
}
