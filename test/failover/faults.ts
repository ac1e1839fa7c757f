/**
 * The faults of the failover tests. Each one breaks something, waits until a process is ready again, and repairs what is
 * broken. All choices come from the seed.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../harness/rng.js'
import type { Database } from './database.js'
import type { Service } from './service.js'
import type { Site } from './site.js'

/** For another process to become ready after a fault. */
export const takeoverMsMax = 30_000
/** The same after a graceful stop. On an idle machine, 99 % take less than 3 s: run.ts checks that. */
const handOverMsMax = 10_000
/** Longer than the lease of 20 s, with the time for which a process looks at it. */
const longerThanLeaseMs = 25_000

export interface Round<RunSite = Site> {
  readonly site: RunSite
  readonly random: Random
  /** Runs `act`, then waits until a new cycle is acknowledged. The time counts from the start of `act`. */
  readonly outage: (limitMs: number, act: () => Promise<void> | void) => Promise<void>
  /** Runs `act` while the clock of the database is wrong. */
  readonly withWrongClock: (act: () => Promise<void>) => Promise<void>
  /** Runs `act` while the client sends nothing: what it was acknowledged before is in the journal. */
  readonly withoutTraffic: (act: () => Promise<void>) => Promise<void>
}

export interface Fault<RunSite = Site> {
  readonly name: string
  /** Why this site skips the fault; null: it does not. */
  readonly skipReason?: (site: RunSite) => string | null
  readonly run: (round: Round<RunSite>) => Promise<void>
}

const serviceFaults: readonly Fault[] = [
  {
    name: 'the owner is killed',
    run: async ({ site, outage }) => {
      const owner = await site.owner()
      await outage(takeoverMsMax, () => owner.kill())
      await owner.start()
    },
  },
  {
    name: 'the owner is stopped gracefully',
    run: async ({ site, outage }) => {
      const owner = await site.owner()
      await outage(handOverMsMax, () => owner.stop())
      await owner.start()
    },
  },
  {
    name: 'the owner is suspended for longer than the lease',
    run: async ({ site, outage }) => {
      const owner = await site.owner()
      const suspended = delay(longerThanLeaseMs)
      await outage(takeoverMsMax, () => owner.freeze())
      await suspended
      owner.thaw()
    },
  },
  {
    name: 'the owner is suspended for some seconds',
    run: async ({ site, random, outage }) => {
      const owner = await site.owner()
      await outage(takeoverMsMax, async () => {
        owner.freeze()
        await delay(1000 + random.below(8000))
        owner.thaw()
      })
    },
  },
  {
    name: 'a standby is killed',
    run: async ({ site, random, outage }) => {
      const standby = random.pick(await site.standbys())
      await outage(takeoverMsMax, () => standby.kill())
      await standby.start()
    },
  },
  {
    name: 'a standby is suspended',
    run: async ({ site, random, outage }) => {
      const standby = random.pick(await site.standbys())
      await outage(takeoverMsMax, () => standby.freeze())
      await delay(random.below(5000))
      standby.thaw()
    },
  },
  {
    name: 'all processes are killed',
    run: async ({ site, outage }) => {
      await outage(takeoverMsMax, async () => {
        await Promise.all(site.services.map((service) => service.kill()))
        await Promise.all(site.services.map((service) => service.start()))
      })
    },
  },
  {
    name: 'rolling deployment',
    run: async ({ site, outage }) => {
      for (const service of site.services) {
        await outage(handOverMsMax, () => service.stop())
        await service.start()
        await site.settle()
      }
    },
  },
  {
    name: 'the clock of the owner jumps',
    run: async ({ site, random, outage }) => {
      const owner = await site.owner()
      // By less than a cycle, back by less than a cycle may be early: otherwise it would be right to refuse cycles.
      const offsetMs = random.pick([200_000, -1500])
      await outage(takeoverMsMax, () => void (owner.clockOffsetMs = offsetMs))
      await delay(random.below(2000))
      owner.clockOffsetMs = 0
    },
  },
  {
    name: 'the clock of a standby jumps',
    run: async ({ site, random, outage }) => {
      const standby = random.pick(await site.standbys())
      const offsetMs = random.pick([86_400_000, -86_400_000])
      await outage(takeoverMsMax, () => void (standby.clockOffsetMs = offsetMs))
      await delay(random.below(2000))
      standby.clockOffsetMs = 0
    },
  },
]

const networkFaults: readonly Fault[] = [
  {
    name: 'the owner is cut off from the databases',
    run: async ({ site, outage }) => {
      const { links } = await site.owner()
      await outage(takeoverMsMax, () => setAll(links, 'cut'))
      setAll(links, 'open')
    },
  },
  {
    name: 'what the owner and the databases send is lost',
    run: async ({ site, outage }) => {
      const { links } = await site.owner()
      await outage(takeoverMsMax, () => setAll(links, 'blackhole'))
      await delay(3000)
      setAll(links, 'open')
    },
  },
  {
    name: 'the connections of the owner are reset',
    run: async ({ site, outage }) => {
      const { links } = await site.owner()
      await outage(takeoverMsMax, async () => {
        setAll(links, 'cut')
        await delay(100)
        setAll(links, 'open')
      })
    },
  },
  {
    name: 'the network of all processes is slow',
    run: async ({ site, random, outage }) => {
      const links = site.services.flatMap((service) => service.links)
      await outage(takeoverMsMax, () => setDelay(links, 50 + random.below(300)))
      await delay(3000)
      setDelay(links, 0)
    },
  },
  {
    name: 'replication is slow',
    run: async ({ site, random, outage }) => {
      const links = site.databases.linksOf(site.databases.primary)
      await outage(takeoverMsMax, () => setDelay(links, 50 + random.below(300)))
      await delay(3000)
      setDelay(links, 0)
    },
  },
]

const databaseFaults: readonly Fault[] = [
  {
    name: 'the primary is killed, and a standby is promoted',
    run: async ({ site: { databases }, outage }) => {
      const { primary } = databases
      await outage(takeoverMsMax, async () => {
        await primary.kill()
        await databases.promote()
      })
      await databases.rejoin(primary)
    },
  },
  {
    name: 'the primary is killed, and starts again',
    run: async ({ site: { databases }, random, outage }) => {
      const { primary } = databases
      await outage(takeoverMsMax, async () => {
        await primary.kill()
        await delay(random.below(2000))
        await primary.start()
      })
    },
  },
  {
    name: 'the primary is suspended, and continues',
    run: async ({ site: { databases }, random, outage }) => {
      await outage(takeoverMsMax, async () => {
        await databases.primary.freeze()
        await delay(1000 + random.below(14_000))
        databases.primary.thaw()
      })
    },
  },
  {
    name: 'the primary is suspended, and a standby is promoted',
    run: async ({ site: { databases }, outage }) => {
      const { primary } = databases
      await outage(takeoverMsMax, async () => {
        await primary.freeze()
        await delay(3000)
        await primary.kill()
        await databases.promote()
      })
      await databases.rejoin(primary)
    },
  },
  {
    name: 'the primary is suspended, replaced, and continues',
    run: async ({ site: { databases }, outage }) => {
      const { primary } = databases
      await outage(takeoverMsMax, async () => {
        await primary.freeze()
        await databases.promote()
      })
      // Two primaries: no standby follows this one, so no commit on it is confirmed.
      primary.thaw()
      await delay(5000)
      await outage(takeoverMsMax, () => primary.kill())
      await databases.rejoin(primary)
    },
  },
  {
    name: 'the primary is cut off from everything, and a standby is promoted',
    run: async ({ site, outage }) => {
      const { databases } = site
      const { primary } = databases
      const links = linksTo(site, primary)
      await outage(takeoverMsMax, async () => {
        setAll(links, 'blackhole')
        await databases.promote()
        // It is ended before it can be reached again, as Patroni does.
        await delay(5000)
        await primary.kill()
        setAll(links, 'open')
      })
      await databases.rejoin(primary)
    },
  },
  {
    name: 'planned change of the primary',
    run: async ({ site: { databases }, outage }) => {
      const { primary } = databases
      await outage(takeoverMsMax, async () => {
        await primary.stop()
        await databases.promote()
      })
      await databases.rejoin(primary)
    },
  },
  {
    name: 'a PostgreSQL standby is killed',
    run: async ({ site: { databases }, random, outage }) => {
      const standby = random.pick(databases.standbys)
      await outage(takeoverMsMax, () => standby.kill())
      await standby.start()
    },
  },
  {
    name: 'both PostgreSQL standbys are killed, and start again',
    run: async ({ site: { databases }, random, outage }) => {
      const { standbys } = databases
      await Promise.all(standbys.map((standby) => standby.kill()))
      await delay(1000 + random.below(12_000))
      await outage(takeoverMsMax, () => startAll(standbys))
    },
  },
  {
    name: 'the disk of the primary is full',
    skipReason: ({ databases }) =>
      databases.primary.canFillDisk ? null : 'the primary has no file system of its own: that needs root',
    run: async ({ site: { databases }, random, outage }) => {
      const { primary } = databases
      await primary.fillDisk()
      await delay(2000 + random.below(6000))
      await outage(takeoverMsMax, async () => {
        primary.freeDisk()
        // It ends if it cannot write its log.
        if (!(await primary.isAccepting())) {
          await primary.kill()
          await primary.start()
        }
      })
    },
  },
  {
    name: 'the clock of the primary jumps',
    skipReason: ({ databases }) => (databases.primary.canSetClock ? null : 'libfaketime is not installed'),
    run: async ({ site: { databases }, random, outage, withWrongClock }) => {
      const { primary } = databases
      await withWrongClock(async () => {
        await outage(takeoverMsMax, () => void (primary.clockOffsetS = random.pick([30, 3600, -10, -3600])))
        await delay(5000)
        await outage(takeoverMsMax, () => void (primary.clockOffsetS = 0))
        await delay(5000)
      })
    },
  },
  {
    name: 'the owner and the primary are killed together',
    run: async ({ site, outage }) => {
      const { databases } = site
      const { primary } = databases
      const owner = await site.owner()
      await outage(takeoverMsMax, async () => {
        await Promise.all([owner.kill(), primary.kill()])
        await databases.promote()
      })
      await databases.rejoin(primary)
      await owner.start()
    },
  },
]

const journalFaults: readonly Fault[] = [
  {
    name: 'the journal is restored to an earlier time',
    run: async ({ site, random, outage, withoutTraffic }) => {
      const stopped = random.pick(await site.standbys())
      await withoutTraffic(async () => {
        await site.saveJournal()
        // Entries that the restored journal lacks, in the data directory of each process.
        await site.storeOutcome(randomUUID())
        await site.settleViews()
        await stopped.stop()
        await site.restoreJournal()
      })
      await outage(takeoverMsMax, () => stopped.startAtOnce())
    },
  },
  {
    name: 'a standby was off for longer than the journal keeps entries',
    run: async ({ site, random, outage }) => {
      const standby = random.pick(await site.standbys())
      await standby.stop()
      await outage(takeoverMsMax, () => undefined)
      await site.pruneJournal()
      await outage(takeoverMsMax, () => standby.startAtOnce())
    },
  },
]

export const faults: readonly Fault[] = [
  ...serviceFaults,
  ...networkFaults,
  ...databaseFaults,
  ...journalFaults,
]

/** Of the short form: each kind of failure once. */
export const shortFaults: readonly Fault[] = [
  'the primary is killed, and a standby is promoted',
  'the owner is stopped gracefully',
  'the owner is suspended for longer than the lease',
  'the connections of the owner are reset',
  'the owner and the primary are killed together',
  'the journal is restored to an earlier time',
  'a standby was off for longer than the journal keeps entries',
].map(faultNamed)

export function faultNamed(name: string): Fault {
  const found = faults.find((fault) => fault.name === name)
  if (found === undefined) throw new Error(`no fault ${name}`)
  return found
}

/**
 * A commit that does not wait for a standby, and is lost with the primary. PostgreSQL is configured for it, so that the checker
 * must report a violation.
 */
export const lostCommit: Fault = {
  name: 'the primary is lost with commits that no standby has',
  run: async ({ site, outage }) => {
    const { databases } = site
    const { primary } = databases
    setAll(databases.linksOf(primary), 'blackhole')
    await outage(takeoverMsMax, () => undefined)
    await outage(takeoverMsMax, async () => {
      await primary.kill()
      setAll(databases.linksOf(primary), 'cut')
      await databases.promote()
      setAll(databases.linksOf(primary), 'open')
    })
    await databases.rejoin(primary)
  },
}

/** From the processes and from the other databases. */
function linksTo({ databases, services }: Site, server: Database): Service['links'] {
  const index = databases.servers.indexOf(server)
  return [...databases.linksOf(server), ...services.flatMap(({ links }) => links[index] ?? [])]
}

function setAll(links: Service['links'], mode: 'open' | 'cut' | 'blackhole'): void {
  for (const link of links) link.mode = mode
}

function setDelay(links: Service['links'], ms: number): void {
  for (const link of links) link.delayMs = ms
}

async function startAll(servers: readonly Database[]): Promise<void> {
  await Promise.all(servers.map((server) => server.start()))
}
