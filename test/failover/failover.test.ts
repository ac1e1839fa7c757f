/**
 * Rounds of faults while a client sends cycles, images, weights and outcomes: whatever fails, nothing that was acknowledged is
 * lost or changes, and somebody is ready again in time. FAILOVER_ROUNDS sets the number of rounds; `npm run test:failover`
 * runs 200.
 */
import { spawnSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { findPostgres } from '../helpers/postgres.js'
import { Client } from './client.js'
import { faults } from './faults.js'
import { Site } from './site.js'

const bin = findPostgres()
const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0
const rounds = Number(process.env['FAILOVER_ROUNDS'] ?? 5)
const first = Number(process.env['FAILOVER_FIRST'] ?? Math.floor(Math.random() * faults.length))
if (bin === null || !hasHaproxy)
  console.log('PostgreSQL 15 or HAProxy is not installed: test/failover is left out')

test.skipIf(bin === null || !hasHaproxy)(
  'nothing that was acknowledged is lost, and somebody is ready again in time',
  { timeout: 120_000 + rounds * 120_000 },
  async () => {
    const site = await Site.start(bin ?? '')
    const times = new Map<string, number[]>()
    try {
      const client = new Client(site.port, site.processes[0]?.server.key ?? '')
      for (let round = 0; round < rounds; round++) {
        // Three is prime to the number of faults: each comes in turn.
        const fault = faults[(first + round * 3) % faults.length] ?? expect.fail('there are faults')
        client.begin()
        await delay(1000)
        const owner = (await site.owner()) ?? expect.fail('nobody is the owner')
        await fault.inject(site, owner)
        const acknowledged = client.responses.length
        const startedAt = performance.now()
        await site.ready(fault.readyMsMax)
        while (client.responses.length <= acknowledged + 1) {
          client.throwProblem()
          if (performance.now() - startedAt > fault.readyMsMax + 15_000)
            expect.fail(`${fault.name}: no cycle is answered`)
          await delay(20)
        }
        const ms = Math.round(performance.now() - startedAt)
        times.set(fault.name, [...(times.get(fault.name) ?? []), ms])
        console.log(
          `round ${round + 1}: ${fault.name}: answered after ${ms} ms, ${client.responses.length} cycles`,
        )
        await fault.heal(site, owner)
        await site.ready(60_000)
        await client.end()
        if (round % 5 === 4 || round === rounds - 1) await client.check()
        for (const process of site.processes) if (!process.isRunning) await site.run(process)
      }
      const gaps = site.sql(
        'select count(*) from (select position, row_number() over (order by position) as row from understudy.cycle) c where position <> row',
      )
      expect(gaps).toBe('0')
    } finally {
      for (const [name, all] of times)
        console.log(`${name}: ${all.length} times, answered after at most ${Math.max(...all)} ms`)
      await site.remove()
    }
  },
)
