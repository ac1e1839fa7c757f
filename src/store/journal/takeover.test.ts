/**
 * Processes of one environment on a real PostgreSQL that refuses writes or takeovers, and processes that lose the environment
 * while they prepare to own it.
 */
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import {
  cluster,
  isOwner,
  newEnvironment,
  openReplica,
  postgresBin,
  until,
} from '../../../test/helpers/journals.js'
import { withCalls } from '../../../test/helpers/journal-calls.js'
import { cycleIdAt, cycleSample, imageSample, weightsSample } from '../../../test/helpers/store-samples.js'
import { originMark, Refusal, type Journal } from './journal.js'

async function sql(text: string): Promise<void> {
  ;(await cluster()).sql(text, undefined, 'journal')
}

/** Ends the lease of an owner that does not notice it. */
function expire(environment: string): Promise<void> {
  return sql(
    `update understudy.environment set epoch = epoch + 1, owner = 'nobody', lease_until = now() - interval '1 s' where name = '${environment}'`,
  )
}

interface Logged {
  readonly message: string
  readonly error: unknown
}

/** A log, and what was written to it. */
function newLog() {
  const lines: Logged[] = []
  const write = (fields: object, message: string): void =>
    void lines.push({ message, error: 'err' in fields ? fields.err : null })
  return { lines, log: { ...silentLog, info: write, warn: write, error: write } }
}

describe.skipIf(postgresBin === null)('a write that the journal refuses', () => {
  const refused = new Refusal('duplicate key', false, null)

  test('rejects with the reason, which is logged; the owner goes on in its epoch, and the others in the batch are stored', async () => {
    const environment = newEnvironment()
    const { lines, log } = newLog()
    const store = await openReplica({ environment, log })
    await isOwner(store)
    await sql(`insert into understudy.cycle values ('${environment}', '${cycleIdAt(1)}', 99)`)
    const before = store.replication?.epoch
    for (let attempt = 0; attempt < 2; attempt++) {
      const outcomes = { placementId: `p${attempt}`, record: Uint8Array.of(attempt), arrivedAtMs: 0 }
      const key = { gallId: 'g', postNo: 1 + attempt, position: 1 }
      const writes = [
        store.putOutcomes([outcomes]),
        store.appendCycle(cycleSample(1)),
        store.putImage(key, imageSample(1)),
      ]
      const results = await Promise.allSettled(writes)
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(store.readOutcome(`p${attempt}`)).toEqual(outcomes.record)
      expect(store.findImage(key)).toBeDefined()
      expect(store.findCycle(cycleIdAt(1))).toBeUndefined()
      expect([store.role, store.replication?.epoch, store.healthy]).toEqual(['owner', before, true])
    }
    await expect(store.appendCycle(cycleSample(1))).rejects.toThrow(cycleIdAt(1))
    expect(store.replication?.problem).toContain(cycleIdAt(1))
    expect(
      lines.filter(({ message }) => message.startsWith('the journal refused a write'))[0]?.error,
    ).toMatchObject({
      cause: { code: '23505' },
    })
    // The next write is stored, and a retry too once the row is gone.
    expect(await store.appendCycle(cycleSample(2))).toBe(1)
    expect(store.replication?.problem).toBeNull()
    await sql(`delete from understudy.cycle where environment = '${environment}' and position = 99`)
    expect(await store.appendCycle(cycleSample(1))).toBe(2)
    expect(store.replication?.epoch).toBe(before)
  })

  test('for lack of rights makes the owner unhealthy, in its epoch, until it has them', async () => {
    const environment = newEnvironment()
    let isRefused = false
    const lacking = new Refusal('permission denied', true, null)
    const store = await openReplica({
      environment,
      wrap: (journal) =>
        withCalls(journal, {
          append: (entry) => (isRefused ? Promise.reject(lacking) : journal.append(entry)),
          state: async () => ({ ...(await journal.state()), problem: isRefused ? 'no rights' : null }),
        }),
    })
    await isOwner(store)
    isRefused = true
    await expect(store.appendCycle(cycleSample(1))).rejects.toBe(lacking)
    expect([store.role, store.healthy]).toEqual(['owner', false])
    await until(() => store.replication?.problem === 'no rights')
    expect([store.role, store.healthy, store.replication?.epoch]).toEqual(['owner', false, 1])
    isRefused = false
    await until(() => store.healthy)
    expect(await store.appendCycle(cycleSample(1))).toBe(1)
    await until(() => store.replication?.problem === null)
    expect(store.replication?.epoch).toBe(1)
  })

  test('for a row in the place of the next entry names the remedy, and works when the row is gone', async () => {
    const environment = newEnvironment()
    const owner = await openReplica({ environment, name: 'one' })
    await isOwner(owner)
    await owner.appendCycle(cycleSample(1))
    const head = owner.replication!.entry
    await sql(
      `insert into understudy.entry values ('${environment}', ${head + 1}, gen_random_uuid(), 1, now())`,
    )
    const outcomes = { placementId: 'p', record: Uint8Array.of(1), arrivedAtMs: 0 }
    for (const write of [() => owner.appendCycle(cycleSample(2)), () => owner.putOutcomes([outcomes])]) {
      await expect(write()).rejects.toThrow('remove it, or restore the journal from a backup')
      expect([owner.role, owner.healthy]).toEqual(['owner', false])
    }
    await sql(`delete from understudy.entry where environment = '${environment}' and number > ${head}`)
    await until(() => owner.healthy)
    expect(await owner.appendCycle(cycleSample(2))).toBe(2)
  })

  test('is no problem of a process any more that has lost the environment', async () => {
    const environment = newEnvironment()
    let mayAcquire = true
    const store = await openReplica({
      environment,
      name: 'one',
      wrap: (journal) =>
        withCalls(journal, {
          append: () => Promise.reject(refused),
          acquire: (node) => (mayAcquire ? journal.acquire(node) : Promise.resolve(null)),
        }),
    })
    await isOwner(store)
    mayAcquire = false
    await expect(store.appendCycle(cycleSample(1))).rejects.toBe(refused)
    expect(store.replication?.problem).toBe('duplicate key')
    await expire(environment)
    const other = await openReplica({ environment, name: 'two' })
    await isOwner(other)
    await other.appendCycle(cycleSample(1))
    await until(() => store.findCycle(cycleIdAt(1)) !== undefined)
    expect(store.replication?.problem).toBeNull()
  })

  test('during a takeover leaves the environment to others, instead of another epoch for each attempt', async () => {
    const environment = newEnvironment()
    let appendCount = 0
    let isRefused = true
    const store = await openReplica({
      environment,
      name: 'one',
      wrap: (journal) =>
        withCalls(journal, {
          append: (entry) => {
            appendCount++
            return isRefused ? Promise.reject(refused) : journal.append(entry)
          },
        }),
    })
    store.onFollowed(async () => {
      if (store.mayWrite) await store.appendWeights(1, weightsSample('a', 0.1))
    })
    await expire(environment)
    await until(() => appendCount > 0 && !store.mayWrite)
    const standby = await openReplica({ environment, name: 'two' })
    await isOwner(standby)
    const epoch = standby.replication?.epoch
    await standby.appendCycle(cycleSample(1))
    await until(() => store.findCycle(cycleIdAt(1)) !== undefined)
    expect(store.replication?.problem).toContain('an attempt to become the owner failed: duplicate key')
    isRefused = false
    expect([standby.role, standby.replication?.epoch]).toEqual(['owner', epoch])
  })
})

describe.skipIf(postgresBin === null)('an unknown outcome', () => {
  test('is logged with the error that came first', async () => {
    const { lines, log } = newLog()
    let isLost = false
    const first = new Error('the cable is out')
    const store = await openReplica({
      log,
      wrap: (journal) =>
        withCalls(journal, { append: (entry) => (isLost ? Promise.reject(first) : journal.append(entry)) }),
    })
    await isOwner(store)
    isLost = true
    await expect(store.appendCycle(cycleSample(1))).rejects.toMatchObject({ code: 'failed', cause: first })
    expect(lines.find(({ message }) => message.startsWith('commit outcome unknown'))?.error).toBe(first)
  })
})

describe.skipIf(postgresBin === null)('a database without a standby', () => {
  test('is a warning when it is noticed, and not with each renewal', async () => {
    const { lines, log } = newLog()
    let renewCount = 0
    const store = await openReplica({
      log,
      wrap: (journal) =>
        withCalls(journal, {
          renew: (epoch) => {
            renewCount++
            return journal.renew(epoch)
          },
        }),
    })
    await isOwner(store)
    await until(() => renewCount > 2)
    const warnings = lines.filter(({ message }) => message.includes('has no synchronous standby'))
    expect(warnings).toHaveLength(1)
  })
})

describe.skipIf(postgresBin === null)('a standby of the database', () => {
  test('that is there again is seen with the next renewal', async () => {
    const seen = { isSynchronous: false }
    const store = await openReplica({
      wrap: (journal) =>
        withCalls(journal, {
          renew: async (epoch) => {
            const lease = await journal.renew(epoch)
            return lease && { ...lease, ...seen }
          },
        }),
    })
    await isOwner(store)
    await until(() => store.replication?.isSynchronous === false)
    seen.isSynchronous = true
    await until(() => store.replication?.isSynchronous === true)
  })
})

describe.skipIf(postgresBin === null)('a takeover that failed', () => {
  /** A standby whose acquisitions can be made to fail, next to an owner. */
  async function standbyThatFails() {
    const environment = newEnvironment()
    const fault = { isOn: true, count: 0 }
    const owner = await openReplica({ environment, name: 'one' })
    await isOwner(owner)
    const standby = await openReplica({
      environment,
      name: 'two',
      wrap: (journal: Journal) =>
        withCalls(journal, {
          acquire: (node) => {
            if (!fault.isOn) return journal.acquire(node)
            fault.count++
            return Promise.reject(new Error('permission denied'))
          },
        }),
    })
    return { environment, owner, standby, fault }
  }

  test('is a problem of the standby while another process owns, until an attempt would succeed', async () => {
    const { environment, owner, standby, fault } = await standbyThatFails()
    expect(standby.replication?.problem).toBeNull()
    await owner.handOver()
    await until(() => fault.count > 1)
    expect(standby.replication?.problem).toContain('permission denied')
    const third = await openReplica({ environment, name: 'three' })
    await isOwner(third)
    await third.appendCycle(cycleSample(1))
    await until(() => standby.findCycle(cycleIdAt(1)) !== undefined)
    const before = fault.count
    await until(() => fault.count > before + 2)
    expect(standby.replication?.problem).not.toBeNull()
    fault.isOn = false
    await until(() => standby.replication?.problem === null)
    expect([standby.role, third.role]).toEqual(['standby', 'owner'])
    await third.handOver()
    await isOwner(standby)
    expect(await standby.appendCycle(cycleSample(2))).toBe(2)
  })

  test('is a problem as long as the lease is free, and none once the standby owns', async () => {
    const { owner, standby, fault } = await standbyThatFails()
    await owner.handOver()
    await until(() => fault.count > 1)
    expect(standby.replication?.problem).toBe('permission denied')
    fault.isOn = false
    await isOwner(standby)
    await until(() => standby.replication?.problem === null)
  })

  test('rights that a standby lacks are a problem although it never had to take over, and it follows nevertheless', async () => {
    const environment = newEnvironment()
    let rights: string | null = 'it lacks INSERT on understudy.entry'
    const owner = await openReplica({ environment, name: 'one' })
    await isOwner(owner)
    const standby = await openReplica({
      environment,
      name: 'two',
      wrap: (journal) =>
        withCalls(journal, { state: async () => ({ ...(await journal.state()), problem: rights }) }),
    })
    await owner.appendCycle(cycleSample(1))
    await until(() => standby.findCycle(cycleIdAt(1)) !== undefined)
    await until(() => standby.replication?.problem === rights)
    await owner.handOver()
    await until(() => standby.replication?.problem === rights)
    expect(standby.role).toBe('standby')
    rights = null
    await isOwner(standby)
    await until(() => standby.replication?.problem === null)
  })
})

describe.skipIf(postgresBin === null)('a process that lost and won the environment', () => {
  test.each(['reads what the last owner stored', 'prepares to own'])(
    'while its listeners ran, because it %s, has followed the other owner before it owns',
    async (when) => {
      const environment = newEnvironment()
      const isReading = when.startsWith('reads')
      const { promise: blocked, resolve: release } = Promise.withResolvers<null>()
      let isBlocked = false
      let mayAcquire = false
      let followedHead = originMark
      const acquired: number[] = []
      const first = await openReplica({ environment, name: 'first' })
      await isOwner(first)
      const store = await openReplica({
        environment,
        name: 'store',
        wrap: (journal) =>
          withCalls(journal, {
            // A standby that has nothing to read reads the last entries when it has acquired the lease.
            state: async () => {
              const state = await journal.state()
              return isReading ? { ...state, head: followedHead } : state
            },
            follow: async (from, apply, partial) => {
              const result = await journal.follow(from, apply, partial)
              if (result.kind === 'followed') followedHead = result.head
              return result
            },
            acquire: async (node) => {
              const lease = mayAcquire ? await journal.acquire(node) : null
              if (lease !== null) acquired.push(lease.epoch)
              return lease
            },
          }),
      })
      store.onFollowed(async () => {
        if (isBlocked || store.mayWrite === isReading) return
        isBlocked = true
        await blocked
      })
      await first.appendCycle(cycleSample(1))
      await first.handOver()
      mayAcquire = true
      await until(() => isBlocked)
      mayAcquire = false
      await expire(environment)
      const second = await openReplica({ environment, name: 'second' })
      await isOwner(second)
      expect(await second.appendCycle(cycleSample(2))).toBe(2)
      await second.handOver()
      mayAcquire = true
      await until(() => acquired.length === 2)
      expect([store.role, store.mayWrite]).toEqual(['standby', false])
      release(null)
      await isOwner(store)
      expect(store.findCycle(cycleIdAt(2))).toBeDefined()
      expect(store.replication?.epoch).toBe(acquired[1])
      expect(await store.appendCycle(cycleSample(3))).toBe(3)
    },
  )
})
