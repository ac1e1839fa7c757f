/**
 * Peeks at the cycle id of a body that is not decoded: at its very start or its very end, where clients write it. A
 * peeked id is only a hint for admission. The decoded id decides which cycle a body is.
 */

const bytesMax = 64
const atStart = /^\s*\{\s*"cycle_id"\s*:\s*"(\d{8}T\d{4})"/
const atEnd = /"cycle_id"\s*:\s*"(\d{8}T\d{4})"\s*\}\s*$/

/** `json`: a body or its first bytes. Null when no id is found. */
export function peekCycleId(json: Uint8Array): string | null {
  const text = Buffer.from(json.buffer, json.byteOffset, json.length)
  const [, first] = atStart.exec(text.toString('latin1', 0, bytesMax)) ?? []
  if (first !== undefined) return first
  const [, last] = atEnd.exec(text.toString('latin1', Math.max(0, json.length - bytesMax))) ?? []
  return last ?? null
}
