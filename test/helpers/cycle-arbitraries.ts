/**
 * Random sequences of cycles for property tests: few posts and few times, so that all combinations occur.
 */
import fc from 'fast-check'
import type { CycleRequest } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from './bodies.js'

const gallId = fc.constantFrom('g', 'h')
const postNo = fc.integer({ min: 1, max: 5 })
const count = fc.option(fc.integer({ min: 0, max: 9 }), { freq: 6 })

/** A moment a little before a cycle, sometimes within a millisecond of another, or the time of the cycle before. */
const observedText = (index: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(0, 1, 60_000, 300_000, 400_000), fc.constantFrom('', '0001', '0002'), fc.boolean())
    .map(([agoMs, digits, korean]) => {
      const at = new Date(cycleMs(index) - agoMs - (digits === '' ? 0 : 1) + (korean ? 9 * 3_600_000 : 0))
      return at.toISOString().replace('Z', `${digits}${korean ? '+09:00' : 'Z'}`)
    })

const cycleAt = (index: number): fc.Arbitrary<CycleRequest> =>
  fc
    .record({
      candidates: fc.array(
        fc
          .record({
            gallId,
            postNo,
            title: fc.constantFrom('제목', '다른 제목', '', ' \u3000'),
            created_at: fc.constantFrom(
              null,
              '2024-02-29T00:00:00Z',
              '2024-02-29T00:00:00Z',
              '2024-02-29T00:00:00Z',
            ),
          })
          .map(({ gallId, postNo, ...over }) => candidate(gallId, postNo, over)),
        { maxLength: 4 },
      ),
      engagement: fc.array(
        fc
          .record({
            gallId,
            postNo,
            views: count,
            observed_at: observedText(index),
            status: fc.constantFrom('ok', 'ok', 'ok', 'missing', 'nomap'),
          })
          .map(({ gallId, postNo, ...over }) => reading(gallId, postNo, 0, over)),
        { maxLength: 8 },
      ),
      candidate_scores: fc.array(
        fc
          .record({ gallId, postNo, hit_cnt: count, snapshot_at: observedText(index) })
          .map(({ gallId, postNo, ...over }) => snapshot(gallId, postNo, 0, over)),
        { maxLength: 4 },
      ),
      removals: fc.array(
        fc.record({ gallId, postNo }).map(({ gallId, postNo }) => removal(gallId, postNo)),
        { maxLength: 3 },
      ),
    })
    .map((parts) => cycleBody(index, parts))

/** Distinct cycles in order of arrival; some are late. */
export const cycleSequence: fc.Arbitrary<CycleRequest[]> = fc
  .uniqueArray(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 8 })
  .chain((indexes) => fc.tuple(...indexes.map(cycleAt)))
