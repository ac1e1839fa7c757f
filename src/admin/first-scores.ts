/**
 * The target for first scores as cycles arrive: at least 99 % of the posts are scored within two cycles of `extracted_at`. The
 * rule is the report's (contract/first-score.ts), with the newest cycle as the end of the window. Posts that were pending at
 * startup are not counted.
 */
import {
  firstScore,
  outcome,
  type CycleColumns,
  type FirstScore,
  type FirstScores,
} from '../contract/index.js'
import type { CyclePlan } from '../pool/index.js'

interface WaitingPost {
  readonly gallId: string
  readonly postNo: number
  readonly extractedMs: number
}

export class FirstScoreWatch {
  /** Posts without a score that have `extracted_at`. */
  #waiting: readonly WaitingPost[] = []

  /** The posts of one cycle: of each stored cycle, in order. */
  observe(plan: CyclePlan, cycle: Pick<CycleColumns, 'cycleAt' | 'galleries' | 'removals'>): FirstScores {
    const { next, changes, outcomes } = plan
    const windowEndMs = next.newestCycleMs
    const counts: Record<FirstScore, number> = { on_time: 0, late: 0, never: 0, excluded: 0 }
    const waiting: WaitingPost[] = []
    const settle = (post: WaitingPost, slot: number): void => {
      if (outcomes[slot] !== outcome.scored) waiting.push(post)
      else counts[firstScore({ ...post, firstMs: cycle.cycleAt.ms, decidedMs: Infinity, windowEndMs })]++
    }
    const decidedMsOf = this.#waiting.length === 0 ? null : decisionsOf(plan, cycle)
    for (const post of this.#waiting) {
      const decidedMs = decidedMsOf?.get(nameOf(post))
      const slot = next.index.findPost(post.gallId, post.postNo)
      if (slot >= 0) settle(post, slot)
      // Undefined: it left with a cycle that could not be observed.
      else if (decidedMs !== undefined)
        counts[firstScore({ ...post, firstMs: NaN, decidedMs, windowEndMs })]++
    }
    for (let slot = changes.keptCount; slot < next.count; slot++) {
      const extractedMs = next.posts.extractedAtMs[slot]!
      if (Number.isNaN(extractedMs)) continue
      const gallId = next.galleries[next.gallery[slot]!]!
      settle({ gallId, postNo: next.postNo[slot]!, extractedMs }, slot)
    }
    this.#waiting = waiting
    const { on_time, late, never } = counts
    const isOverdue = (post: WaitingPost): boolean =>
      firstScore({ ...post, firstMs: NaN, decidedMs: Infinity, windowEndMs }) === 'never'
    return { on_time, late, never, overdue: waiting.filter(isOverdue).length }
  }
}

/** `decided_at` of the posts that left with a cycle, by name. */
function decisionsOf(
  { changes }: CyclePlan,
  { galleries, removals }: Pick<CycleColumns, 'galleries' | 'removals'>,
): Map<string, number> {
  const decided = new Map<string, number>()
  for (const row of changes.departedRows) {
    const name = nameOf({ gallId: galleries[removals.gallery[row]!]!, postNo: removals.postNo[row]! })
    decided.set(name, removals.decidedAtMs[row]!)
  }
  return decided
}

function nameOf({ gallId, postNo }: Pick<WaitingPost, 'gallId' | 'postNo'>): string {
  return `${gallId}/${postNo}`
}
