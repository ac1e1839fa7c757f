/**
 * The view of a journal in a data directory: what is read again, and which changes memory receives. Most of it on a real
 * PostgreSQL.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  cluster,
  isOwner,
  newEnvironment,
  openReplica,
  postgresBin,
  until,
} from '../../../test/helpers/journals.js'
import { withCalls } from '../../../test/helpers/journal-calls.js'
import {
  createMemoryContents,
  memoryParts,
  memoryStore,
  type MemoryContents,
} from '../../../test/helpers/memory-store.js'
import { bytesOf, cycleIdAt, cycleSample, imageSample } from '../../../test/helpers/store-samples.js'
import { silentLog } from '../../base/index.js'
import { openLmdbParts } from '../lmdb/open-lmdb-store.js'
import { kinds, lastPosition, type RecordDatabase } from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { FollowedChanges } from '../store.js'
import type { Change } from '../records/index.js'
import type { EntryMark, Journal } from './journal.js'
import { View } from './view.js'

const key = { gallId: 'baseball', postNo: 7, position: 1 }

/** An environment and the process that owns it. */
async function newOwner() {
  const environment = newEnvironment()
  const owner = await openReplica({ environment, name: 'one' })
  await isOwner(owner)
  return { environment, owner }
}

describe.skipIf(postgresBin === null)('the view of a journal', () => {
  test('an interrupted reading is reported completely when it resumes', async () => {
    const { environment, owner } = await newOwner()
    for (let i = 1; i <= 9; i++) await owner.appendCycle(cycleSample(i, { record: bytesOf(i) }))
    let isInterrupted = true
    const written = Promise.withResolvers<null>()
    const followed: FollowedChanges[] = []
    const standby = await openReplica({
      environment,
      name: 'two',
      wrap: (journal) =>
        withCalls(journal, {
          state: () => written.promise.then(() => journal.state()),
          follow: (from, apply, partial) => {
            let batchCount = 0
            return journal.follow(
              from,
              async (changes, isLast, head) => {
                if (isInterrupted && from.number > 0 && batchCount++ > 0) {
                  isInterrupted = false
                  throw new StoreError('failed', 'the connection is lost')
                }
                await apply(changes, isLast, head)
              },
              partial,
            )
          },
        }),
    })
    standby.onFollowed((changes) => Promise.resolve(void followed.push(changes)))
    await owner.putImage(key, imageSample(1))
    for (let i = 10; i <= 20; i++) await owner.appendCycle(cycleSample(i, { record: bytesOf(i) }))
    written.resolve(null)
    await until(() => standby.findCycle(cycleIdAt(20)) !== undefined && followed.length > 0)
    expect(isInterrupted).toBe(false)
    expect(followed[0]).toMatchObject({ isComplete: true })
  })

  test('a listener that fails is called again', async () => {
    const { environment, owner } = await newOwner()
    const standby = await openReplica({ environment, name: 'two' })
    const followed: FollowedChanges[] = []
    standby.onFollowed((changes) => {
      followed.push(changes)
      return followed.length === 1 ? Promise.reject(new Error('no memory')) : Promise.resolve()
    })
    await owner.putImage(key, imageSample(1))
    // Nothing else is written meanwhile.
    await until(() => followed.length === 2)
    expect(followed.map(({ isComplete }) => isComplete)).toEqual([false, true])
    expect(standby.replication?.problem ?? null).toBeNull()
  })

  test('a process owns nothing while its listeners fail: its memory may be out of date', async () => {
    const { environment, owner } = await newOwner()
    const standby = await openReplica({ environment, name: 'two' })
    let failureCount = 0
    let isFailing = true
    standby.onFollowed(() => {
      if (!isFailing) return Promise.resolve()
      failureCount++
      return Promise.reject(new Error('no memory'))
    })
    await owner.putImage(key, imageSample(1))
    await until(() => failureCount > 0)
    await owner.handOver()
    const before = failureCount
    await until(() => failureCount > before + 2)
    expect(standby.role).toBe('standby')
    isFailing = false
    await isOwner(standby)
  })

  test('a view that is lost is read again from the journal', async () => {
    const { environment, owner } = await newOwner()
    for (let i = 1; i <= 5; i++) await owner.appendCycle(cycleSample(i, { record: bytesOf(i) }))
    await owner.savePool(3, bytesOf(3))
    await owner.expiry.removeCycles([{ position: 1, keepEntry: false }])
    const fresh = await openReplica({ environment, name: 'fresh' })
    expect([...fresh.tail(1)]).toEqual([...owner.tail(1)])
    expect(fresh.readRequest(1)).toBeUndefined()
    expect(fresh.readRecord(1)).toEqual(bytesOf(1))
    expect(fresh.readRecord(5)).toEqual(bytesOf(5))
    expect(fresh.readSavedPool(3)).toEqual(bytesOf(3))
    expect(fresh.expiry.isExpired(cycleIdAt(1))).toBe(true)
  })

  test('a view with an entry that the journal has lost is read again', async () => {
    const { environment, owner } = await newOwner()
    const running = await openReplica({ environment, name: 'two' })
    const followed: FollowedChanges[] = []
    running.onFollowed((changes) => Promise.resolve(void followed.push(changes)))
    await owner.appendCycle(cycleSample(1, { record: bytesOf(1) }))
    await until(() => running.readRecord(1) !== undefined)
    const contents = createMemoryContents()
    const view = await openReplica({ environment, name: 'three', view: { contents } })
    await view.close()
    // As a promoted standby has it that never received the entry, and then another one of this number.
    const sql = (text: string) => cluster().then((servers) => servers.sql(text, undefined, 'journal'))
    await sql(`update understudy.entry set token = '${randomUUID()}' where environment = '${environment}'`)
    await sql(
      `update understudy.environment e set token = (select token from understudy.entry n where n.environment = e.name and n.number = e.head) where name = '${environment}'`,
    )
    await sql(`update understudy.record set value = null where environment = '${environment}' and kind = 4`)
    const again = await openReplica({ environment, name: 'three', view: { contents } })
    expect(again.readRecord(1)).toBeUndefined()
    expect(again.lastCycle()?.cycleId).toBe(cycleIdAt(1))
    // A running process reads it again too, and updates its memory.
    await until(() => followed.some(({ isComplete }) => isComplete))
    expect(running.readRecord(1)).toBeUndefined()
  })

  test('what an interrupted reading has taken from a database that was replaced does not stay in the view', async () => {
    const { environment, owner } = await newOwner()
    await owner.appendCycle(cycleSample(1))
    const contents = createMemoryContents()
    const first = await openReplica({ environment, name: 'three', view: { contents } })
    await first.close()
    for (let i = 2; i <= 9; i++) await owner.appendCycle(cycleSample(i, { record: bytesOf(i) }))
    let batchCount = 0
    const wrap = (journal: Journal): Journal =>
      withCalls(journal, {
        follow: (from, apply, partial) =>
          journal.follow(
            from,
            async (changes, isLast, head) => {
              if (batchCount++ > 0) throw new StoreError('failed', 'the process ended')
              await apply(changes, isLast, head)
            },
            partial,
          ),
      })
    await expect(openReplica({ environment, name: 'three', view: { contents }, wrap })).rejects.toThrow(
      'the process ended',
    )
    expect(batchCount).toBe(2)
    await owner.handOver()
    // The standby that is promoted has entry 1, and then others than those that were read.
    const sql = async (text: string) => (await cluster()).sql(text, undefined, 'journal')
    const of = `environment = '${environment}'`
    await sql(`delete from understudy.record where ${of} and entry > 1`)
    await sql(`delete from understudy.cycle where ${of} and position > 1`)
    await sql(`delete from understudy.entry where ${of} and number > 1`)
    await sql(
      `update understudy.environment e set head = 1, token = (select token from understudy.entry n where n.environment = e.name and n.number = 1) where name = '${environment}'`,
    )
    const fresh = await openReplica({ environment, name: 'two' })
    await isOwner(fresh)
    await fresh.appendCycle(cycleSample(2))
    const again = await openReplica({ environment, name: 'three', view: { contents } })
    await until(() => again.findCycle(cycleIdAt(2)) !== undefined)
    expect([...again.tail(1)]).toEqual([...fresh.tail(1)])
    expect(again.readRecord(2)).toEqual(cycleSample(2).record)
  })

  test('a data directory with cycles of its own is refused', async () => {
    const contents = createMemoryContents()
    await memoryStore({ contents }).appendCycle(cycleSample(1))
    await expect(openReplica({ view: { contents } })).rejects.toThrow('understudy journal import')
  })
})

describe('what a view was before', () => {
  const head: EntryMark = { number: 1, token: randomUUID() }
  const changeOf = (position: number): Change => ({ kind: 'responses', key: position, value: bytesOf(1) })
  const neverCalled = (): Promise<never> => Promise.reject(new Error('not expected'))

  /** A journal that can only be read. */
  const journalOf = (follow: Journal['follow'], id = 'first'): Journal => ({
    environment: 'e',
    id,
    append: neverCalled,
    renew: neverCalled,
    acquire: neverCalled,
    release: neverCalled,
    state: neverCalled,
    follow,
    prune: neverCalled,
    close: neverCalled,
  })
  /** Gives one change, and is then at its head, or loses the connection. */
  const reading =
    (change: Change, isInterrupted = false): Journal['follow'] =>
    async (_from, apply) => {
      await apply([change], !isInterrupted, head)
      if (isInterrupted) throw new StoreError('failed', 'the connection is lost')
      return { kind: 'followed', head }
    }
  const openView = (contents: MemoryContents, journal: Journal): View =>
    new View({ journal, view: memoryParts({ contents }), name: 'one', log: silentLog })

  test('a first reading that was interrupted begins again: what was removed meanwhile does not stay', async () => {
    const contents = createMemoryContents()
    const interrupted = openView(contents, journalOf(reading(changeOf(1), true)))
    await expect(interrupted.read()).rejects.toThrow('the connection is lost')
    expect([...contents.responses.getKeys({})]).toEqual([1])
    // The record and the mark of its removal are both gone from the journal.
    const view = openView(contents, journalOf(reading(changeOf(2))))
    expect(await view.read()).toMatchObject({ isComplete: true })
    expect([...contents.responses.getKeys({})]).toEqual([2])
  })

  test('so does one that is interrupted and begins again in the same process', async () => {
    const contents = createMemoryContents()
    let count = 0
    const journal = journalOf((...call) => reading(changeOf(++count), count === 1)(...call))
    const view = openView(contents, journal)
    await expect(view.read()).rejects.toThrow('the connection is lost')
    expect(await view.read()).toMatchObject({ isComplete: true })
    expect([...contents.responses.getKeys({})]).toEqual([2])
  })

  test('a view that was emptied in part has read nothing, also after a restart', async () => {
    const contents = createMemoryContents()
    const changes = (['responses', 'requests'] as const).map((kind) => ({ ...changeOf(1), kind }))
    const journal = journalOf(async (from, apply) => {
      if (from.number > 0) return { kind: 'diverged' }
      await apply(changes, true, head)
      return { kind: 'followed', head }
    })
    await openView(contents, journal).read()
    // The process ends at the second of the two writes that empty it.
    let writeCount = 0
    const view = memoryParts({
      contents,
      beforeWrite: () => {
        if (++writeCount > 1) throw new StoreError('failed', 'the process ended')
      },
    })
    const emptied = new View({ journal, view, name: 'one', log: silentLog })
    await expect(emptied.read()).rejects.toThrow('the process ended')
    expect(contents.responses.size + contents.requests.size).toBe(1)
    expect(openView(contents, journal).mark.number).toBe(0)
  })

  test('a view that has read one entry of an environment is refused by another one of its name', async () => {
    const contents = createMemoryContents()
    await openView(contents, journalOf(reading(changeOf(1)))).read()
    expect(() => openView(contents, journalOf(neverCalled, 'second'))).toThrow(
      'the environment was re-created',
    )
    expect(openView(contents, journalOf(neverCalled)).mark).toMatchObject(head)
  })

  test('a view that has not read an entry may be that of another environment of its name', async () => {
    const contents = createMemoryContents()
    const interrupted = openView(contents, journalOf(reading(changeOf(1), true)))
    await expect(interrupted.read()).rejects.toThrow('the connection is lost')
    const view = openView(contents, journalOf(reading(changeOf(2)), 'second'))
    await view.read()
    expect([...contents.responses.getKeys({})]).toEqual([2])
  })

  test('a data directory with cycles that the journal has lost is emptied and read again at the first try', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'understudy-view-'))
    const parts = await openLmdbParts({ dataDir })
    onTestFinished(async () => {
      await parts.close()
      await rm(dataDir, { recursive: true })
    })
    // Restored to the first cycle, and to the time before it.
    for (const count of [3, 1, 3, 0]) {
      const restored = { number: count, token: randomUUID() }
      const changes = await changesOfCycles(count)
      const journal = journalOf(async (from, apply) => {
        if (from.number > 0) return { kind: 'diverged' }
        if (count > 0) await apply(changes, true, restored)
        return { kind: 'followed', head: restored }
      })
      const view = new View({ journal, view: parts, name: 'one', log: silentLog })
      expect(await view.read()).toMatchObject({ isComplete: true })
      expect(lastPosition(parts.databases)).toBe(count)
      expect(view).toMatchObject({ isHealthy: true, mark: { number: count } })
    }
  })

  async function changesOfCycles(count: number): Promise<Change[]> {
    const contents = createMemoryContents()
    const store = memoryStore({ contents })
    for (let i = 1; i <= count; i++) await store.appendCycle(cycleSample(i))
    return kinds.flatMap((kind) => {
      const database: RecordDatabase<number | Uint8Array> = contents[kind]
      return [...database.getRange({})].map((row) => ({ kind, ...row }))
    })
  }
})
