/**
 * Outcome records of saved posts on their boards. Each record is sent again, whole, when a new reading is due
 * (docs/contract.md, POST /v1/outcomes).
 */
import { hourMs, minuteMs } from '../base/index.js'
import { assert, type CycleResponse, type Outcome, type OutcomeReading } from '../contract/index.js'
import type { Api } from './api.js'
import { countersAt, kst, type QueuedPost } from './posts.js'
import { Rng } from './rng.js'

const agesH = [1, 6, 24, 48] as const
/** The copy on a board has this many times the views of the post in its gallery. */
const boardViewFactor = 12

interface Placement {
  readonly post: QueuedPost
  readonly record: Outcome
  /** -1 before the record is acknowledged. */
  sentReadingCount: number
}

export class OutcomeReports {
  private open: Placement[] = []
  /** Acknowledged records, including repeated ones. */
  sentCount = 0

  /** `exclusive`: the service holds no placements of other clients. */
  constructor(
    private readonly api: Api,
    private readonly exclusive: boolean,
  ) {}

  /** Adds posts that were saved after `lastResponse`, the last response that ranked them. */
  add(posts: readonly QueuedPost[], lastResponse: CycleResponse | null): void {
    this.open.push(
      ...posts.map((post) => ({ post, record: recordOf(post, lastResponse), sentReadingCount: -1 })),
    )
  }

  /** Sends the records that are new or have a new reading at `atMs`. */
  async send(atMs: number, rng: Rng): Promise<void> {
    const due = this.open.filter(
      ({ post, sentReadingCount }) => dueAges(post, atMs).length > sentReadingCount,
    )
    if (due.length === 0) return
    const { received, created, updated, retryCount } = await this.api.postOutcomes(
      due.map(({ post, record }) => ({ ...record, readings: readingsOf(post, atMs) })),
      rng,
    )
    const known = due.filter((placement) => placement.sentReadingCount >= 0).length
    const fail = (name: string, expected: unknown, got: unknown): never =>
      this.api.violation(`POST /v1/outcomes: ${name}`, expected, got)
    if (received !== due.length) fail('received', due.length, received)
    if (created + updated !== received) fail('created + updated', received, created + updated)
    if (updated < known) fail('updated', `${known} or more`, updated)
    if (this.exclusive && retryCount === 0 && updated > known) fail('updated', known, updated)
    for (const placement of due) placement.sentReadingCount = dueAges(placement.post, atMs).length
    this.sentCount += due.length
    this.open = this.open.filter((placement) => placement.sentReadingCount < agesH.length)
  }
}

/** The ages, in hours on the board, that the post has reached at `atMs`. */
function dueAges({ departure }: QueuedPost, atMs: number): (typeof agesH)[number][] {
  return agesH.filter((age) => departure.atMs + age * hourMs <= atMs)
}

function readingsOf(post: QueuedPost, atMs: number): OutcomeReading[] {
  const { growth, departure, gallId, postNo } = post
  const onBoard = {
    ...growth,
    createdAtMs: departure.atMs,
    viewsFinal: growth.viewsFinal * boardViewFactor,
    upFinal: growth.upFinal * boardViewFactor,
    commentsFinal: growth.commentsFinal * boardViewFactor,
  }
  return dueAges(post, atMs).map((age) => {
    const observedAtMs = departure.atMs + age * hourMs
    const { views, up, down, comment_cnt } = countersAt(onBoard, observedAtMs)
    const unread = new Rng('reading', gallId, postNo, age).chance(0.03)
    return { age_h: age, observed_at: kst(observedAtMs), views: unread ? null : views, up, down, comment_cnt }
  })
}

function recordOf(
  { gallId, postNo, growth, departure }: QueuedPost,
  lastResponse: CycleResponse | null,
): Outcome {
  assert(departure.tier !== undefined, 'a placed post has a tier')
  const rng = new Rng('placement', gallId, postNo)
  const counters = countersAt(growth, departure.atMs)
  const ranked = lastResponse?.results.find((row) => row.gall_id === gallId && row.post_no === postNo)
  const byModel = lastResponse !== null && rng.chance(0.2)
  return {
    placement_id: `${gallId}-${postNo}`,
    gall_id: gallId,
    post_no: postNo,
    tier: departure.tier,
    placed_at: kst(departure.atMs),
    picked_by: byModel
      ? {
          type: 'model',
          model_version: lastResponse.model_version,
          weights_version: lastResponse.weights_version,
          cycle_id: lastResponse.cycle_id,
        }
      : { type: 'operator' },
    // A field that is a number if it is present: omitted for a post without a score.
    ...(typeof ranked?.score === 'number' ? { score_at_placement: ranked.score } : {}),
    views_at_placement: counters.views,
    up_at_placement: counters.up,
    down_at_placement: counters.down,
    comment_at_placement: counters.comment_cnt,
    hidden_at: rng.chance(0.03) ? kst(departure.atMs + rng.int(1, 40) * minuteMs) : null,
    deleted_at: null,
  }
}
