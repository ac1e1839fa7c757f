/**
 * Peeks at the cycle id of a body that is not decoded: at its very start or its very end, where clients write it. A
 * peeked id is only a hint for admission. The decoded id decides which cycle a body is.
 */

const bytesMax = 64
const atStart = /^\s*\{\s*"cycle_id"\s*:\s*"(\d{8}T\d{4})"/
const atEnd = /"cycle_id"\s*:\s*"(\d{8}T\d{4})"\s*\}\s*$/
const anywhere = /^"cycle_id"\s*:\s*"(\d{8}T\d{4})"/

/** `json`: a body or its first bytes. Null when no id is found. */
export function peekCycleId(json: Uint8Array): string | null {
  const text = Buffer.from(json.buffer, json.byteOffset, json.length)
  const [, first] = atStart.exec(text.toString('latin1', 0, bytesMax)) ?? []
  if (first !== undefined) return first
  const [, last] = atEnd.exec(text.toString('latin1', Math.max(0, json.length - bytesMax))) ?? []
  return last ?? null
}

/** The cycle id of a whole body, valid or not, for the log. Quotes in a string are escaped, so only a name is found. */
export function findCycleId(json: Uint8Array): string | null {
  const peeked = peekCycleId(json)
  if (peeked !== null) return peeked
  const text = Buffer.from(json.buffer, json.byteOffset, json.length)
  const start = text.indexOf('"cycle_id"')
  return start < 0 ? null : (anywhere.exec(text.toString('latin1', start, start + bytesMax))?.[1] ?? null)
}
