/**
 * The title of a candidate, cut out of the request: parsing whole candidates, with their bodies, would take as long as the
 * rest of a cycle's packing.
 */
import type { Candidate, CandidateColumns } from '../contract/index.js'

const key = Buffer.from('"title"')
const colon = 0x3a
const quote = 0x22
const backslash = 0x5c

/** `row`: of the candidates of the request `json`. */
export function candidateTitle(json: Uint8Array, candidates: CandidateColumns, row: number): string {
  const { buffer, byteOffset } = json
  const start = candidates.rowStart[row]!
  const record = Buffer.from(buffer, byteOffset + start, candidates.rowEnd[row]! - start)
  const title = findTitle(record)
  // A member of a nested object, or one that a later member replaces, has another length, or occurs beside the title.
  if (title !== null && codePointCount(title) === candidates.title.chars[row]) return title
  return (JSON.parse(record.toString()) as Candidate).title
}

/** The string after the only `"title":` of a JSON object; null if there are more, and for a key with escapes. */
function findTitle(record: Buffer): string | null {
  const at = record.indexOf(key)
  if (at < 0 || record.indexOf(key, at + key.length) >= 0) return null
  let start = skipSpace(record, at + key.length)
  if (record[start] !== colon) return null
  start = skipSpace(record, start + 1)
  if (record[start] !== quote) return null
  for (let end = record.indexOf(quote, start + 1); end > 0; end = record.indexOf(quote, end + 1))
    if (!isEscaped(record, end)) return JSON.parse(record.toString('utf8', start, end + 1)) as string
  return null
}

/** Without an array of them. */
function codePointCount(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) count++
  return count
}

function skipSpace(record: Buffer, from: number): number {
  let at = from
  while (record[at]! <= 0x20) at++
  return at
}

/** An odd number of backslashes stands before it. */
function isEscaped(record: Buffer, at: number): boolean {
  let before = at
  while (record[before - 1] === backslash) before--
  return (at - before) % 2 === 1
}
