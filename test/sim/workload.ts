/**
 * The requests of a simulated run: few posts and few instants, so that they collide often, in several JSON spellings.
 */
import { gzipSync } from 'node:zlib'
import { dayMs } from '../../src/base/index.js'
import { formatInstant } from '../../src/contract/index.js'
import type { CycleRequest } from '../../src/contract/index.js'
import type { OutcomeEntry, StoredImage } from '../../src/store/index.js'
import type { Random } from '../harness/rng.js'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../helpers/bodies.js'

export const galleries = ['g', 'h', '움짤 갤/%'] as const
export const postNoMax = 5
/** Two posts of each gallery have images and never enter the pool: their images expire soonest. */
export const imagePostNoMax = 7

/** Weights by number: of version `initial`, then `w1` and so on. */
export const weightsSets = [
  { views: 1, comments: 0.5, up: 0.25, downvote_share: 0 },
  { views: 0.5, comments: 1, up: 0, downvote_share: 0 },
  { views: 0.25, comments: 0, up: 1, downvote_share: 0.5 },
  { views: 2, comments: 2, up: 0.5, downvote_share: 0 },
] as const

/** One request body as sent. */
export interface SentBody {
  readonly cycleId: string
  readonly cycleAtMs: number
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
  /** The contents as JSON: equal for bodies that differ in spelling only. */
  readonly canonical: string
}

export type Spelling = 'plain' | 'respelled' | 'gzip'

export function bodyOf(cycle: CycleRequest, index: number, spelling: Spelling): SentBody {
  const text = spelling === 'respelled' ? respell(cycle) : JSON.stringify(cycle)
  const json = Buffer.from(text)
  return {
    cycleId: cycle.cycle_id,
    cycleAtMs: cycleMs(index),
    json,
    gzip: spelling === 'gzip' ? gzipSync(json, { level: 1 }) : null,
    canonical: JSON.stringify(cycle),
  }
}

/** The members in reverse order, with other white space and unnecessary escapes. */
function respell(cycle: CycleRequest): string {
  const reversed = Object.fromEntries(Object.entries(cycle).reverse())
  return JSON.stringify(reversed, null, 1).replace(
    /[가-힣]/,
    (char) => `\\u${char.charCodeAt(0).toString(16)}`,
  )
}

export function randomCycle(random: Random, index: number): CycleRequest {
  const post = (): [string, number] => [random.pick(galleries), 1 + random.below(postNoMax)]
  const list = <Row>(count: number, make: () => Row): Row[] => Array.from({ length: count }, make)
  const count = (): number | null => (random.chance(0.1) ? null : random.below(1000))
  // Two instants within one millisecond are ordered too.
  const observed = (): string =>
    formatInstant(cycleMs(index) - random.pick([1, 2, 60_000, 60_000, 400_000])).replace(
      'Z',
      random.chance(0.2) ? '0001Z' : 'Z',
    )
  const readings = galleries.flatMap((gallId) =>
    Array.from({ length: postNoMax }, (_, i): [string, number] => [gallId, i + 1]).filter(() =>
      random.chance(0.5),
    ),
  )
  const shuffled = random.chance(0.3) ? readings.reverse() : readings
  const cycle = cycleBody(index, {
    candidates: list(random.below(5), () => ({
      ...candidate(...post(), {
        title: random.pick(['제목', '다른 제목', `제목 ${random.below(1000)}`, '', ' \u3000']),
        created_at: random.chance(0.1) ? null : '2024-02-29T00:00:00Z',
      }),
      ...(random.chance(0.03) ? { mood: 'good' } : {}),
    })),
    engagement: [...shuffled, ...list(random.below(3), post)].map((key) =>
      reading(...key, 0, {
        views: count(),
        up: count(),
        observed_at: observed(),
        status: random.pick(['ok', 'ok', 'ok', 'ok', 'ok', 'missing', 'nomap']),
      }),
    ),
    candidate_scores: list(random.below(4), () =>
      snapshot(...post(), 0, { hit_cnt: count(), snapshot_at: observed() }),
    ),
    removals: list(random.chance(0.5) ? 0 : random.below(4), () => removal(...post())),
  })
  return random.chance(0.03) ? ({ ...cycle, mood: 1 } as CycleRequest) : cycle
}

/** The same cycle with a change. */
export function otherCycle(random: Random, cycle: CycleRequest): CycleRequest {
  const [first, ...rest] = cycle.engagement
  if (first === undefined || random.chance(0.3))
    return { ...cycle, removals: [...cycle.removals, removal('g', 1)] }
  return { ...cycle, engagement: [{ ...first, views: (first.views ?? 0) + 1 }, ...rest] }
}

/** An outcome that is placed now or days ago. */
export function randomOutcome(random: Random, arrivedAtMs: number): OutcomeEntry {
  const placementId = `p${random.below(8)}`
  const placed_at = formatInstant(arrivedAtMs - random.pick([0, 0, 2, 20]) * dayMs)
  const record = Buffer.from(JSON.stringify({ placement_id: placementId, placed_at }))
  return { placementId, record, arrivedAtMs }
}

export function imageOf(variant: number, arrivedAtMs: number): StoredImage {
  return {
    sha256: new Uint8Array(32).fill(variant),
    uploadedBytes: 10,
    width: 4,
    height: 3,
    normalised: Uint8Array.of(0xff, 0xd8, variant),
    arrivedAtMs,
  }
}
