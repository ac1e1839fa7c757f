/** Repeated calls that are answered from memory. */
import { gzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs } from '../../../test/helpers/bodies.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import '../../../test/helpers/poisoned-memory.js'
import type * as Codec from '../../codec/index.js'
import { createMemoryStore, type FollowedChanges, type Store } from '../../store/index.js'
import { RequestBody } from './request-body.js'
import { CycleService } from '../service.js'
import { StageClock } from '../stage-clock.js'

let decodedCount = 0
vi.mock('../../codec/index.js', async (importActual) => {
  const actual = await importActual<typeof Codec>()
  const readCycle: typeof Codec.readCycle = (...args) => {
    decodedCount++
    return actual.readCycle(...args)
  }
  return { ...actual, readCycle }
})

const nowMs = cycleMs(1000)
const first = cycleBody(0, { candidates: [candidate('g', 1)] })

const open = (store: Store = createMemoryStore()): Promise<CycleService> => {
  const model = new FakeModel()
  return CycleService.open({
    store,
    model: () => model,
    clock: () => nowMs,
    log: silentLog,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
  })
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const submit = async (
  service: CycleService,
  json: Uint8Array,
  gzip: Uint8Array | null = null,
): Promise<string> => text(await service.intake.submit(new RequestBody(json, gzip), nowMs, new StageClock(0)))

test('a repeat is recognised by exactly its bytes, JSON or gzip, from the second one on', async () => {
  const service = await open()
  const json = bytesOf(first)
  const response = await submit(service, json)
  const gzip = gzipSync(json)
  for (const [arrived, isGzip, send] of [
    [json, false, () => submit(service, json)],
    [gzip, true, () => submit(service, json, gzip)],
  ] as const) {
    const known = (bytes: Uint8Array, asGzip = isGzip): string | undefined => {
      const found = service.intake.repeatedBefore(Buffer.from(bytes), asGzip)
      return found && `${found.cycle.cycleId} ${text(found.response)}`
    }
    expect(known(arrived)).toBeUndefined()
    await send()
    expect(known(arrived)).toBe(`${first.cycle_id} ${response}`)
    // JSON that is announced as gzip is not valid, and the reverse.
    expect(known(arrived, !isGzip)).toBeUndefined()
    for (let at = 0; at < arrived.length; at += 7) {
      const other = Buffer.from(arrived)
      other[at] = (other[at] ?? 0) ^ 1
      expect(known(other)).toBeUndefined()
    }
  }
})

test('a new cycle that arrives as gzip is recognised by these bytes at once, one that is not stored never', async () => {
  const store = createMemoryStore()
  const service = await open(store)
  const [json, later] = [bytesOf(first), bytesOf(cycleBody(1, { candidates: [candidate('g', 2)] }))]
  const response = await submit(service, json, gzipSync(json))
  const known = service.intake.repeatedBefore(gzipSync(json), true)
  expect([known?.cycle.cycleId, text(known!.response)]).toEqual([first.cycle_id, response])
  store.appendCycle = () => Promise.reject(new Error('no disk'))
  await expect(submit(service, later, gzipSync(later))).rejects.toThrow('no disk')
  expect(service.intake.repeatedBefore(gzipSync(later), true)).toBeUndefined()
})

test.each(['first', 'in the middle', 'last'])(
  'a repeat is recognised without being decoded when its id is %s',
  async (where) => {
    decodedCount = 0
    const service = await open()
    const { cycle_id, ...others } = first
    const sorted = Object.fromEntries(Object.entries(first).sort(([a], [b]) => (a < b ? -1 : 1)))
    const json = bytesOf({ first, 'in the middle': sorted, last: { ...others, cycle_id } }[where])
    const response = await submit(service, json)
    expect(await submit(service, json)).toBe(response)
    expect(service.intake.repeatedBefore(json, false)?.cycle.cycleId).toBe(cycle_id)
    expect(decodedCount).toBe(1)
  },
)

test('a body that shows the id of another stored cycle is the cycle that it says when it is decoded', async () => {
  const service = await open()
  await submit(service, bytesOf(first))
  const second = cycleBody(1, { candidates: [candidate('g', 2)] })
  const json = bytesOf({ nested: { cycle_id: first.cycle_id }, ...second })
  const response = await submit(service, json)
  expect(response).toContain(`"cycle_id":"${second.cycle_id}"`)
  expect(await submit(service, json)).toBe(response)
})

test('a repeat with other bytes and the same value has the response of the stored cycle', async () => {
  const service = await open()
  const response = await submit(service, bytesOf(first))
  expect(await submit(service, Buffer.from(JSON.stringify(first, null, 1)))).toBe(response)
  const hidden = Buffer.from(JSON.stringify(first).replace('cycle_id', String.raw`cycle\u005fid`))
  expect(await submit(service, hidden)).toBe(response)
})

test('no response comes from memory that the records of another process have replaced', async () => {
  let follow: (changes: FollowedChanges) => Promise<void> = () => Promise.resolve()
  const store = createMemoryStore()
  store.onFollowed = (listener) => void (follow = listener)
  const service = await open(store)
  await submit(service, bytesOf(first))
  service.intake.response(first.cycle_id)
  expect(service.lastCycle()?.cycleId).toBe(first.cycle_id)
  const other = createMemoryStore()
  Object.assign(store, {
    findCycle: other.findCycle.bind(other),
    lastCycle: other.lastCycle.bind(other),
  })
  await follow({ isComplete: false, imagesStored: [], imagesRemoved: [] })
  expect([service.intake.responseInMemory(first.cycle_id), service.lastCycle()]).toEqual([
    undefined,
    undefined,
  ])
})
