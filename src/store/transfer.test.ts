/**
 * A data directory moves into the journal and back, and both copies hold every record.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../base/index.js'
import {
  cluster,
  isOwner,
  journalUrl,
  newEnvironment,
  openReplica,
  postgresBin,
  until,
} from '../../test/helpers/journals.js'
import { freePort } from '../../test/harness/server.js'
import {
  bytesOf,
  cycleIdAt,
  cycleSample,
  imageSample,
  weightsSample,
} from '../../test/helpers/store-samples.js'
import { openLmdbParts, openLmdbStore } from './lmdb/open-lmdb-store.js'
import { readViewState, writeViewState } from './records/index.js'
import { openStoreOnPostgres } from './open-postgres-store.js'
import { createEnvironment, journalStatus } from './journal/status.js'
import { detachDirectory, exportDirectory, importDirectory } from './transfer.js'

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'understudy-transfer-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

const key = { gallId: 'baseball', postNo: 7, position: 1 }
const image = { ...imageSample(1), normalised: new Uint8Array(3_000_000).map((_, i) => i % 253) }

async function recorded(): Promise<string> {
  const dataDir = await newDirectory()
  const store = await openLmdbStore({ dataDir })
  for (let i = 1; i <= 5; i++) await store.appendCycle(cycleSample(i, { record: bytesOf(i) }))
  await store.putImage(key, image)
  await store.appendWeights(1, weightsSample('a', 0.1))
  await store.putOutcomes([{ placementId: 'p', record: bytesOf(3), arrivedAtMs: 0 }])
  await store.savePool(5, bytesOf(9))
  await store.expiry.removeCycles([{ position: 1, keepEntry: true }])
  await store.close()
  return dataDir
}

/**
 * The records of `recorded`: five cycles of five records without one response, five links of the chain, three of an image, one of
 * weights, an outcome, a snapshot.
 */
const recordCount = 5 * 5 - 1 + 5 + 3 + 1 + 1 + 1

describe.skipIf(postgresBin === null)('import and export', () => {
  test('a data directory that was imported is served from the journal, and exported as it was', async () => {
    const [dataDir, journal, environment] = [await recorded(), await journalUrl(), newEnvironment()]
    const facts = await importDirectory({ journal, environment, directory: { dataDir } })
    expect(facts.records).toBe(recordCount)
    // The directory is a view: without the journal it is refused.
    await expect(openLmdbStore({ dataDir })).rejects.toThrow('is a view of a journal')
    const served = await openStoreOnPostgres({
      journal,
      environment,
      view: { dataDir },
      log: silentLog,
      hasModel: () => true,
    })
    await until(() => served.role === 'owner')
    expect(served.findImage(key)).toEqual(image)
    expect(await served.appendCycle(cycleSample(6))).toBe(6)
    await served.close()
    const copy = await newDirectory()
    const exported = await exportDirectory({ journal, environment, directory: { dataDir: copy } })
    expect(exported.records).toBeGreaterThan(facts.records)
    const store = await openLmdbStore({ dataDir: copy })
    expect([...store.tail(1)].map(({ cycleId }) => cycleId)).toEqual([2, 3, 4, 5, 6].map(cycleIdAt))
    expect(store.findImage(key)).toEqual(image)
    expect(store.readRecord(1)).toEqual(bytesOf(1))
    expect(store.readOutcome('p')).toEqual(bytesOf(3))
    expect([...store.listWeights()]).toEqual([weightsSample('a', 0.1)])
    expect(store.expiry.isExpired(cycleIdAt(1))).toBe(true)
    await store.close()
    expect((await journalStatus(journal)).environments).toContainEqual(
      expect.objectContaining({
        environment,
        owner: null,
        cycles: 6,
        lastCycleId: cycleIdAt(6),
        isComplete: true,
      }),
    )
  })

  test('an environment has its owner by host and directory, and no lease left after its end', async () => {
    const [journal, environment] = [await journalUrl(), newEnvironment()]
    const owner = 'host:/data'
    const store = await openReplica({ environment, name: owner })
    await until(() => store.role === 'owner')
    const status = async () =>
      (await journalStatus(journal)).environments.find((each) => each.environment === environment)
    expect(await status()).toMatchObject({ owner, epoch: 1, entry: 0, entryAgeS: null })
    await store.handOver()
    const ended = `update understudy.environment set lease_until = now() - interval '1 min' where name = '${environment}'`
    ;(await cluster()).sql(ended, undefined, 'journal')
    expect(await status()).toMatchObject({ owner: null, leaseSLeft: 0 })
  })

  test('an environment with data is not overwritten, nor is a directory', async () => {
    const [dataDir, journal, environment] = [await recorded(), await journalUrl(), newEnvironment()]
    const store = await openReplica({ environment })
    await until(() => store.role === 'owner')
    await expect(importDirectory({ journal, environment, directory: { dataDir } })).rejects.toThrow(
      'is owned by',
    )
    await store.appendCycle(cycleSample(1))
    await store.handOver()
    await expect(importDirectory({ journal, environment, directory: { dataDir } })).rejects.toThrow(
      'has data',
    )
    await expect(exportDirectory({ journal, environment, directory: { dataDir } })).rejects.toThrow(
      'has data',
    )
    await expect(
      exportDirectory({ journal, environment: 'none', directory: { dataDir: await newDirectory() } }),
    ).rejects.toThrow('no environment none')
  })

  test('a directory of an export that failed is not served', async () => {
    const [dataDir, journal, environment] = [await recorded(), await journalUrl(), newEnvironment()]
    await importDirectory({ journal, environment, directory: { dataDir } })
    const sql = async (text: string) => (await cluster()).sql(text, undefined, 'journal')
    // The last record that is read is of a kind that this program does not know.
    await sql(
      `insert into understudy.record values ('${environment}', 99, 'x', (select head from understudy.environment where name = '${environment}'), 'x')`,
    )
    const directory = { dataDir: await newDirectory() }
    await expect(exportDirectory({ journal, environment, directory })).rejects.toThrow('kind 99')
    await expect(openLmdbStore(directory)).rejects.toThrow('is a view of a journal')
    await expect(detachDirectory(directory)).rejects.toThrow('is an incomplete view')
  })

  test('a view of which a reading was interrupted is not detached: its records are those of no entry', async () => {
    const [dataDir, journal, environment] = [await recorded(), await journalUrl(), newEnvironment()]
    await importDirectory({ journal, environment, directory: { dataDir } })
    const { databases, writes, close } = await openLmdbParts({ dataDir })
    const state = readViewState(databases) ?? expect.fail('it is no view')
    const partial = { number: state.number + 1, token: randomUUID() }
    await writes.write(0, () => writeViewState(databases, { ...state, partial }))
    await close()
    await expect(detachDirectory({ dataDir })).rejects.toThrow('is an incomplete view')
    await expect(openLmdbStore({ dataDir })).rejects.toThrow('is a view of a journal')
  })

  test('an export that ended before its first record is repeated into the same directory', async () => {
    const [dataDir, journal, environment] = [await recorded(), await journalUrl(), newEnvironment()]
    await importDirectory({ journal, environment, directory: { dataDir } })
    const directory = { dataDir: await newDirectory() }
    const { databases, writes, close } = await openLmdbParts(directory)
    const state = {
      environment,
      id: randomUUID(),
      node: 'export',
      number: 0,
      token: randomUUID(),
      partial: null,
    }
    await writes.write(0, () => writeViewState(databases, state))
    await close()
    await exportDirectory({ journal, environment, directory })
    const store = await openLmdbStore(directory)
    expect(store.lastCycle()?.cycleId).toBe(cycleIdAt(5))
    await store.close()
  })

  test('a view whose journal is lost serves by itself, and can be imported again', async () => {
    const [dataDir, journal, environment] = [await recorded(), await journalUrl(), newEnvironment()]
    const directory = { dataDir }
    await expect(detachDirectory(directory)).rejects.toThrow('is not a view')
    await importDirectory({ journal, environment, directory })
    await expect(importDirectory({ journal, environment: newEnvironment(), directory })).rejects.toThrow(
      'understudy journal detach',
    )
    expect(await detachDirectory(directory)).toEqual({ environment, entry: 1 })
    const store = await openLmdbStore(directory)
    expect(store.lastCycle()?.cycleId).toBe(cycleIdAt(5))
    await store.close()
    expect((await importDirectory({ journal, environment: newEnvironment(), directory })).records).toBe(
      recordCount,
    )
  })

  test('a directory without data is refused, and not created', async () => {
    const [dataDir, journal, environment] = [
      join(await newDirectory(), 'none'),
      await journalUrl(),
      newEnvironment(),
    ]
    await expect(importDirectory({ journal, environment, directory: { dataDir } })).rejects.toThrow(
      'has no data',
    )
    expect(existsSync(dataDir)).toBe(false)
    expect((await journalStatus(journal)).environments).not.toContainEqual(
      expect.objectContaining({ environment }),
    )
  })

  test('a directory without a record becomes an environment that can be served', async () => {
    const [dataDir, journal, environment] = [await newDirectory(), await journalUrl(), newEnvironment()]
    await (await openLmdbStore({ dataDir })).close()
    expect(await importDirectory({ journal, environment, directory: { dataDir } })).toMatchObject({
      records: 0,
    })
    const store = await openReplica({ environment })
    await isOwner(store)
    expect(store.replication).toMatchObject({ entry: 1, problem: null })
  })

  test('an environment that the journal does not have is refused with the names of those that it has', async () => {
    const [journal, known, environment] = [await journalUrl(), newEnvironment(), newEnvironment()]
    await createEnvironment(journal, known)
    await createEnvironment(journal, known)
    const opening = openStoreOnPostgres({
      journal,
      environment,
      view: { dataDir: await newDirectory() },
      log: silentLog,
      hasModel: () => true,
    })
    await expect(opening).rejects.toThrow(`understudy journal create ${environment}`)
    await expect(opening).rejects.toThrow(known)
  })

  test('a user that can read the journal but not write to it is refused at startup, until it has the rights', async () => {
    const [journal, environment, dataDir] = [await journalUrl(), newEnvironment(), await newDirectory()]
    await createEnvironment(journal, environment)
    const url = new URL(journal)
    url.username = 'reader'
    const sql = async (text: string) => (await cluster()).sql(text, undefined, 'journal')
    await sql('create user reader')
    await sql('grant usage on schema understudy to reader')
    await sql('grant select on all tables in schema understudy to reader')
    const open = () =>
      openStoreOnPostgres({
        journal: url.href,
        environment,
        view: { dataDir },
        log: silentLog,
        hasModel: () => true,
      })
    await expect(open()).rejects.toMatchObject({
      code: 'unusable',
      message: expect.stringContaining('the user reader cannot write to the journal') as string,
    })
    await sql('grant all on all tables in schema understudy to reader')
    const store = await open()
    await until(() => store.role === 'owner')
    await store.close()
  })

  test('the status has a line for each server of the address', async () => {
    const journal = await journalUrl()
    const port = await freePort()
    const { servers } = await journalStatus(journal.replace(/@([^/]*)/, `@127.0.0.1:${port},$1`))
    expect(servers.map(({ state }) => state)).toEqual([
      expect.stringContaining('ECONNREFUSED'),
      'primary, timeline 1',
    ])
  })

  test('an environment whose import was interrupted is refused, and imported again from the start', async () => {
    const [dataDir, journal, environment] = [await recorded(), await journalUrl(), newEnvironment()]
    const options = { journal, environment, directory: { dataDir } }
    await importDirectory(options)
    const sql = async (text: string) => (await cluster()).sql(text, undefined, 'journal')
    await sql(`update understudy.environment set is_complete = false where name = '${environment}'`)
    await expect(openReplica({ environment })).rejects.toThrow('journal import')
    const facts = await importDirectory({ ...options, directory: { dataDir: await recorded() } })
    expect(facts.records).toBe(recordCount)
    await openReplica({ environment })
  })
})
