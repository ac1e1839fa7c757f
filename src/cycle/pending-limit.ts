/**
 * The limit of pending posts (docs/contract.md): each of them takes time in every cycle. A pool that is over the limit, as
 * after a change of the setting, still takes cycles that do not make it larger.
 */
import { Problems } from '../contract/index.js'
import type { CyclePlan } from '../pool/index.js'

/** Throws `unprocessable` if the cycle would leave more than `pendingPostsMax` pending posts, and more than there were. */
export function checkPendingCount({ base, next, entries }: CyclePlan, pendingPostsMax: number): void {
  if (next.count <= Math.max(pendingPostsMax, base.count)) return
  const [entering, leaving] = [entries.enteredRows.length, base.count - entries.keptCount]
  const problems = new Problems()
  problems.add(
    'candidates',
    `must not raise the number of pending posts above ${pendingPostsMax}: ${base.count} are pending, ` +
      `${entering} would enter and ${leaving} would leave. Send removals of the posts that have left the queue`,
  )
  throw problems.toError('too_many_pending')
}
