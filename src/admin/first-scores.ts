/**
 * The target for first scores: at least 99 % of the candidates are scored within two cycles of `extracted_at`. The deadline
 * is the second five-minute boundary at or after it. Posts that were pending at startup are not counted.
 */
import { firstScoreDeadline, outcome, type FirstScores } from '../contract/index.js'
import type { CyclePlan } from '../pool/index.js'

interface WaitingPost {
  readonly gallId: string
  readonly postNo: number
  readonly deadlineMs: number
}

export class FirstScoreWatch {
  /** Posts without a score that have a deadline. */
  #waiting: readonly WaitingPost[] = []

  /** The posts of one cycle. Must be called for each stored cycle, in order. */
  observe({ next, entries, outcomes, leftAtMs }: CyclePlan, cycleAtMs: number): FirstScores {
    const counts = { on_time: 0, late: 0, never: 0 }
    const waiting: WaitingPost[] = []
    const settle = (post: WaitingPost, slot: number): void => {
      if (slot < 0) counts.never += leftAtMs > post.deadlineMs ? 1 : 0
      else if (outcomes[slot] !== outcome.scored) waiting.push(post)
      else if (cycleAtMs <= post.deadlineMs) counts.on_time++
      else counts.late++
    }
    for (const post of this.#waiting) settle(post, next.index.findPost(post.gallId, post.postNo))
    for (let slot = entries.keptCount; slot < next.count; slot++) {
      const extractedAtMs = next.posts.extractedAtMs[slot]!
      if (Number.isNaN(extractedAtMs)) continue
      const gallId = next.galleries[next.gallery[slot]!]!
      settle({ gallId, postNo: next.postNo[slot]!, deadlineMs: firstScoreDeadline(extractedAtMs) }, slot)
    }
    this.#waiting = waiting
    // A late cycle changes nothing about what is overdue.
    const { newestCycleMs } = next
    return { ...counts, overdue: waiting.filter(({ deadlineMs }) => deadlineMs < newestCycleMs).length }
  }
}
