/**
 * Parses the key of an image from its path, `/v1/images/{gall_id}/{post_no}/{NN}`, and checks the form of the hash in its
 * header (docs/contract.md).
 */
import { isWithinChars, nameCharsMax, Problems } from '../contract/index.js'
import type { ImageKey } from '../store/index.js'

/**
 * The key in the raw, percent-encoded segments. `claimedSha256`: the value of `X-Content-SHA256`, if sent. Throws
 * `bad_request` with a field for each malformed part.
 */
export function parseImageKey(segments: readonly string[], claimedSha256: string | undefined): ImageKey {
  const [gallId, postNo, position] = segments.map(decodeSegment)
  const problems = new Problems()
  if (gallId === undefined) problems.add('gall_id', 'must be valid percent-encoded UTF-8')
  else if (gallId === '') problems.add('gall_id', 'must not be empty')
  else if (!isWithinChars(gallId, nameCharsMax))
    problems.add('gall_id', `must not have more than ${nameCharsMax} characters`)
  if (!/^[1-9]\d*$/.test(postNo ?? '') || !Number.isSafeInteger(Number(postNo))) {
    problems.add('post_no', 'must be an integer from 1 to 9007199254740991 without leading zeros')
  }
  if (!/^\d{2,}$/.test(position ?? '') || Number(position) < 1 || !Number.isSafeInteger(Number(position))) {
    problems.add('NN', 'must be a position of at least two digits, from 01 to 9007199254740991')
  }
  if (claimedSha256 !== undefined && !/^[0-9a-f]{64}$/.test(claimedSha256)) {
    problems.add('X-Content-SHA256', 'must be 64 lowercase hex characters')
  }
  if (problems.count > 0) throw problems.toError('invalid_image_path')
  return { gallId: gallId!, postNo: Number(postNo), position: Number(position) }
}

/** The key in the segments, whatever the headers are; null for a malformed one. */
export function imageKeyIn(segments: readonly string[]): ImageKey | null {
  try {
    return parseImageKey(segments, undefined)
  } catch {
    return null
  }
}

/** uWebSockets.js replaces bytes that are not UTF-8 with this character: two such paths would look the same. */
const undecoded = '\ufffd'

/** The text of a path segment; undefined if its bytes or percent escapes are malformed or not UTF-8. */
export function decodeSegment(segment: string): string | undefined {
  if (segment.includes(undecoded)) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
