/**
 * The key of an image in its path: `/v1/images/{gall_id}/{post_no}/{NN}` (decisions.md 26, 37 and 38).
 */
import { Problems } from '../contract/index.js'
import type { ImageKey } from '../store/index.js'

/** Parses the raw, percent-encoded segments. Throws `bad_request` with a field for each that is malformed. */
export function parseImagePath(segments: readonly string[]): ImageKey {
  const [gallId, postNo, position] = segments.map(decodeSegment)
  const problems = new Problems()
  if (gallId === undefined) problems.add('gall_id', 'must be valid percent-encoded UTF-8')
  else if (gallId === '') problems.add('gall_id', 'must not be empty')
  if (!/^[1-9]\d*$/.test(postNo ?? '') || !Number.isSafeInteger(Number(postNo))) {
    problems.add('post_no', 'must be an integer from 1 to 9007199254740991 without leading zeros')
  }
  if (!/^\d{2,}$/.test(position ?? '') || Number(position) < 1 || !Number.isSafeInteger(Number(position))) {
    problems.add('NN', 'must be a position of at least two digits, from 01 to 9007199254740991')
  }
  if (problems.count > 0) throw problems.toError('bad_request', 'the path is not valid')
  return { gallId: gallId as string, postNo: Number(postNo), position: Number(position) }
}

/** What uWebSockets.js puts where a path holds bytes that are no UTF-8: two such paths would look the same. */
const undecoded = '\ufffd'

/** The text of a path segment; undefined when its bytes or its percent escapes are malformed or no UTF-8. */
export function decodeSegment(segment: string): string | undefined {
  if (segment.includes(undecoded)) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
