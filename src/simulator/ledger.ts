/**
 * The expected response to a cycle, derived from the requests alone: the contract's rules on pending posts, statuses
 * and reasons (docs/contract.md, The pending pool), written for clarity. It does not predict scores.
 */
import {
  assert,
  type Candidate,
  type CycleRequest,
  type EngagementStatus,
  type ResultReason,
  type ResultStatus,
} from '../contract/index.js'

/** The expected row of `results` for one post of this client. */
export interface ExpectedRow {
  readonly gall_id: string
  readonly post_no: number
  readonly status: ResultStatus
  readonly reason?: ResultReason
}

export interface Expectation {
  readonly cycleId: string
  readonly cycleTime: string
  /** Rows received, by array. */
  readonly received: Readonly<Record<'candidates' | 'engagement' | 'candidate_scores' | 'removals', number>>
  readonly missingFeatureShare: number
  /** Pending posts of this client, in order of entry. */
  readonly pending: readonly ExpectedRow[]
  /** Posts without a candidate record, in request order; the last rows of the results. */
  readonly unknown: readonly ExpectedRow[]
}

type PendingPost = Pick<Candidate, 'gall_id' | 'post_no' | 'title' | 'created_at' | 'extracted_at'>

/** Tracks the pending posts of this client. Takes every request once, in the order of sending. */
export class Ledger {
  private readonly pending = new Map<string, PendingPost>()

  /** Applies a request and returns the expected response. */
  expect(request: CycleRequest): Expectation {
    this.apply(request)
    const statuses = new Map<string, EngagementStatus>()
    for (const row of request.engagement) {
      // This client sends one reading per post; the result of two would depend on their times.
      assert(!statuses.has(keyOf(row)), `one reading of ${keyOf(row)} in ${request.cycle_id}`)
      statuses.set(keyOf(row), row.status)
    }
    return {
      cycleId: request.cycle_id,
      cycleTime: request.cycle_time,
      received: {
        candidates: request.candidates.length,
        engagement: request.engagement.length,
        candidate_scores: request.candidate_scores.length,
        removals: request.removals.length,
      },
      missingFeatureShare: missingShare(request),
      pending: [...this.pending].map(([key, post]) => expectedRow(post, statuses.get(key))),
      unknown: request.engagement
        .filter((row) => !this.pending.has(keyOf(row)))
        .map(({ gall_id, post_no }) => ({ gall_id, post_no, status: 'not_scored', reason: 'unknown_post' })),
    }
  }

  get pendingCount(): number {
    return this.pending.size
  }

  /** The extraction-time title of a pending post. */
  titleOf(gallId: string, postNo: number): string | undefined {
    return this.pending.get(keyOf({ gall_id: gallId, post_no: postNo }))?.title
  }

  /** Candidates first, then removals. */
  private apply(request: CycleRequest): void {
    for (const candidate of request.candidates) {
      const { gall_id, post_no, title, created_at, extracted_at } = candidate
      if (this.pending.has(keyOf(candidate))) continue
      this.pending.set(keyOf(candidate), { gall_id, post_no, title, created_at, extracted_at })
    }
    for (const removal of request.removals) this.pending.delete(keyOf(removal))
  }
}

/** The reasons, in their order of precedence (docs/contract.md, Response). */
function expectedRow(post: PendingPost, reading: EngagementStatus | undefined): ExpectedRow {
  const { gall_id, post_no, title, created_at, extracted_at } = post
  const notScored = (reason: ResultReason): ExpectedRow => ({
    gall_id,
    post_no,
    status: 'not_scored',
    reason,
  })
  if (reading === undefined) return { gall_id, post_no, status: 'waiting' }
  if (title.trim() === '') return notScored('missing_title')
  if (created_at === null || extracted_at === null) return notScored('missing_clock')
  if (reading !== 'ok') return notScored('post_unavailable')
  return { gall_id, post_no, status: 'scored' }
}

function missingShare({ engagement }: CycleRequest): number {
  const counters = engagement.flatMap((row) => [row.views, row.up, row.down, row.comment_cnt, row.rtb_vote])
  return counters.length === 0 ? 0 : counters.filter((counter) => counter === null).length / counters.length
}

/** The key of a post; `post_no` is unique only within its gallery. */
export function keyOf(post: { gall_id: string; post_no: number }): string {
  return `${post.post_no}/${post.gall_id}`
}
