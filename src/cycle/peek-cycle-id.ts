/**
 * Peeks at the cycle id of a body that is not decoded, wherever it is. A peeked id is only a hint: the decoded id determines
 * which cycle a body is.
 */

const name = '"cycle_id"'
const memberBytesMax = 64
const member = /^"cycle_id"\s*:\s*"(\d{8}T\d{4})"/

/**
 * `json`: a body or its first bytes. Null when no id is found. Quotes in a string are escaped, so `name` is found as a name
 * or as a whole string.
 */
export function peekCycleId(json: Uint8Array): string | null {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.length)
  const start = bytes.indexOf(name)
  if (start < 0) return null
  return member.exec(bytes.toString('latin1', start, start + memberBytesMax))?.[1] ?? null
}
