// The digest of the pending posts, as `understudy pool --digest` prints it.
import { createHash } from 'node:crypto'

const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** `pending`: [gall_id, post_no] of each pending post, in any order. */
export function poolDigest(pending) {
  const hashes = pending.map(([gallId, postNo]) => sha256(`${gallId}/${postNo}`))
  return sha256(hashes.sort().join(''))
}
