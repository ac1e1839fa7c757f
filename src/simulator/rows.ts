/**
 * The rows of a post in a cycle: readings, admin snapshots, its removal; and times in the formats that clients use.
 */
import type { CandidateScoreRow, EngagementRow, Removal } from '../contract/index.js'
import { countersAt, type Fate, type PostLife } from './post-life.js'
import type { Rng } from './rng.js'

const kstOffsetMs = 9 * 3_600_000

/** A post in the client's queue. */
export interface LivePost {
  readonly gallId: string
  readonly postNo: number
  readonly life: PostLife
  readonly fate: Fate
  /** The client has no mapping for the post before the first time, and does not find it from the second on. */
  readonly mappedFromMs: number
  readonly missingFromMs: number
}

/** The row of one post in `engagement`: mostly all counters, sometimes only some or none. */
export function readingOf(rng: Rng, post: LivePost, observedAtMs: number): EngagementRow {
  const key = { gall_id: post.gallId, post_no: post.postNo, observed_at: kst(observedAtMs) }
  const noise = rng.next()
  const missing = observedAtMs >= post.missingFromMs || noise < 0.002
  const unmapped = observedAtMs < post.mappedFromMs || noise > 0.9995
  if (missing || unmapped) {
    const unread = { views: null, up: null, down: null, comment_cnt: null, rtb_vote: null }
    return { ...key, status: missing ? 'missing' : 'nomap', ...unread }
  }
  const counters = countersAt(post.life, observedAtMs)
  if (noise < 0.985) return { ...key, status: 'ok', ...counters }
  return {
    ...key,
    status: 'ok',
    views: rng.chance(0.3) ? null : counters.views,
    up: rng.chance(0.3) ? null : counters.up,
    down: rng.chance(0.5) ? null : counters.down,
    comment_cnt: rng.chance(0.3) ? null : counters.comment_cnt,
    rtb_vote: rng.chance(0.7) ? null : counters.rtb_vote,
  }
}

/** A row for a post without a candidate record. */
export function unknownReading(
  rng: Rng,
  post: { gallId: string; postNo: number; observedAtMs: number },
): EngagementRow {
  return {
    gall_id: post.gallId,
    post_no: post.postNo,
    observed_at: kst(post.observedAtMs),
    status: rng.chance(0.8) ? 'ok' : 'missing',
    views: rng.int(0, 3000),
    up: rng.int(0, 40),
    down: rng.int(0, 5),
    comment_cnt: rng.chance(0.5) ? null : rng.int(0, 60),
    rtb_vote: 0,
  }
}

/** The admin table's counters of a post, split by PC, mobile and app. */
export function snapshotOf(rng: Rng, post: LivePost, snapshotAtMs: number): CandidateScoreRow {
  const counters = countersAt(post.life, snapshotAtMs)
  const part = (total: number, share: number): number | null =>
    rng.chance(0.03) ? null : Math.floor(total * share)
  return {
    gall_id: post.gallId,
    post_no: post.postNo,
    snapshot_at: kst(snapshotAtMs),
    recommend_up_cnt: part(counters.up, 0.3),
    recommend_up_cnt_m: part(counters.up, 0.5),
    recommend_up_cnt_a: part(counters.up, 0.2),
    comment_cnt: part(counters.comment_cnt, 0.3),
    comment_cnt_m: part(counters.comment_cnt, 0.5),
    comment_cnt_a: part(counters.comment_cnt, 0.2),
    hit_cnt: part(counters.views, 0.3),
    hit_cnt_m: part(counters.views, 0.5),
    hit_cnt_a: part(counters.views, 0.2),
    sitebest_cnt: part(counters.rtb_vote, 0.3),
    sitebest_cnt_m: part(counters.rtb_vote, 0.5),
    sitebest_cnt_a: part(counters.rtb_vote, 0.2),
    memo_size: rng.int(20, 9000),
    upimg_cnt: rng.int(0, 12),
    upimg_height: rng.chance(0.1) ? null : rng.int(0, 32767),
  }
}

/** The removal of a post in the cycle that ends at `cycleAtMs`. */
export function removalOf(post: LivePost, cycleAtMs: number): Removal {
  const { reason, atMs, tier, reasonCode } = post.fate
  return {
    gall_id: post.gallId,
    post_no: post.postNo,
    reason,
    decided_at: kst(Math.min(atMs, cycleAtMs)),
    ...(tier === undefined ? {} : { tier }),
    ...(reasonCode === undefined ? {} : { reason_code: reasonCode }),
  }
}

/** RFC 3339 in KST; with milliseconds only where they are not zero, because sources differ in precision. */
export function kst(ms: number): string {
  const text = new Date(ms + kstOffsetMs).toISOString()
  return text.slice(0, text.endsWith('.000Z') ? -5 : -1) + '+09:00'
}

/** RFC 3339 in KST, seldom in UTC. */
export function dateTime(rng: Rng, ms: number): string {
  return rng.chance(0.1) ? new Date(ms).toISOString() : kst(ms)
}
