/**
 * What becomes of saved posts on their boards: outcome records, sent whole again as each reading comes of age
 * (interface.md 2.8 and 3.4).
 */
import type { CycleResponse, Outcome, OutcomeReading } from '../contract/index.js'
import type { Api } from './api.js'
import { Breach } from './breach.js'
import { countersAt } from './post-life.js'
import { kst } from './rows.js'
import { Rng } from './rng.js'
import type { PlacedPost } from './world.js'

const hourMs = 3_600_000
const agesH = [1, 6, 24, 48] as const
/** A board copy is seen by far more people than the post in its gallery. */
const boardReach = 12

interface Placement {
  readonly post: PlacedPost
  readonly record: Outcome
  sentReadingCount: number
  acknowledged: boolean
}

export class Placements {
  private open: Placement[] = []
  /** Records acknowledged, repeats counted. */
  sentCount = 0

  /** `alone`: the service can hold no placement but those of this client. */
  constructor(
    private readonly api: Api,
    private readonly alone: boolean,
  ) {}

  /** Takes in posts that were saved after `lastAnswer`, the last one that still ranked them. */
  add(posts: readonly PlacedPost[], lastAnswer: CycleResponse | null): void {
    for (const post of posts) {
      const record = recordOf(post, lastAnswer)
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
      throw new Breach({ path: `POST /v1/outcomes: ${name}`, expected, got, cycleId: this.api.cycleId })
    }
    if (received !== due.length) fail('received', due.length, received)
    if (created + updated !== received) fail('created + updated', received, created + updated)
    if (updated < known) fail('updated', `${known} or more`, updated)
    if (this.alone && retryCount === 0 && updated > known) fail('updated', known, updated)
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

function recordOf(post: PlacedPost, lastAnswer: CycleResponse | null): Outcome {
  const { gallId, postNo, placedAtMs, tier, life } = post
  const rng = new Rng('placement', gallId, postNo)
  const counters = countersAt(life, placedAtMs)
  const ranked = lastAnswer?.results.find((row) => row.gall_id === gallId && row.post_no === postNo)
  const byModel = lastAnswer !== null && rng.chance(0.2)
  return {
    placement_id: `${gallId}-${postNo}`,
    gall_id: gallId,
    post_no: postNo,
    tier,
    placed_at: kst(placedAtMs),
    picked_by: byModel
      ? {
          type: 'model',
          model_version: lastAnswer.model_version,
          weights_version: lastAnswer.weights_version,
          cycle_id: lastAnswer.cycle_id,
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
