/**
 * What the clients of a simulated run send: few posts and few moments, so that everything meets everything, in bodies
 * of every spelling.
 */
import { gzipSync } from 'node:zlib'
import { formatInstant } from '../../src/contract/index.js'
import type { CycleRequest } from '../../src/contract/index.js'
import type { Random } from '../fuzz/random.js'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../helpers/bodies.js'

export const galleries = ['g', 'h', '움짤 갤/%'] as const
export const postNoMax = 5

/** One body as it goes over the wire. */
export interface SentBody {
  readonly cycleId: string
  readonly cycleAtMs: number
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
  /** Equal for bodies that say the same. */
  readonly meaning: string
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
    meaning: JSON.stringify(cycle),
  }
}

/** Members turned around, other white space, escapes where none are needed. */
function respell(cycle: CycleRequest): string {
  const turned = Object.fromEntries(Object.entries(cycle).reverse())
  return JSON.stringify(turned, null, 1).replace(/[가-힣]/, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
}

export function randomCycle(random: Random, index: number): CycleRequest {
  const post = (): [string, number] => [random.pick(galleries), 1 + random.below(postNoMax)]
  const list = <Row>(count: number, make: () => Row): Row[] => Array.from({ length: count }, make)
  const count = (): number | null => (random.chance(0.1) ? null : random.below(1000))
  // Two moments in one millisecond have an order too.
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

/** The same cycle with something else in it. */
export function otherCycle(random: Random, cycle: CycleRequest): CycleRequest {
  const [first, ...rest] = cycle.engagement
  if (first === undefined || random.chance(0.3))
    return { ...cycle, removals: [...cycle.removals, removal('g', 1)] }
  return { ...cycle, engagement: [{ ...first, views: (first.views ?? 0) + 1 }, ...rest] }
}
