/** Retention on a real LMDB file, over simulated weeks of small cycles. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dayMs, silentLog } from '../../src/base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { FakeModel } from '../helpers/fake-model.js'
import type { CycleRequest } from '../../src/contract/index.js'
import {
  inspectRecords,
  openLmdbStore,
  openSnapshot,
  databasePath,
  type Store,
} from '../../src/store/index.js'
import type { RetentionLimits } from '../../src/cycle/retention.js'
import { CycleService, StageClock, RequestBody } from '../../src/cycle/index.js'
import { verifyCycles } from '../../src/history/index.js'

const perDay = 6
/** Of the grid of five minutes. */
const stride = 288 / perDay
const limits: RetentionLimits = { retainCyclesDays: 14, retainImagesDays: 7, retainOutcomesDays: 20 }
const atMs = (number: number): number => cycleMs(number * stride)
const note = 'x'.repeat(20_000)

let dataDir: string
let store: Store
let service: CycleService
let vector: Uint8Array
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'understudy-retention-'))
  vector = new Uint8Array(32)
  await open()
})
afterEach(async () => {
  await service.close()
  await store.close()
  rmSync(dataDir, { recursive: true })
})

async function open(): Promise<void> {
  store = await openLmdbStore({ dataDir })
  const model = new FakeModel()
  service = await CycleService.open({
    store,
    model: () => model,
    clock: () => atMs(10_000),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    retention: () => limits,
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: { ...silentLog, error: (fields) => expect.fail(String((fields as { err: unknown }).err)) },
  })
}

/** A post enters with each cycle and leaves a day later; post 1 stays permanently. */
function body(number: number): CycleRequest {
  return cycleBody(number * stride, {
    candidates: [candidate('g', number + 1, { body_html: `${note}${number}` })],
    engagement: [reading('g', 1, atMs(number)), reading('g', number + 1, atMs(number))],
    removals: number > perDay ? [removal('g', number + 1 - perDay)] : [],
  })
}

async function run(number: number, receivedAtMs = atMs(number)): Promise<Uint8Array> {
  const response = await service.intake.submit(
    new RequestBody(bytesOf(body(number))),
    receivedAtMs,
    new StageClock(0),
  )
  vector = Uint8Array.from(vector, (byte, index) => (index === 0 ? number : index === 1 ? number >> 8 : byte))
  const image = { sha256: vector, uploadedBytes: 9, width: 9, height: 9, normalised: new Uint8Array(5000) }
  const key = { gallId: 'g', postNo: number + 1, position: 1 }
  const arrivedAtMs = atMs(number)
  const textKey = Buffer.alloc(8)
  textKey.writeUInt32BE(number + 1)
  const record = bytesOf({ placed_at: new Date(arrivedAtMs).toISOString() })
  // One commit.
  await Promise.all([
    store.putImage(key, { ...image, arrivedAtMs }),
    // An image without a post.
    store.putImage({ ...key, gallId: 'nobody' }, { ...image, arrivedAtMs }),
    store.putOutcomes([{ placementId: `p${number}`, record, arrivedAtMs: 0 }]),
    store.models.putShadowScores(number + 1, 'shadow', vector),
    store.models.putEmbeddings('cd'.repeat(32), [
      { key: textKey, vector: Float32Array.of(1, 2) },
      { key: vector, vector: Float32Array.of(3, 4) },
    ]),
  ])
  service.imageStored(key)
  await service.retention.done()
  return response
}

async function recordCounts(): Promise<ReturnType<typeof inspectRecords> & { bytes: number }> {
  const snapshot = await openSnapshot(databasePath(dataDir))
  const problems: string[] = []
  const report = (problem: string): void => void problems.push(problem)
  const counts = inspectRecords(snapshot, report)
  await verifyCycles(snapshot.store, { report })
  await snapshot.store.close()
  expect(problems).toEqual([])
  return { ...counts, bytes: snapshot.bytes }
}

const submitted = (number: number): Promise<Uint8Array> =>
  service.intake.submit(new RequestBody(bytesOf(body(number))), atMs(9000), new StageClock(0))

describe('over weeks', () => {
  test('the records and the file reach a constant size, pass verify, and a restarted server continues from them', async () => {
    let number = 0
    let response = new Uint8Array()
    const runDays = async (days: number): Promise<void> => {
      for (const end = number + days * perDay; number < end; number++)
        response = Uint8Array.from(await run(number))
    }
    await runDays(24)
    const early = await recordCounts()
    await runDays(16)
    const late = await recordCounts()
    const kept = limits.retainCyclesDays * perDay
    expect(late.responses).toBe(kept + 1)
    // The records of cycles are kept as long as outcomes.
    expect(late.cycles).toBe(limits.retainOutcomesDays * perDay + 1)
    expect(late.shadow_scores).toBe(late.cycles)
    // The request that brought post 1.
    expect(late.requests).toBe(kept + 2)
    // Its columns too, if its record has expired.
    expect(late.cycle_records - late.cycles).toBeLessThanOrEqual(1)
    // A day pending, seven days remembered; for posts that never came, seven days after arrival.
    expect(late.images).toBeLessThanOrEqual(1 + 8 * perDay + 1 + 7 * perDay + 1)
    expect(late.images).toBe(early.images)
    expect(late.outcomes).toBe(limits.retainOutcomesDays * perDay + 1)
    expect(late.embeddings).toBe(early.embeddings)
    expect(late.cycle_ids).toBe(40 * perDay)
    expect(late.bytes).toBeLessThan(early.bytes * 1.15)

    // A restart, with the first record missing for long.
    await service.close()
    await store.close()
    await open()
    expect(service.pendingCount).toBe(1 + perDay)
    expect(() => service.intake.response(body(0).cycle_id)).toThrow('there is no cycle')
    await expect(submitted(0)).rejects.toThrow('has already been scored, and its record has expired')
    expect(Uint8Array.from(await submitted(number - 1))).toEqual(response)
    expect(await run(number)).toBeDefined()
    expect((await recordCounts()).responses).toBe(kept + 1)
  }, 120_000)

  test.each([
    ['before', 16],
    ['after', 22],
  ])(
    'the records of a post that leaves %s the record of its cycle has expired do not outlast it',
    async (_, days) => {
      const number = days * perDay
      for (let each = 0; each < number; each++) await run(each)
      expect(store.readRequest(1)).toBeDefined()
      expect(store.readRecord(1)).toBeDefined()
      const last = cycleBody(number * stride, { removals: [removal('g', 1)] })
      await service.intake.submit(new RequestBody(bytesOf(last)), atMs(number), new StageClock(0))
      await service.retention.done()
      expect(store.readRequest(1)).toBeUndefined()
      const { cycles, cycle_records } = await recordCounts()
      expect(cycle_records).toBe(cycles)
    },
    120_000,
  )
})

test('no record expires when the clock jumps a year ahead', async () => {
  for (let number = 0; number < 30; number++) await run(number)
  await run(30, atMs(30) + 365 * dayMs)
  await run(31)
  expect((await recordCounts()).cycles).toBe(32)
  expect(store.imagePositions('nobody', 1)).toEqual([1])
})

test('an outcome placed in a leap second expires with the others of its time', async () => {
  const outcome = (placed_at: string) => ({
    placementId: placed_at,
    arrivedAtMs: 0,
    record: Buffer.from(JSON.stringify({ placed_at })),
  })
  const placed = ['2023-12-31T23:59:59Z', '2024-01-01t08:59:60.5+09:00', 'some time']
  await store.putOutcomes(placed.map(outcome))
  await run(0)
  await service.retention.done()
  const stays = placed.map((id) => store.readOutcome(id) !== undefined)
  expect(stays).toEqual([false, false, true])
})

test('an outcome that has just arrived is kept, however long ago its post was placed', async () => {
  const record = Buffer.from(JSON.stringify({ placed_at: '2012-01-01T00:00:00Z' }))
  const put = (arrivedAtMs: number) => store.putOutcomes([{ placementId: 'p', record, arrivedAtMs }])
  await put(atMs(0))
  await run(0)
  await service.retention.done()
  expect(await put(atMs(0))).toEqual({ created: 0, updated: 1 })
  let number = 1
  for (; store.readOutcome('p') !== undefined; number++) {
    await run(number)
    await service.retention.done()
  }
  expect(number / perDay).toBeGreaterThan(limits.retainOutcomesDays)
  expect(number / perDay).toBeLessThan(limits.retainOutcomesDays + 2)
})

test('an outcome that arrives again unchanged after it was selected for removal is kept', async () => {
  const record = Buffer.from('{}')
  await store.putOutcomes([{ placementId: 'p', record, arrivedAtMs: atMs(0) }])
  const { expiry } = store
  const { rows: outcomes } = expiry.outcomesAfter(null, 10)
  await store.putOutcomes([{ placementId: 'p', record, arrivedAtMs: atMs(1) }])
  await expiry.removeOutcomes(outcomes)
  expect(store.readOutcome('p')).toBeDefined()
})

test('an outcome that is rewritten after it was selected for removal is kept, and the others are removed', async () => {
  const outcome = (id: string, text: string) => ({
    placementId: id,
    arrivedAtMs: 0,
    record: Buffer.from(JSON.stringify(text)),
  })
  await store.putOutcomes([outcome('a', 'old'), outcome('b', 'old')])
  const { expiry } = store
  const { rows: outcomes } = expiry.outcomesAfter(null, 10)
  await store.putOutcomes([outcome('b', 'new')])
  await expiry.removeOutcomes(outcomes)
  expect(store.readOutcome('a')).toBeUndefined()
  expect(Buffer.from(store.readOutcome('b') ?? []).toString()).toBe('"new"')
})

describe('an image', () => {
  const key = { gallId: 'lonely', postNo: 7, position: 1 }
  const dayAt = (day: number): number => atMs(day * perDay)
  const imageOf = (fill: number, arrivedAtMs?: number) => ({
    sha256: new Uint8Array(32).fill(fill),
    uploadedBytes: 9,
    width: 9,
    height: 9,
    normalised: new Uint8Array(500).fill(fill),
    ...(arrivedAtMs === undefined ? {} : { arrivedAtMs }),
  })
  const expiry = (): Store['expiry'] => store.expiry

  test('that is confirmed after it was selected for removal is kept, as is one removed and stored in the same commit', async () => {
    const other = { ...key, postNo: 8 }
    await store.putImage(key, imageOf(1, dayAt(0)))
    await store.putImage(other, imageOf(2, dayAt(0)))
    const { rows: images } = expiry().imagesAfter(null, 10)
    expect(await store.putImage(key, imageOf(1, dayAt(8)))).toBe('same')
    const [removed, result] = await Promise.all([
      expiry().removeImages(images),
      store.putImage(other, imageOf(2, dayAt(8))),
    ])
    expect([removed, result]).toEqual([[other], 'created'])
    expect(store.findImage(key)).toBeDefined()
    expect(store.findImage(other)).toBeDefined()
  })

  test('that is confirmed is kept for the full period from then on', async () => {
    await store.putImage(key, imageOf(1, dayAt(0)))
    await store.putImage({ ...key, position: 2 }, imageOf(2, dayAt(0)))
    for (let number = 0; number < 6 * perDay; number++) await run(number)
    await store.putImage(key, imageOf(1, dayAt(6)))
    for (let number = 6 * perDay; number < 9 * perDay; number++) await run(number)
    expect(store.imagePositions('lonely', 7)).toEqual([1])
    for (let number = 9 * perDay; number < 14 * perDay; number++) await run(number)
    expect(store.imagePositions('lonely', 7)).toEqual([])
  }, 120_000)

  test('that shares its bytes with others is removed without the vector; the last of them removes it', async () => {
    const other = { ...key, postNo: 8 }
    const { sha256 } = imageOf(1)
    const encoders = ['ab'.repeat(32), 'cd'.repeat(32)]
    for (const each of [key, other]) await store.putImage(each, imageOf(1, dayAt(0)))
    for (const encoder of encoders)
      await store.models.putEmbeddings(encoder, [{ key: sha256, vector: Float32Array.of(1, 2) }])
    const vectors = () => encoders.map((encoder) => store.models.readEmbedding(encoder, sha256)?.length)
    await expiry().removeImages([{ key, arrivedAtMs: dayAt(0) }])
    expect(vectors()).toEqual([2, 2])
    await expiry().removeImages([{ key: other, arrivedAtMs: dayAt(0) }])
    expect(vectors()).toEqual([undefined, undefined])
  })
})
