/**
 * A short soak: half a day, nine days without cycles, half a day. `npm run test:soak` checks the levels.
 */
import { expect, test } from 'vitest'
import { dayMs } from '../../src/base/index.js'
import { soak } from './soak.js'

test('after days of cycles retained records are unchanged, expired ones are deleted, and verify passes', async () => {
  const { verdicts, counts } = await soak({
    seed: 1,
    postsPerDay: 400,
    imageShare: 0.2,
    keptDays: { cycles: 8, images: 7, outcomes: 3 },
    warmUpCycles: 144,
    leapMs: 9 * dayMs,
    measuredCycles: 144,
    sampleCycles: 0,
    costCycles: 0,
  })
  expect(verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(counts['cycles']).toBe(288)
}, 180_000)
