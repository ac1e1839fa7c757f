/**
 * The title of a candidate, cut out of the request: parsing whole candidates, with their bodies, would take as long as the
 * rest of a cycle's packing.
 */
import { textFingerprint } from '../codec/index.js'
import type { Candidate, CandidateColumns, TextColumns } from '../contract/index.js'

const key = Buffer.from('"title"')
const colon = 0x3a
const quote = 0x22
const backslash = 0x5c

/** `row`: of the candidates of the request `json`. */
export function candidateTitle(json: Uint8Array, candidates: CandidateColumns, row: number): string {
  const { buffer, byteOffset } = json
  const start = candidates.rowStart[row]!
  const record = Buffer.from(buffer, byteOffset + start, candidates.rowEnd[row]! - start)
  const found = findTitle(record)
  // It may be a member of a nested object, or one that a later member replaces.
  if (found !== null && isTitle(found, candidates.title, row)) return found
  return (JSON.parse(record.toString()) as Candidate).title
}

/** The string after the first `"title":` of a JSON object; null if there is none, as for a key with escapes. */
function findTitle(record: Buffer): string | null {
  const at = record.indexOf(key)
  if (at < 0) return null
  let start = skipSpace(record, at + key.length)
  if (record[start] !== colon) return null
  start = skipSpace(record, start + 1)
  if (record[start] !== quote) return null
  for (let end = record.indexOf(quote, start + 1); end > 0; end = record.indexOf(quote, end + 1))
    if (!isEscaped(record, end)) return JSON.parse(record.toString('utf8', start, end + 1)) as string
  return null
}

function isTitle(text: string, titles: TextColumns, row: number): boolean {
  const { low, high } = textFingerprint(text)
  return low === titles.fingerprintLow[row] && high === titles.fingerprintHigh[row]
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
