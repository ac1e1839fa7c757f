/**
 * Outcome records of saved posts on their boards. Each record is sent again, whole, when a new reading is due
 * (interface.md 2.8 and 3.4).
 */
import type { CycleResponse, Outcome, OutcomeReading } from '../contract/index.js'
import type { Api } from './api.js'
import { ContractViolation } from './errors.js'
import { countersAt } from './post-life.js'
import { kst } from './rows.js'
import { Rng } from './rng.js'
import type { PlacedPost } from './world.js'

const hourMs = 3_600_000
const agesH = [1, 6, 24, 48] as const
/** The copy on a board has this many times the views of the post in its gallery. */
const boardReach = 12

interface Placement {
  readonly post: PlacedPost
  readonly record: Outcome
  sentReadingCount: number
  acknowledged: boolean
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
  add(posts: readonly PlacedPost[], lastResponse: CycleResponse | null): void {
    for (const post of posts) {
      const record = recordOf(post, lastResponse)
      this.open.push({ post, record, sentReadingCount: -1, acknowledged: false })
    }
  }

  /** Sends the records that are new or have a new reading at `atMs`. */
  async send(atMs: number, rng: Rng): Promise<void> {
    const due = this.open.filter((placement) => readingCount(placement, atMs) > placement.sentReadingCount)
    if (due.length === 0) return
    const { received, created, updated, retryCount } = await this.api.postOutcomes(
      due.map((placement) => ({ ...placement.record, readings: readingsOf(placement, atMs) })),
      rng,
    )
    const known = due.filter((placement) => placement.acknowledged).length
    const fail = (name: string, expected: unknown, got: unknown): never => {
      throw new ContractViolation({
        path: `POST /v1/outcomes: ${name}`,
        expected,
        got,
        cycleId: this.api.cycleId,
      })
    }
    if (received !== due.length) fail('received', due.length, received)
    if (created + updated !== received) fail('created + updated', received, created + updated)
    if (updated < known) fail('updated', `${known} or more`, updated)
    if (this.exclusive && retryCount === 0 && updated > known) fail('updated', known, updated)
    for (const placement of due) {
      placement.sentReadingCount = readingCount(placement, atMs)
      placement.acknowledged = true
    }
    this.sentCount += due.length
    this.open = this.open.filter((placement) => placement.sentReadingCount < agesH.length)
  }
}

function readingCount({ post }: Placement, atMs: number): number {
  return agesH.filter((age) => post.placedAtMs + age * hourMs <= atMs).length
}

function readingsOf(placement: Placement, atMs: number): OutcomeReading[] {
  const { post } = placement
  const { life, placedAtMs } = post
  const onBoard = {
    ...life,
    bornAtMs: placedAtMs,
    viewsFinal: life.viewsFinal * boardReach,
    upFinal: life.upFinal * boardReach,
    commentsFinal: life.commentsFinal * boardReach,
  }
  return agesH.slice(0, readingCount(placement, atMs)).map((age) => {
    const observedAtMs = placedAtMs + age * hourMs
    const { views, up, down, comment_cnt } = countersAt(onBoard, observedAtMs)
    const unread = new Rng('reading', post.gallId, post.postNo, age).chance(0.03)
    return { age_h: age, observed_at: kst(observedAtMs), views: unread ? null : views, up, down, comment_cnt }
  })
}

function recordOf(post: PlacedPost, lastResponse: CycleResponse | null): Outcome {
  const { gallId, postNo, placedAtMs, tier, life } = post
  const rng = new Rng('placement', gallId, postNo)
  const counters = countersAt(life, placedAtMs)
  const ranked = lastResponse?.results.find((row) => row.gall_id === gallId && row.post_no === postNo)
  const byModel = lastResponse !== null && rng.chance(0.2)
  return {
    placement_id: `${gallId}-${postNo}`,
    gall_id: gallId,
    post_no: postNo,
    tier,
    placed_at: kst(placedAtMs),
    picked_by: byModel
      ? {
          type: 'model',
          model_version: lastResponse.model_version,
          weights_version: lastResponse.weights_version,
          cycle_id: lastResponse.cycle_id,
        }
      : { type: 'operator' },
    // A field that is a number where it is present (interface.md 2.8): left out for a post without a score.
    ...(typeof ranked?.score === 'number' ? { score_at_placement: ranked.score } : {}),
    views_at_placement: counters.views,
    up_at_placement: counters.up,
    down_at_placement: counters.down,
    comment_at_placement: counters.comment_cnt,
    hidden_at: rng.chance(0.03) ? kst(placedAtMs + rng.int(1, 40) * 60_000) : null,
    deleted_at: null,
  }
}
