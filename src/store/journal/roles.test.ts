/**
 * When a process of an environment is the owner, to the millisecond, on a virtual clock: the journal answers late, or no more, or
 * does not let a process read.
 */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { withCalls } from '../../../test/helpers/journal-calls.js'
import { memoryParts } from '../../../test/helpers/memory-store.js'
import { SimProcess, SimServers, World } from '../../../test/helpers/sim-journal.js'
import { leaseMs, type Journal } from './journal.js'
import { Replica } from './replica.js'
import { leaseMarginMs, neverAbleMsMax, pollMs, renewMs, unableMsMax } from './times.js'

let world: World
let servers: SimServers

vi.mock(import('node:timers/promises'), async (original) => ({
  ...(await original()),
  setTimeout: <Value>(ms?: number, value?: Value) => world.wait(ms ?? 1).then(() => value as Value),
}))

beforeEach(() => {
  world = new World()
  servers = new SimServers(world, () => 0)
})

/** Of one statement of the simulation, there and back. */
const statementMs = 2
const lateMs = 5000
const never = (): Promise<never> => new Promise(() => undefined)

async function started(
  name: string,
  wrap: (journal: Journal) => Partial<Journal> = () => ({}),
  canServe: () => boolean = () => true,
): Promise<Replica> {
  const process = new SimProcess(world)
  const journal = servers.journalFor(process)
  const replica = new Replica({
    journal: withCalls(journal, wrap(journal)),
    view: memoryParts({}),
    name,
    now: process.now,
    sleep: process.sleep,
    log: silentLog,
    canServe: () => Promise.resolve(canServe()),
  })
  const starting = replica.start()
  await world.runUntil(world.nowMs + 100)
  await starting
  return replica
}

const roleIs = async (replica: Replica, role: 'owner' | 'standby'): Promise<void> => {
  for (let ms = 0; replica.role !== role && ms < 60_000; ms += 10) await world.runUntil(world.nowMs + 10)
  expect(replica.role).toBe(role)
}

/** Runs on in steps of a millisecond until the process is no owner; returns the time. */
const ownerUntil = async (replica: Replica): Promise<number> => {
  for (let ms = 0; replica.role === 'owner' && ms < 60_000; ms++) await world.runUntil(world.nowMs + 1)
  expect(replica.role).toBe('standby')
  return world.nowMs
}

describe('a lease counts from the start of the call that took it', () => {
  test.each(['renew', 'append', 'acquire'] as const)(
    'also if the response to `%s` is late, and the journal cannot be reached afterwards',
    async (name) => {
      let lateSinceMs = null as number | null
      let isLate = name === 'acquire'
      /** The first late call is the last one that has a response. */
      const late = <Result>(call: () => Promise<Result>): Promise<Result> => {
        if (lateSinceMs !== null) return never()
        if (!isLate) return call()
        lateSinceMs = world.nowMs
        return call().then((result) => world.wait(lateMs).then(() => result))
      }
      const replica = await started('one', (journal) => ({
        acquire: (node) => (name === 'acquire' ? late(() => journal.acquire(node)) : journal.acquire(node)),
        renew: (epoch) =>
          name === 'renew' || lateSinceMs !== null ? late(() => journal.renew(epoch)) : journal.renew(epoch),
        append: (entry) => late(() => journal.append(entry)),
        state: () => (lateSinceMs === null ? journal.state() : never()),
      }))
      await roleIs(replica, 'owner')
      isLate = true
      if (name === 'append') void replica.commit([{ kind: 'pool', key: 0, value: Uint8Array.of(1) }])
      for (let ms = 0; lateSinceMs === null && ms < 2 * renewMs; ms++) await world.runUntil(world.nowMs + 1)
      await world.runUntil(world.nowMs + lateMs + 100)
      expect(replica.role).toBe('owner')
      expect(await ownerUntil(replica)).toBe(lateSinceMs! + leaseMs - leaseMarginMs)
    },
  )

  test('an owner has left before another process can take the lease', async () => {
    let isCut = false
    const owner = await started('one', (journal) => ({
      renew: (epoch) => (isCut ? never() : journal.renew(epoch)),
    }))
    await roleIs(owner, 'owner')
    const standby = await started('two')
    isCut = true
    const leftMs = await ownerUntil(owner)
    expect(standby.role).toBe('standby')
    await roleIs(standby, 'owner')
    expect(world.nowMs - leftMs).toBeGreaterThanOrEqual(leaseMarginMs)
    expect(world.nowMs - leftMs).toBeLessThan(leaseMarginMs + 2 * pollMs)
  })
})

describe('a process is the owner once it has read the journal to its head', () => {
  /** Readings wait while this is true. */
  let isHeld: boolean
  const held = (journal: Journal): Partial<Journal> => ({
    follow: async (from, apply, partial) => {
      while (isHeld) await world.wait(1)
      return journal.follow(from, apply, partial)
    },
  })

  beforeEach(() => {
    isHeld = false
  })

  test('after it has taken the environment from another one', async () => {
    const owner = await started('one')
    await roleIs(owner, 'owner')
    const standby = await started('two', (journal) => ({
      ...held(journal),
      acquire: async (node) => {
        const lease = await journal.acquire(node)
        isHeld = lease !== null
        return lease
      },
    }))
    await commit(owner)
    void owner.stop()
    await world.runUntil(world.nowMs + leaseMs)
    expect(isHeld).toBe(true)
    expect(standby.role).toBe('standby')
    expect(standby.mayWrite).toBe(false)
    isHeld = false
    await roleIs(standby, 'owner')
    expect(standby.replication.entry).toBe(1)
  })

  test('after a commit of which it does not know whether it was stored', async () => {
    let isLost = false
    const owner = await started('one', (journal) => ({
      ...held(journal),
      append: async (entry) => {
        const isStored = await journal.append(entry)
        if (isLost) throw new Error('the connection is lost')
        return isStored
      },
    }))
    await roleIs(owner, 'owner')
    isLost = isHeld = true
    await expect(commit(owner)).rejects.toThrow('unknown')
    // It has the lease again meanwhile.
    await world.runUntil(world.nowMs + leaseMs)
    expect(owner.role).toBe('standby')
    expect(owner.mayWrite).toBe(false)
    isHeld = false
    await roleIs(owner, 'owner')
    expect(owner.replication.entry).toBe(1)
  })
})

describe('an owner that cannot serve', () => {
  test.each([
    ['releases the lease after some seconds', true, unableMsMax],
    ['that never could, later', false, neverAbleMsMax],
  ])('%s', async (_, couldServe, msMax) => {
    let canServe = couldServe
    const owner = await started('one', undefined, () => canServe)
    await roleIs(owner, 'owner')
    if (couldServe) {
      // At the renewal at which it could serve for the last time.
      await world.runUntil(world.nowMs + 2 * renewMs)
      canServe = false
    }
    const sinceMs = world.nowMs
    const ms = (await ownerUntil(owner)) - sinceMs
    // It looks at each renewal.
    expect(ms).toBeGreaterThanOrEqual(msMax - renewMs - 10 * statementMs)
    expect(ms).toBeLessThanOrEqual(msMax + renewMs + 10 * statementMs)
  })
})

async function commit(replica: Replica): Promise<void> {
  const committing = replica.commit([{ kind: 'pool', key: 0, value: Uint8Array.of(1) }])
  committing.catch(() => undefined)
  await world.runUntil(world.nowMs + 100)
  await committing
}
