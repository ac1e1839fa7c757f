/**
 * Limits on the cost of parsing a JSON body: its depth, and its number of arrays and objects. They are counted over bytes
 * before JSON.parse allocates anything; in a body that is not JSON, the count is right up to the first error.
 */
import { jsonContainerCountMax, jsonDepthMax, ServiceError } from '../contract/index.js'

const quote = 0x22
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
/** The bit that distinguishes `{` and `}` from `[` and `]`: without it, these two pairs of bytes, and no others, are equal. */
const braceBit = 0x20

/** Throws `bad_request` with the byte offset where a body nests too deep or has too many arrays and objects. */
export function checkJsonBounds(body: Buffer): void {
  let depth = 0
  let containerCount = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (byte === quote) {
      at = closingQuote(body, at)
      continue
    }
    const bracket = byte & ~braceBit
    if (bracket === openBracket) {
      depth++
      containerCount++
      if (depth > jsonDepthMax)
        throw new ServiceError({ code: 'json_too_deep', levels_max: jsonDepthMax, byte: at })
      if (containerCount > jsonContainerCountMax) {
        const code = 'too_many_containers'
        throw new ServiceError({ code, containers_max: jsonContainerCountMax, byte: at })
      }
    } else if (bracket === closeBracket) depth--
  }
}

/** Longest run that is scanned byte by byte: most strings of a body are shorter, and a native call costs as much. */
const shortStringBytes = 24

/** The offset of the quote that closes the string which opens at `open`; the length of `body` if none does. */
export function closingQuote(body: Buffer, open: number): number {
  let at = open + 1
  for (const end = Math.min(at + shortStringBytes, body.length); at < end; at++) {
    const byte = body[at]
    if (byte === quote) return at
    if (byte === backslash) break
  }
  // From here on by native search. A quote after an odd number of backslashes is escaped; the count never goes back
  // over the byte where the search began, so that each backslash is counted once.
  for (;;) {
    const from = at
    at = body.indexOf(quote, from)
    if (at < 0) return body.length
    let slashes = 0
    while (at - 1 - slashes >= from && body[at - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return at
    at++
  }
}
