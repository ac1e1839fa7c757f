/**
 * A short form of `npm run test:failover`: FAILOVER_ROUNDS rounds (7). Then commits that no standby has are lost, and the
 * checker must find it.
 */
import { expect, test } from 'vitest'
import { findPostgres } from '../helpers/postgres.js'
import { failover } from './failover.js'
import { lostCommit, shortFaults } from './faults.js'
import { haproxyMissing } from './haproxy.js'
import { Site } from './site.js'

const bin = findPostgres()
const isMissing = bin === null || haproxyMissing
if (isMissing) console.log('skipped: test/failover/failover.test.ts needs PostgreSQL 15 or later and HAProxy')

const rounds = Number(process.env['FAILOVER_ROUNDS'] ?? 7)
const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 1_000_000)
const print = (line: string): void => console.log(`failover: ${line}`)

test.skipIf(isMissing)(
  `${rounds} rounds of faults lose nothing that was acknowledged`,
  async () => {
    const openSite = (): Promise<Site> => Site.start(bin!, { isSynchronous: true, hasClocks: false })
    const plan = { openSite, seed, rounds, faults: shortFaults, isOrdered: true, print }
    const { violations, counts } = await failover(plan)
    print(`seed ${seed}, ${JSON.stringify(counts)}`)
    expect(violations, `FAILOVER_SEED=${seed}`).toEqual([])
    expect(counts.rounds).toBe(rounds)
    expect(counts.cycles).toBeGreaterThan(rounds)
  },
  120_000 + rounds * 90_000,
)

test.skipIf(isMissing)(
  'the checker finds commits that were acknowledged without a standby and lost with the primary',
  async () => {
    // Commits do not wait for a standby.
    const openSite = (): Promise<Site> => Site.start(bin!, { isSynchronous: false, hasClocks: false })
    const plan = { openSite, seed, rounds: 1, faults: [lostCommit], print }
    const { violations } = await failover(plan)
    // The last one if copies of a call arrived before and after the loss.
    expect(violations.join('\n')).toMatch(/was acknowledged|those of the oracle|two different responses/)
  },
  180_000,
)
