/**
 * The benchmarks of the journal run, in a small size.
 */
import { expect, test } from 'vitest'
import { measureEnvironments } from './environments.js'
import { compareJournal } from './journal.js'
import { postgresBin } from './postgres.js'

if (postgresBin === null) console.log('skipped: bench/journal.test.ts needs PostgreSQL 15 or later')
const nothing = (): void => undefined

test.skipIf(postgresBin === null)(
  'LMDB and the journal are compared',
  async () => {
    const figures = await compareJournal(
      { scenario: 'typical', rounds: 1, cycleCount: 3, scale: 0.02 },
      nothing,
    )
    expect(figures.lmdbMs).toBeGreaterThan(0)
    expect(figures.journalMs).toBeGreaterThan(0)
    expect(figures.ratio).toBeCloseTo(figures.journalMs / figures.lmdbMs)
  },
  180_000,
)

test.skipIf(postgresBin === null)(
  'environments share a machine and a journal',
  async () => {
    const figures = await measureEnvironments(
      { environments: 2, periodS: 0.2, rounds: 2, scale: 0.02 },
      nothing,
    )
    expect(figures.latencyMs.count).toBe(4)
    expect(figures.mibPerEnvironment).toBeGreaterThan(10)
  },
  180_000,
)
