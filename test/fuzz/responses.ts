/**
 * Responses for differential tests of the encoders: float32 numbers of every size, texts that need escapes.
 */
import type { ResponseColumns } from '../../src/codec/encode-response.js'
import { headNames, outcomeCodes, type HeadColumns } from '../../src/contract/index.js'
import type { Random } from '../harness/rng.js'

const bitsOf = new Uint32Array(1)
const floatOf = new Float32Array(bitsOf.buffer)

/** Any finite float32: shares, all bit patterns, powers of two and their neighbours, and halves of halves. */
export function randomFloat(random: Random): number {
  switch (random.below(5)) {
    case 0:
      return Math.fround(random.bits() / 0x1_0000_0000)
    case 1:
      bitsOf[0] = random.bits()
      break
    case 2:
      bitsOf[0] = ((random.below(255) << 23) + random.below(5) - 2) >>> 0
      break
    case 3:
      return Math.fround(random.below(1 << 24) / 2 ** random.below(30))
    default:
      return Math.fround(random.below(20_000) / 10 ** random.below(9)) * (random.chance(0.5) ? 1 : -1)
  }
  const value = floatOf[0]!
  return Number.isFinite(value) ? value : 0
}

const galleryIds = ['hit', '한글', 'a"b', 'c\\d', '\u2028', '\ud800', 'dcbest', '😀', 'x'.repeat(200)]

/** A response that a model and a pool could have given, with odd numbers and names. */
export function randomResponse(random: Random): ResponseColumns {
  const count = random.below(30)
  const galleries = galleryIds.filter(() => random.chance(0.7)).concat('always')
  const outcome = Uint8Array.from({ length: count }, () =>
    random.chance(0.7) ? 0 : random.below(outcomeCodes.length),
  )
  const scored = outcome.filter((code) => code === 0).length
  const floats = (): Float32Array => Float32Array.from({ length: scored }, () => randomFloat(random))
  const heads = Object.fromEntries(
    headNames.map((name) => [name, random.chance(0.7) ? floats() : null]),
  ) as unknown as HeadColumns
  return {
    cycleId: '20260105T0900',
    cycleTime: '2026-01-05T09:00:00+09:00',
    receivedAt: '2026-01-05T00:00:01.000Z',
    scoredAt: '2026-01-05T00:00:02.000Z',
    modelVersion: random.pick(['linear-1', '모델 "2"']),
    weightsVersion: 'initial',
    counts: { candidates: 1, engagement: 2, candidate_scores: 3, removals: 4, scored_now: scored, waiting: 0, not_scored: 0, results: count }, // prettier-ignore
    missingFeatureShare: random.below(100) / 100,
    warnings: random.chance(0.5) ? [] : [{ code: 'unknown_field', count: null, detail: '"한글"\n' }],
    results: {
      count,
      galleries,
      gallery: Uint32Array.from({ length: count }, () => random.below(galleries.length)),
      postNo: Float64Array.from({ length: count }, () =>
        random.pick([1, 99, 100, 12345, 9007199254740991, random.bits()]),
      ),
      outcome,
      score: floats(),
      heads,
    },
  }
}
