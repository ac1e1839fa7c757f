/**
 * The simulated posts: how their counters grow and level off, how they leave the queue, and their rows in a request.
 * Counters are a function of time alone, so a reading can be taken at any moment and never decreases.
 */
import { hourMs, minuteMs } from '../base/index.js'
import {
  type CandidateScoreRow,
  type EngagementRow,
  kstText,
  kstTimeOfDay,
  type Removal,
  type RemovalReason,
  type Tier,
} from '../contract/index.js'
import type { Rng } from './rng.js'

/** The client removes a post at this age. */
export const ageFilterMs = 24 * hourMs

export interface PostGrowth {
  readonly createdAtMs: number
  /** 1 is the median post; a few reach 10 and more. */
  readonly quality: number
  /** Counts that the post approaches as it ages. */
  readonly viewsFinal: number
  readonly upFinal: number
  readonly downFinal: number
  readonly commentsFinal: number
  readonly rtbFinal: number
  /** Age at which the post has about 63 % of its views. */
  readonly growthMs: number
}

export type CounterValues = Record<'views' | 'up' | 'down' | 'comment_cnt' | 'rtb_vote', number>

/** When and why a post leaves the queue. */
export interface Departure {
  readonly reason: RemovalReason
  readonly atMs: number
  /** The board of a saved post. */
  readonly tier?: Tier
  readonly reasonCode?: string
}

export interface QueuedPost {
  readonly gallId: string
  readonly postNo: number
  readonly growth: PostGrowth
  readonly departure: Departure
  /** The client has no mapping for the post before `mappedFromMs`, and does not find it from `missingFromMs` on. */
  readonly mappedFromMs: number
  readonly missingFromMs: number
}

export function drawGrowth(rng: Rng, createdAtMs: number): PostGrowth {
  const quality = Math.exp(rng.normal())
  const viewsFinal = 250 * quality * Math.exp(0.5 * rng.normal()) + rng.int(5, 40)
  const upFinal = viewsFinal * (0.004 + 0.012 * quality * rng.next())
  return {
    createdAtMs,
    quality,
    viewsFinal,
    upFinal,
    downFinal: viewsFinal * 0.008 * rng.next() ** 2 + (rng.chance(0.05) ? upFinal * rng.next() : 0),
    commentsFinal: viewsFinal * (0.006 + 0.03 * rng.next()),
    rtbFinal: upFinal * 0.25 * rng.next(),
    growthMs: rng.int(25, 360) * minuteMs,
  }
}

/** The counters at a moment; zero until the post is created. */
export function countersAt(growth: PostGrowth, atMs: number): CounterValues {
  const age = Math.max(0, atMs - growth.createdAtMs) / growth.growthMs
  const seenShare = 1 - Math.exp(-age)
  // Votes and comments lag behind the views.
  const votedShare = 1 - (1 + age) * Math.exp(-age)
  return {
    views: Math.floor(growth.viewsFinal * seenShare),
    up: Math.floor(growth.upFinal * votedShare),
    down: Math.floor(growth.downFinal * votedShare),
    comment_cnt: Math.floor(growth.commentsFinal * (0.4 * seenShare + 0.6 * votedShare)),
    rtb_vote: Math.floor(growth.rtbFinal * votedShare),
  }
}

/** Operators save posts of high quality; some posts are hidden or deleted; the others reach the age limit. */
export function drawDeparture(rng: Rng, growth: PostGrowth, enteredAtMs: number): Departure {
  const agedOutAtMs = growth.createdAtMs + ageFilterMs
  const after = (minimum: number, maximum: number): number =>
    Math.min(enteredAtMs + rng.int(minimum, maximum) * minuteMs, agedOutAtMs)
  if (rng.chance(Math.min(0.5, 0.035 * growth.quality))) {
    const atMs = after(20, 480)
    return { reason: 'saved', atMs, tier: tierAt(rng, atMs) }
  }
  const chance = rng.next()
  if (chance < 0.01) return { reason: 'hidden', atMs: after(5, 900), reasonCode: 'dup' }
  if (chance < 0.02) return { reason: 'hidden', atMs: after(5, 900) }
  if (chance < 0.05) return { reason: 'deleted', atMs: after(3, 900) }
  return { reason: 'aged_out', atMs: agedOutAtMs }
}

function tierAt(rng: Rng, atMs: number): Tier {
  const hour = Math.floor(kstTimeOfDay(atMs) / hourMs)
  if (hour >= 23 || hour < 6) return rng.chance(0.7) ? 'night' : 'main'
  return (['main', 'light', 'app'] as const)[rng.weighted([5, 4, 1])] as Tier
}

// ---- rows

/** The row of one post in `engagement`: mostly all counters, sometimes only some or none. */
export function readingOf(rng: Rng, post: QueuedPost, observedAtMs: number): EngagementRow {
  const key = { gall_id: post.gallId, post_no: post.postNo, observed_at: kst(observedAtMs) }
  const noise = rng.next()
  const missing = observedAtMs >= post.missingFromMs || noise < 0.002
  if (missing || observedAtMs < post.mappedFromMs || noise > 0.9995) {
    const unread = { views: null, up: null, down: null, comment_cnt: null, rtb_vote: null }
    return { ...key, status: missing ? 'missing' : 'nomap', ...unread }
  }
  const counters = countersAt(post.growth, observedAtMs)
  if (noise < 0.985) return { ...key, status: 'ok', ...counters }
  const some = (count: number, nullShare: number): number | null => (rng.chance(nullShare) ? null : count)
  return {
    ...key,
    status: 'ok',
    views: some(counters.views, 0.3),
    up: some(counters.up, 0.3),
    down: some(counters.down, 0.5),
    comment_cnt: some(counters.comment_cnt, 0.3),
    rtb_vote: some(counters.rtb_vote, 0.7),
  }
}

/** A row for a post without a candidate record. */
export function unknownReading(rng: Rng, key: Pick<EngagementRow, 'gall_id' | 'post_no' | 'observed_at'>) {
  return {
    ...key,
    status: rng.chance(0.8) ? ('ok' as const) : ('missing' as const),
    views: rng.int(0, 3000),
    up: rng.int(0, 40),
    down: rng.int(0, 5),
    comment_cnt: rng.chance(0.5) ? null : rng.int(0, 60),
    rtb_vote: 0,
  }
}

/** The admin table's counters of a post, split by PC, mobile and app. */
export function snapshotOf(rng: Rng, post: QueuedPost, snapshotAtMs: number): CandidateScoreRow {
  const counters = countersAt(post.growth, snapshotAtMs)
  const part = (total: number, share: number): number | null =>
    rng.chance(0.03) ? null : Math.floor(total * share)
  const parts = (name: string, total: number): Record<string, number | null> => ({
    [name]: part(total, 0.3),
    [`${name}_m`]: part(total, 0.5),
    [`${name}_a`]: part(total, 0.2),
  })
  return {
    gall_id: post.gallId,
    post_no: post.postNo,
    snapshot_at: kst(snapshotAtMs),
    ...parts('recommend_up_cnt', counters.up),
    ...parts('comment_cnt', counters.comment_cnt),
    ...parts('hit_cnt', counters.views),
    ...parts('sitebest_cnt', counters.rtb_vote),
    memo_size: rng.int(20, 9000),
    upimg_cnt: rng.int(0, 12),
    upimg_height: rng.chance(0.1) ? null : rng.int(0, 32767),
  }
}

/** The removal of a post in the cycle that ends at `cycleAtMs`. */
export function removalOf({ gallId, postNo, departure }: QueuedPost, cycleAtMs: number): Removal {
  const { reason, atMs, tier, reasonCode } = departure
  return {
    gall_id: gallId,
    post_no: postNo,
    reason,
    decided_at: kst(Math.min(atMs, cycleAtMs)),
    ...(tier === undefined ? {} : { tier }),
    ...(reasonCode === undefined ? {} : { reason_code: reasonCode }),
  }
}

/** RFC 3339 in KST; with milliseconds only if they are not zero, because sources differ in precision. */
export function kst(ms: number): string {
  return kstText(ms).replace(/\.000$/, '') + '+09:00'
}

/** RFC 3339 in KST, seldom in UTC. */
export function dateTime(rng: Rng, ms: number): string {
  return rng.chance(0.1) ? new Date(ms).toISOString() : kst(ms)
}
