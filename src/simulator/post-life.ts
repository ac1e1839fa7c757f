/**
 * The life of a post: how its counters grow and level off, and how it leaves the queue. Counters are a function of
 * time alone, so a reading can be taken at any moment and never decreases.
 */
import type { RemovalReason, Tier } from '../contract/index.js'
import { kstTimeOfDay } from '../contract/index.js'
import type { Rng } from './rng.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** interface.md 8: the client's age filter. */
export const ageFilterMs = 24 * hourMs

export interface PostLife {
  readonly bornAtMs: number
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

export interface CounterValues {
  readonly views: number
  readonly up: number
  readonly down: number
  readonly comment_cnt: number
  readonly rtb_vote: number
}

export function drawLife(rng: Rng, bornAtMs: number): PostLife {
  const quality = Math.exp(rng.normal())
  const viewsFinal = 250 * quality * Math.exp(0.5 * rng.normal()) + rng.int(5, 40)
  const upFinal = viewsFinal * (0.004 + 0.012 * quality * rng.next())
  return {
    bornAtMs,
    quality,
    viewsFinal,
    upFinal,
    downFinal: viewsFinal * 0.008 * rng.next() ** 2 + (rng.chance(0.05) ? upFinal * rng.next() : 0),
    commentsFinal: viewsFinal * (0.006 + 0.03 * rng.next()),
    rtbFinal: upFinal * 0.25 * rng.next(),
    growthMs: rng.int(25, 360) * minuteMs,
  }
}

/** The counters at a moment; zero at and before birth. */
export function countersAt(life: PostLife, atMs: number): CounterValues {
  const age = Math.max(0, atMs - life.bornAtMs) / life.growthMs
  const seen = 1 - Math.exp(-age)
  // Votes and comments lag behind the views.
  const voted = 1 - (1 + age) * Math.exp(-age)
  return {
    views: Math.floor(life.viewsFinal * seen),
    up: Math.floor(life.upFinal * voted),
    down: Math.floor(life.downFinal * voted),
    comment_cnt: Math.floor(life.commentsFinal * (0.4 * seen + 0.6 * voted)),
    rtb_vote: Math.floor(life.rtbFinal * voted),
  }
}

/** How and when a post leaves. */
export interface Fate {
  readonly reason: RemovalReason
  readonly atMs: number
  readonly tier?: Tier
  readonly reasonCode?: string
}

/** Operators save posts of high quality; some posts are hidden or deleted; the others reach the age limit. */
export function drawFate(rng: Rng, life: PostLife, enteredAtMs: number): Fate {
  const agedOutAtMs = life.bornAtMs + ageFilterMs
  const after = (minimum: number, maximum: number): number =>
    Math.min(enteredAtMs + rng.int(minimum, maximum) * minuteMs, agedOutAtMs)
  if (rng.chance(Math.min(0.5, 0.035 * life.quality))) {
    const atMs = after(20, 480)
    return { reason: 'saved', atMs, tier: tierAt(rng, atMs) }
  }
  const chance = rng.next()
  if (chance < 0.02) {
    return { reason: 'hidden', atMs: after(5, 900), ...(rng.chance(0.5) ? { reasonCode: 'dup' } : {}) }
  }
  if (chance < 0.05) return { reason: 'deleted', atMs: after(3, 900) }
  return { reason: 'aged_out', atMs: agedOutAtMs }
}

function tierAt(rng: Rng, atMs: number): Tier {
  const hour = Math.floor(kstTimeOfDay(atMs) / hourMs)
  if (hour >= 23 || hour < 6) return rng.chance(0.7) ? 'night' : 'main'
  return (['main', 'light', 'app'] as const)[rng.weighted([5, 4, 1])] as Tier
}
