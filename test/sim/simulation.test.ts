/** Hundreds of simulated runs; `npm run test:sim` runs thousands. simulation.ts describes a run. */
import { describe, expect, test } from 'vitest'
import { simulate, type RunFigures } from './simulation.js'
import { codecs } from '../helpers/codecs.js'

const seedCount = 120

describe.each(codecs)('with the $name codec', (codec) => {
  test(
    'no seed loses, changes or invents a response, or leaves the service unusable',
    { timeout: 300_000 },
    async () => {
      const sum: Partial<RunFigures> = {}
      for (let seed = 1; seed <= seedCount; seed++) {
        const figures = await simulate(seed, codec)
        for (const name of Object.keys(figures) as (keyof RunFigures)[])
          sum[name] = (sum[name] ?? 0) + figures[name]
      }
      // Runs without events would prove nothing.
      expect(sum.acknowledged).toBeGreaterThan(10 * seedCount)
      expect(sum.crashes).toBeGreaterThan(seedCount)
      expect(sum.faults).toBeGreaterThan(4 * seedCount)
      expect(sum.expired).toBeGreaterThan(seedCount)
      expect(sum.snapshots).toBeGreaterThan(seedCount)
      expect(sum.snapshotsDamaged).toBeGreaterThan(seedCount / 10)
      expect(sum.shadowScores).toBeGreaterThan(seedCount / 2)
    },
  )

  test('a seed takes the same steps in every run', async () => {
    for (let seed = 1; seed <= 10; seed++)
      expect(await simulate(seed, codec)).toEqual(await simulate(seed, codec))
  })
})

test('a seed takes the same steps with every codec', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const runs: RunFigures[] = []
    for (const codec of codecs) runs.push(await simulate(seed, codec))
    for (const run of runs) expect(run).toEqual(runs[0])
  }
})
