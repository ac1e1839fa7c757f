/** Expiry on a real LMDB file: the exact age, both clocks, and all records of what expires. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { minuteMs, silentLog } from '../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../test/helpers/bodies.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import '../../test/helpers/poisoned-memory.js'
import { formatInstant, type CycleRequest } from '../contract/index.js'
import {
  databasePath,
  inspectRecords,
  openLmdbStore,
  openSnapshot,
  StoreError,
  type Store,
} from '../store/index.js'
import { Retention } from './retention.js'
import { CycleService } from './service.js'
import { StageClock } from './stage-clock.js'
import { RequestBody } from './intake/index.js'

const perDay = 288
const dayMs = perDay * 5 * minuteMs
const retainCyclesDays = 10
/** The setting in force; a test may change it. */
let retainedDays: number
const key = { gallId: 'g', postNo: 1, position: 1 }
const image = { sha256: new Uint8Array(32).fill(7), uploadedBytes: 9, width: 9, height: 9 }

let dataDir: string
let retainOutcomesDays: number
/** What the service has logged as failures; null: a failure fails the test. */
let failures: object[] | null
let store: Store
let service: CycleService

beforeEach(async () => {
  retainOutcomesDays = 0
  failures = null
  retainedDays = retainCyclesDays
  dataDir = mkdtempSync(join(tmpdir(), 'understudy-retention-'))
  store = await openLmdbStore({ dataDir })
  service = await CycleService.open({
    store,
    model: () => new FakeModel(),
    textEncodeMsMax: 1000,
    clock: () => cycleMs(100 * perDay),
    limits: () => ({ clockSkewMs: 365 * dayMs, cyclesWaitingMax: 4 }),
    retention: () => ({ retainCyclesDays: retainedDays, retainImagesDays: 1, retainOutcomesDays }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: { ...silentLog, error: (fields) => failures?.push(fields) ?? expect.fail(JSON.stringify(fields)) },
  })
  onTestFinished(async () => {
    await service.close()
    await store.close()
    rmSync(dataDir, { recursive: true })
  })
})

/** Submits a cycle, received at `receivedAtMs`, and waits until what expires with it has been removed. */
async function submit(body: CycleRequest, receivedAtMs = Date.parse(body.cycle_time)): Promise<void> {
  await service.intake.submit(new RequestBody(bytesOf(body)), receivedAtMs, new StageClock(0))
  await service.retention.done()
}

const isStored = (index: number): boolean => store.findCycle(cycleBody(index).cycle_id) !== undefined

describe('a cycle', () => {
  test('is kept when it is exactly as old as the limit, and removed with the next cycle', async () => {
    await submit(cycleBody(0))
    await submit(cycleBody(retainCyclesDays * perDay))
    expect(isStored(0)).toBe(true)
    await submit(cycleBody(retainCyclesDays * perDay + 1))
    expect(isStored(0)).toBe(false)
  })

  test('has no response in memory after its removal', async () => {
    const { cycle_id } = cycleBody(0)
    await submit(cycleBody(0))
    service.intake.response(cycle_id)
    await submit(cycleBody(retainCyclesDays * perDay + 1))
    expect(service.intake.responseInMemory(cycle_id)).toBeUndefined()
  })

  test('that is old only by its cycle_time is kept', async () => {
    const lateMs = cycleMs(5 * perDay)
    await submit(cycleBody(0), lateMs)
    await submit(cycleBody((retainCyclesDays + 1) * perDay))
    expect(isStored(0)).toBe(true)
    await submit(cycleBody((retainCyclesDays + 6) * perDay))
    expect(isStored(0)).toBe(false)
  })

  test('that is old only by its arrival is kept', async () => {
    await submit(cycleBody(5 * perDay), cycleMs(0))
    await submit(cycleBody((retainCyclesDays + 1) * perDay))
    expect(isStored(5 * perDay)).toBe(true)
    await submit(cycleBody((retainCyclesDays + 6) * perDay))
    expect(isStored(5 * perDay)).toBe(false)
  })

  test('that is old is kept while one before it is recent', async () => {
    await submit(cycleBody(0), cycleMs(5 * perDay))
    await submit(cycleBody(1))
    await submit(cycleBody((retainCyclesDays + 1) * perDay))
    expect([isStored(0), isStored(1)]).toEqual([true, true])
    await submit(cycleBody((retainCyclesDays + 6) * perDay))
    expect([isStored(0), isStored(1)]).toEqual([false, false])
  })

  test('is kept while the newest cycle is not past the limit by its arrival and by its cycle_time', async () => {
    await submit(cycleBody(0))
    await submit(cycleBody(1), cycleMs((retainCyclesDays + 1) * perDay))
    expect(isStored(0)).toBe(true)
    await submit(cycleBody((retainCyclesDays + 1) * perDay), cycleMs(2))
    expect(isStored(0)).toBe(true)
    await submit(cycleBody((retainCyclesDays + 1) * perDay + 1))
    expect(isStored(0)).toBe(false)
  })

  test('is kept for eight days with a shorter limit: departures are known for seven', async () => {
    retainedDays = 1
    await submit(cycleBody(0))
    await submit(cycleBody(8 * perDay))
    expect(isStored(0)).toBe(true)
    await submit(cycleBody(8 * perDay + 1))
    expect(isStored(0)).toBe(false)
  })
})

test('an image whose removal fails after it is stored is not counted', async () => {
  await store.putImage(key, { ...image, normalised: Uint8Array.of(1), arrivedAtMs: cycleMs(0) })
  service.imageStored(key)
  const expiry = store.expiry
  const removeImages = expiry.removeImages.bind(expiry)
  vi.spyOn(expiry, 'removeImages').mockImplementation(async (images) => {
    await removeImages(images)
    throw new StoreError('failed', 'failed after it was stored')
  })
  // The log of this service fails the test's call.
  await expect(submit(cycleBody(3 * perDay))).rejects.toThrow(/code.*failed/)
  expect(store.findImage(key)).toBeUndefined()
  expect(service.images.positions('g', 1)).toEqual([])
})

test('an image that is uploaded again while it is removed is counted', async () => {
  await store.putImage(key, { ...image, normalised: Uint8Array.of(1), arrivedAtMs: cycleMs(0) })
  service.imageStored(key)
  const removeImages = store.expiry.removeImages.bind(store.expiry)
  vi.spyOn(store.expiry, 'removeImages').mockImplementation(async (images) => {
    const removed = await removeImages(images)
    await store.putImage(key, { ...image, normalised: Uint8Array.of(1), arrivedAtMs: cycleMs(3 * perDay) })
    service.imageStored(key)
    return removed
  })
  await submit(cycleBody(3 * perDay))
  expect(service.images.positions('g', 1)).toEqual([1])
})

test('images and outcomes are kept when they are exactly as old as the limit, and removed with the next cycle', async () => {
  retainOutcomesDays = 1
  await store.putImage(key, { ...image, normalised: Uint8Array.of(1), arrivedAtMs: cycleMs(0) })
  const outcome = (placementId: string, placedMs: number, arrivedAtMs: number) => ({
    placementId,
    record: bytesOf({ placed_at: formatInstant(placedMs) }),
    arrivedAtMs,
  })
  // Each is as old as the later of its two times.
  const outcomes = [
    outcome('placed late', cycleMs(0), cycleMs(-500)),
    outcome('sent late', cycleMs(-500), cycleMs(0)),
    outcome('old', cycleMs(-500), cycleMs(-500)),
  ]
  await store.putOutcomes(outcomes)
  const known = (): string[] =>
    outcomes.flatMap(({ placementId }) => (store.readOutcome(placementId) ? [placementId] : []))
  await submit(cycleBody(perDay))
  expect([store.findImage(key) !== undefined, known()]).toEqual([true, ['placed late', 'sent late']])
  await submit(cycleBody(perDay + 1))
  expect([store.findImage(key), known()]).toEqual([undefined, []])
})

test('while a cycle is removed, its response is not in memory', async () => {
  await submit(cycleBody(0))
  const { cycle_id } = cycleBody(0)
  expect(service.intake.responseInMemory(cycle_id)).toBeInstanceOf(Uint8Array)
  const remove = store.expiry.removeCycles.bind(store.expiry)
  const inMemory: unknown[] = []
  vi.spyOn(store.expiry, 'removeCycles').mockImplementation(async (cycles) => {
    inMemory.push(service.intake.responseInMemory(cycle_id))
    await remove(cycles)
  })
  await submit(cycleBody((retainCyclesDays + 1) * perDay))
  expect(inMemory).toEqual([null])
  expect(isStored(0)).toBe(false)
})

test('a response that is read while its cycle is removed does not come from memory when it is gone', async () => {
  await submit(cycleBody(0))
  const { cycle_id } = cycleBody(0)
  const remove = store.expiry.removeCycles.bind(store.expiry)
  const inMemory: unknown[] = []
  vi.spyOn(store.expiry, 'removeCycles').mockImplementation(async (cycles) => {
    service.intake.response(cycle_id)
    await remove(cycles)
    // It is gone, and the service does not know yet.
    inMemory.push(service.intake.responseInMemory(cycle_id))
  })
  await submit(cycleBody((retainCyclesDays + 1) * perDay))
  expect(inMemory).toEqual([undefined])
})

test('the newest response stays in memory although an older cycle is removed', async () => {
  await submit(cycleBody(0))
  const { cycle_id } = cycleBody((retainCyclesDays + 1) * perDay)
  await submit(cycleBody((retainCyclesDays + 1) * perDay))
  expect(isStored(0)).toBe(false)
  expect(service.intake.responseInMemory(cycle_id)).toBeInstanceOf(Uint8Array)
})

test('records of one kind that cannot be removed do not keep those of the others', async () => {
  await store.putImage(key, { ...image, normalised: Uint8Array.of(1), arrivedAtMs: cycleMs(0) })
  vi.spyOn(store.expiry, 'keptEntries').mockImplementation(() => {
    throw new StoreError('unusable', 'the stored request is damaged')
  })
  failures = []
  await submit(cycleBody(3 * perDay))
  expect(failures).toEqual([{ err: expect.objectContaining({ code: 'unusable' }) as StoreError }])
  expect(store.findImage(key)).toBeUndefined()
})

test('cycles that leave time for a single step each keep no kind of record', async () => {
  retainOutcomesDays = 1
  await store.putImage(key, { ...image, normalised: Uint8Array.of(1), arrivedAtMs: cycleMs(0) })
  await submit(cycleBody(0))
  // A cycle comes when each run has looked once whether there is none.
  let idleTurns = 0
  const names = ['oldestCycles', 'keptEntries', 'oldestRecords', 'imagesAfter', 'outcomesAfter'] as const
  const reads = names.map((name) => vi.spyOn(store.expiry, name))
  const retention = new Retention({
    store,
    limits: () => ({ retainCyclesDays, retainImagesDays: 1, retainOutcomesDays }),
    state: () => service.pool,
    isRecent: () => false,
    coverBySavedPool: () => Promise.resolve(),
    isIdle: () => idleTurns-- > 0,
    onCyclesExpire: () => undefined,
    onImagesRemoved: () => undefined,
    log: silentLog,
  })
  for (let cycle = 0; cycle < names.length; cycle++) {
    idleTurns = 1
    retention.wake(cycleMs(0))
    await retention.done()
  }
  for (const read of reads) expect(read).toHaveBeenCalledOnce()
})

test('the record of a cycle is kept as long as outcomes, and as long as its cycle', async () => {
  retainOutcomesDays = 20
  await submit(cycleBody(0))
  await submit(cycleBody(15 * perDay))
  expect(isStored(0)).toBe(false)
  expect(store.readRecord(1)).toBeDefined()
  expect([...store.recordedCycles()].map(({ cycleId }) => cycleId)).toEqual([
    cycleBody(0).cycle_id,
    cycleBody(15 * perDay).cycle_id,
  ])
  await submit(cycleBody(20 * perDay))
  expect(store.readRecord(1)).toBeDefined()
  await submit(cycleBody(20 * perDay + 1))
  expect(store.readRecord(1)).toBeUndefined()
  retainOutcomesDays = 1
  await submit(cycleBody(25 * perDay))
  expect(store.readRecord(2)).toBeDefined()
})

test('the record of a cycle stays while its response is stored, although both are old', async () => {
  retainOutcomesDays = 1
  await submit(cycleBody(0))
  // A cycle that arrived has stopped the removal of cycles, and not that of records.
  vi.spyOn(store.expiry, 'oldestCycles').mockReturnValueOnce([])
  await submit(cycleBody(retainCyclesDays * perDay + 1))
  expect(isStored(0)).toBe(true)
  expect(store.readRecord(1)).toBeDefined()
  await submit(cycleBody(retainCyclesDays * perDay + 2))
  expect(isStored(0)).toBe(false)
})

test('the record and the request of a cycle stay while a post that entered with it is pending', async () => {
  retainOutcomesDays = 1
  const late = retainCyclesDays * perDay
  await submit(cycleBody(0, { candidates: [candidate('g', 1)] }))
  for (const index of [late + 1, late + 2]) await submit(cycleBody(index))
  expect([...store.recordedCycles()].map(({ position }) => position)).toEqual([2, 3])
  expect([store.readRequest(1), store.readRecord(1)]).not.toContain(undefined)
  await submit(cycleBody(late + 3, { removals: [removal('g', 1)] }))
  expect([store.readRequest(1), store.readRecord(1)]).toEqual([undefined, undefined])
})

test('after expiry nothing is left of a cycle but its id and its record, and nothing of an image', async () => {
  await store.putImage(key, { ...image, normalised: Uint8Array.of(1), arrivedAtMs: cycleMs(0) })
  service.imageStored(key)
  const scored = [reading('g', 1, cycleMs(0))]
  await submit(cycleBody(0, { candidates: [candidate('g', 1)], engagement: scored }))
  await submit(cycleBody(1, { removals: [removal('g', 1)] }))
  // The post left seven days ago: its image is kept until then.
  await submit(cycleBody(1 + 7 * perDay))
  expect(store.findImage(key)).toBeDefined()
  await submit(cycleBody(2 + 7 * perDay))
  expect(store.findImage(key)).toBeUndefined()
  await submit(cycleBody(3 + retainCyclesDays * perDay))
  const snapshot = await openSnapshot(databasePath(dataDir))
  const counts = inspectRecords(snapshot, (problem) => expect.fail(problem))
  await snapshot.store.close()
  expect(counts).toMatchObject({
    cycles: 5,
    cycle_records: 5,
    requests: 3,
    responses: 3,
    cycle_ids: 5,
    // That of the last one is stored with a saved pool.
    chain: 5,
    images: 0,
    image_bytes: 0,
    image_uses: 0,
  })
})
