/**
 * Processes of one environment, each with a view in memory, on a real PostgreSQL: roles, takeover, views that follow, and
 * commits of which the outcome is unknown.
 */
import { describe, expect, test } from 'vitest'
import {
  cluster,
  isOwner,
  newEnvironment,
  openReplica,
  postgresBin,
  until,
} from '../../../test/helpers/journals.js'
import { withCalls } from '../../../test/helpers/journal-calls.js'
import { createMemoryContents } from '../../../test/helpers/memory-store.js'
import {
  bytesOf,
  cycleIdAt,
  cycleSample,
  imageSample,
  weightsSample,
} from '../../../test/helpers/store-samples.js'
import { StoreError } from '../store-error.js'
import type { FollowedChanges } from '../store.js'
import type { Journal } from './journal.js'

const key = { gallId: 'baseball', postNo: 7, position: 1 }

/** Sets when the lease ends or has ended. */
async function setLease(environment: string, secondsFromNow: number): Promise<void> {
  const end = `lease_until = now() + interval '${secondsFromNow} s'`
  const servers = await cluster()
  servers.sql(`update understudy.environment set ${end} where name = '${environment}'`, undefined, 'journal')
}

/** The owner and a standby of one environment. */
async function pair() {
  const environment = newEnvironment()
  const owner = await openReplica({ environment, name: 'one' })
  await isOwner(owner)
  const standby = await openReplica({ environment, name: 'two' })
  return { environment, owner, standby }
}

describe.skipIf(postgresBin === null)('processes of an environment', () => {
  test('a standby reads everything that the owner stores, and stores nothing itself', async () => {
    const { owner, standby } = await pair()
    const followed: FollowedChanges[] = []
    standby.onFollowed((changes) => Promise.resolve(void followed.push(changes)))
    const texts = { encoder: 'a'.repeat(64), entries: [{ key: bytesOf(7), vector: Float32Array.of(1, 2) }] }
    await owner.appendCycle(cycleSample(1, { record: bytesOf(1), texts }))
    await owner.savePool(1, bytesOf(2))
    await owner.putImage(key, imageSample(1))
    await owner.appendWeights(1, weightsSample('a', 0.1))
    await owner.putOutcomes([{ placementId: 'p', record: bytesOf(3), arrivedAtMs: 0 }])
    await owner.models.claimVersion('m', 'files')
    await until(() => standby.models.readIdentity('m') === 'files')
    expect(standby.role).toBe('standby')
    // This PostgreSQL has no standby.
    for (const { replication } of [owner, standby])
      expect(replication).toMatchObject({ isSynchronous: false, problem: null, epoch: 1 })
    expect(standby.readResponse(cycleIdAt(1))).toEqual(owner.readResponse(cycleIdAt(1)))
    expect(standby.readSavedPool(1)).toEqual(bytesOf(2))
    expect(standby.findImage(key)).toEqual(imageSample(1))
    expect([...standby.listWeights()]).toEqual([...owner.listWeights()])
    expect(standby.readOutcome('p')).toEqual(bytesOf(3))
    expect(standby.models.readEmbedding(texts.encoder, bytesOf(7))).toEqual(Float32Array.of(1, 2))
    await until(() => followed.some(({ imagesStored }) => imagesStored.length === 1))
    await expect(standby.appendCycle(cycleSample(2))).rejects.toMatchObject({ code: 'standby' })
    await owner.expiry.removeImages([
      { key, arrivedAtMs: owner.expiry.imagesAfter(null, 9).rows[0]!.arrivedAtMs },
    ])
    await until(() => standby.findImage(key) === undefined)
    await until(() => followed.some(({ imagesRemoved }) => imagesRemoved.length === 1))
  })

  test('after a hand-over, the standby owns the environment, and continues at the next position', async () => {
    const { owner, standby } = await pair()
    await owner.appendCycle(cycleSample(1))
    await owner.handOver()
    expect(owner.role).toBe('standby')
    await expect(owner.appendCycle(cycleSample(2))).rejects.toMatchObject({ code: 'standby' })
    await isOwner(standby)
    await expect(standby.appendCycle(cycleSample(1))).rejects.toMatchObject({ code: 'exists' })
    expect(await standby.appendCycle(cycleSample(2))).toBe(2)
  })

  test.each(['it can serve', 'nobody has taken it for five seconds'])(
    'a process that cannot serve leaves a free lease to others until %s',
    async (when) => {
      const environment = newEnvironment()
      const owner = await openReplica({ environment, name: 'one' })
      await isOwner(owner)
      let canServe = false
      let laterMs = 0
      let freeCount = 0
      const unable = await openReplica({
        environment,
        name: 'two',
        canServe: () => canServe,
        now: () => performance.now() + laterMs,
        wrap: (journal) =>
          withCalls(journal, {
            state: async () => {
              const state = await journal.state()
              if (state.isFree) freeCount++
              return state
            },
          }),
      })
      await owner.handOver()
      await setLease(environment, 60)
      laterMs += 5000
      await until(() => freeCount > 3)
      expect(unable.role).toBe('standby')
      if (when === 'it can serve') canServe = true
      else await setLease(environment, -5)
      await unable.tryToOwn()
      await isOwner(unable)
      expect(unable.replication?.epoch).toBe((owner.replication?.epoch ?? NaN) + 1)
    },
  )

  test.each([
    ['serves no longer', true, 8000],
    ['could never serve', false, 20_000],
  ])(
    'an owner that %s leaves the environment to a standby that can serve',
    async (_, couldServe, afterMs) => {
      const environment = newEnvironment()
      let canServe = couldServe
      let askedCount = 0
      let laterMs = 0
      /** Resolves when the owner has looked twice whether it can serve. */
      const asked = async (): Promise<void> => {
        const before = askedCount
        await until(() => askedCount > before + 1)
      }
      const unable = await openReplica({
        environment,
        name: 'one',
        now: () => performance.now() + laterMs,
        canServe: () => {
          askedCount++
          return canServe
        },
      })
      laterMs += 5000
      await setLease(environment, -5)
      await isOwner(unable)
      await asked()
      canServe = false
      await asked()
      const able = await openReplica({ environment, name: 'two' })
      expect(unable.role).toBe('owner')
      laterMs += afterMs
      await isOwner(able)
      expect(unable.role).toBe('standby')
      expect(await able.appendCycle(cycleSample(1))).toBe(1)
      // It takes the environment again as soon as it can serve.
      await able.handOver()
      await setLease(environment, 60)
      canServe = true
      await isOwner(unable)
    },
  )

  test('an owner that another process has replaced can store nothing, and follows it', async () => {
    const environment = newEnvironment()
    let acquireCount = 0
    const owner = await openReplica({
      environment,
      name: 'one',
      // It would take the lease again immediately.
      wrap: (journal) =>
        withCalls(journal, {
          acquire: (node) => (acquireCount++ === 0 ? journal.acquire(node) : Promise.resolve(null)),
        }),
    })
    await isOwner(owner)
    const standby = await openReplica({ environment, name: 'two' })
    await owner.appendCycle(cycleSample(1))
    const expire = `update understudy.environment set epoch = epoch + 1, lease_until = now() - interval '1 s', owner = 'nobody' where name = '${environment}'`
    ;(await cluster()).sql(expire, undefined, 'journal')
    await expect(owner.appendCycle(cycleSample(2, { response: bytesOf(1) }))).rejects.toMatchObject({
      code: 'standby',
    })
    await isOwner(standby)
    await standby.appendCycle(cycleSample(2, { response: bytesOf(2) }))
    await until(() => owner.findCycle(cycleIdAt(2)) !== undefined)
    expect(owner.readResponse(cycleIdAt(2))).toEqual(bytesOf(2))
  })

  test('a process that starts again has its lease and its view immediately', async () => {
    const environment = newEnvironment()
    const contents = createMemoryContents()
    const first = await openReplica({ environment, view: { contents } })
    await isOwner(first)
    await first.appendCycle(cycleSample(1))
    // It ends without freeing its lease.
    const second = await openReplica({ environment, view: { contents } })
    expect(second.lastCycle()?.cycleId).toBe(cycleIdAt(1))
    await isOwner(second)
    expect(await second.appendCycle(cycleSample(2))).toBe(2)
  })

  describe('a commit with an unknown outcome', () => {
    /** A journal that reports the next append as failed, before or after it is stored. */
    function faulty() {
      const fault = { next: null as 'lost' | 'stored' | null }
      const wrap = (journal: Journal): Journal =>
        withCalls(journal, {
          append: async (entry) => {
            const now = fault.next
            fault.next = null
            if (now === 'lost') throw new Error('lost')
            const isStored = await journal.append(entry)
            if (now === 'stored') throw new Error('lost')
            return isStored
          },
        })
      return { fault, wrap }
    }

    test.each(['lost', 'stored'] as const)(
      '%s: the process serves no requests until the outcome is known',
      async (kind) => {
        const { fault, wrap } = faulty()
        const store = await openReplica({ wrap })
        await isOwner(store)
        await store.appendCycle(cycleSample(1))
        let followed = 0
        store.onFollowed(() => {
          followed++
          return Promise.resolve()
        })
        fault.next = kind
        await expect(store.appendCycle(cycleSample(2))).rejects.toMatchObject({ code: 'failed' })
        expect(store.role).toBe('standby')
        await isOwner(store)
        expect(followed).toBeGreaterThan(0)
        expect(store.findCycle(cycleIdAt(2)) !== undefined).toBe(kind === 'stored')
        const again = store.appendCycle(cycleSample(2))
        if (kind === 'stored') await expect(again).rejects.toMatchObject({ code: 'exists' })
        else expect(await again).toBe(2)
        expect(await store.appendCycle(cycleSample(3))).toBe(3)
      },
    )

    test('a process that is stopped while it takes its lease again frees it', async () => {
      const { promise: stopped, resolve: proceed } = Promise.withResolvers<null>()
      let acquireCount = 0
      let state: Journal['state'] | null = null
      const store = await openReplica({
        wrap: (journal) => {
          state = () => journal.state()
          return withCalls(journal, {
            append: () => Promise.reject(new Error('lost')),
            acquire: async (node) => {
              if (++acquireCount === 2) await stopped
              return journal.acquire(node)
            },
          })
        },
      })
      await isOwner(store)
      await expect(store.appendCycle(cycleSample(1))).rejects.toMatchObject({ code: 'failed' })
      await until(() => acquireCount === 2)
      await store.handOver()
      proceed(null)
      await expect.poll(() => state?.()).toMatchObject({ epoch: 2, owner: null })
    })

    test('a view that cannot be written leaves the environment to another process', async () => {
      const environment = newEnvironment()
      let isFull = false
      const beforeWrite = (): void => {
        if (isFull) throw new StoreError('failed', 'no room')
      }
      const owner = await openReplica({ environment, name: 'one', view: { beforeWrite } })
      await isOwner(owner)
      await owner.appendCycle(cycleSample(1))
      const standby = await openReplica({ environment, name: 'two' })
      isFull = true
      await expect(owner.appendCycle(cycleSample(2))).rejects.toThrow('no room')
      await isOwner(standby)
      // The journal has it, and the repeat gets its response from there.
      expect(standby.findCycle(cycleIdAt(2))).toBeDefined()
      expect(await standby.appendCycle(cycleSample(3))).toBe(3)
    })
  })

  test('a version that a standby has loaded is claimed when it becomes the owner', async () => {
    const { owner, standby } = await pair()
    expect(await standby.models.claimVersion('m', 'files')).toBe('files')
    expect(standby.models.readIdentity('m')).toBeUndefined()
    await owner.handOver()
    await isOwner(standby)
    expect(standby.models.readIdentity('m')).toBe('files')
  })

  test('a standby that has loaded other files of a version leaves the environment to another process', async () => {
    const { environment, owner, standby } = await pair()
    await standby.models.claimVersion('m', 'other files')
    await owner.models.claimVersion('m', 'files')
    await owner.handOver()
    await until(() => standby.role === 'owner' || standby.replication?.problem !== null)
    expect(standby.replication?.problem).toContain('the version m has different files in the journal')
    const third = await openReplica({ environment, name: 'three' })
    await isOwner(third)
    expect(third.models.readIdentity('m')).toBe('files')
  })
})
