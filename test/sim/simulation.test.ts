/** Hundreds of simulated runs; `npm run test:sim` runs thousands. simulation.ts describes a run. */
import { expect, test } from 'vitest'
import { simulate, type RunFigures } from './simulation.js'

const seedCount = 120

test(
  'no seed loses, changes or invents a response, or leaves the service unusable',
  { timeout: 300_000 },
  async () => {
    const sum: Partial<RunFigures> = {}
    for (let seed = 1; seed <= seedCount; seed++) {
      const figures = await simulate(seed)
      for (const name of Object.keys(figures) as (keyof RunFigures)[])
        sum[name] = (sum[name] ?? 0) + figures[name]
    }
    // Runs without events would prove nothing.
    expect(sum.acknowledged).toBeGreaterThan(10 * seedCount)
    expect(sum.crashes).toBeGreaterThan(seedCount)
    expect(sum.faults).toBeGreaterThan(4 * seedCount)
    expect(sum.expired).toBeGreaterThan(seedCount)
    expect(sum.savedPools).toBeGreaterThan(seedCount)
    expect(sum.savedPoolsDamaged).toBeGreaterThan(seedCount / 10)
    expect(sum.shadowScores).toBeGreaterThan(seedCount / 2)
  },
)

test('a seed takes the same steps in every run', async () => {
  for (let seed = 1; seed <= 10; seed++) expect(await simulate(seed)).toEqual(await simulate(seed))
})
