/**
 * The id that a body states where one mostly stands: right at its start, or at its end. Good for asking whether such a
 * cycle is known, and for nothing more: only decoding tells what a body means.
 */

const bytesMax = 64
const atStart = /^\s*\{\s*"cycle_id"\s*:\s*"(\d{8}T\d{4})"/
const atEnd = /"cycle_id"\s*:\s*"(\d{8}T\d{4})"\s*\}\s*$/

/** `json`: a body or its first bytes. Null where no id stands there. */
export function statedCycleId(json: Uint8Array): string | null {
  const text = Buffer.from(json.buffer, json.byteOffset, json.length)
  const [, first] = atStart.exec(text.toString('latin1', 0, bytesMax)) ?? []
  if (first !== undefined) return first
  const [, last] = atEnd.exec(text.toString('latin1', Math.max(0, json.length - bytesMax))) ?? []
  return last ?? null
}
