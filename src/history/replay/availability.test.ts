/** Replays of cycles whose texts were encoded, and whose images were stored or encoded, only afterwards. */
import { beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../../test/helpers/bodies.js'
import { EncodingModel, FakeImageEncoder, FakeTextEncoder } from '../../../test/helpers/encoding-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../../test/helpers/memory-store.js'
import type { HeadColumns } from '../../contract/index.js'
import { CycleService, Quarantine, StageClock, RequestBody } from '../../cycle/index.js'
import type { ModelInputs } from '../../model/index.js'
import type { Store } from '../../store/index.js'
import { replayedInputs } from './replayed-inputs.js'
import { replayCycles, type ReplayedCycle } from './replay.js'
import { VectorCache } from './vector-cache.js'

const [hash, otherHash] = ['a'.repeat(64), 'b'.repeat(64)]
const patience = { timeout: 20_000, interval: 5 }

let contents: MemoryContents
let store: Store
let service: CycleService
let text: FakeTextEncoder
let image: FakeImageEncoder
let model: EncodingModel
/** What the model received for the first cycle. */
let received: ModelInputs

/** Posts 1 to 3 are scored; the text of post 1 alone is encoded, and of the images of post 2 the one at position 4. */
beforeEach(async () => {
  contents = createMemoryContents()
  store = memoryStore({ contents })
  text = new FakeTextEncoder(hash)
  image = new FakeImageEncoder(hash)
  model = new EncodingModel('m1', text, image)
  const predict = vi.spyOn(model, 'predict')
  service = await CycleService.open({
    store,
    model: () => model,
    textEncodeMsMax: 1000,
    clock: () => cycleMs(1000),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: silentLog,
  })
  await service.models.adopt(model, null, () => undefined)
  await put(2, 4, 40)
  await vi.waitUntil(() => contents.embeddings.size === 1, patience)
  image.failing = true
  await put(2, 7, 70)
  await put(3, 1, 10)
  text.limits.push(1)
  const posts = [1, 2, 3]
  const body = cycleBody(0, {
    candidates: posts.map((post) => candidate('g', post, { title: `post ${post}` })),
    engagement: posts.map((post) => reading('g', post, cycleMs(0))),
  })
  await service.intake.submit(new RequestBody(bytesOf(body)), cycleMs(1000), new StageClock(0))
  received = structuredClone(predict.mock.calls[0]![0])
})

async function put(postNo: number, position: number, grey: number): Promise<void> {
  const key = { gallId: 'g', postNo, position }
  const sha256 = new Uint8Array(32).fill(grey)
  await store.putImage(key, {
    sha256,
    uploadedBytes: 1,
    width: 1,
    height: 1,
    normalised: Uint8Array.of(grey),
  })
  service.imageStored(key)
}

/** The background encodes everything, and further images arrive. */
async function later(): Promise<void> {
  image.failing = false
  await put(2, 1, 11)
  await put(1, 1, 12)
  // Three texts and five images.
  await vi.waitUntil(() => contents.embeddings.size === 8, patience)
}

async function replayed(): Promise<ReplayedCycle> {
  for await (const cycle of replayCycles(store, { from: 1, to: 1 })) return cycle
  return expect.fail('the cycle is stored')
}

async function headsOf(by: EncodingModel): Promise<HeadColumns> {
  const cache = new VectorCache(store)
  const encoding = { encodeMsMax: 1000, quarantine: new Quarantine(), onExcluded: () => expect.fail(), cache }
  const { inputs } = await replayedInputs(store, by, await replayed(), [0, 1, 2], encoding)
  return by.predict(inputs)
}

test('a replay has the images and texts of the time of the cycle, and gives the same heads', async () => {
  const heads = model.predicted[0]!
  expect([...(heads.p_views ?? [])].map((value) => value > 0)).toEqual([true, false, false])
  expect([...(heads.p_comments ?? [])].map((value) => value > 0)).toEqual([false, true, false])
  await later()
  const { inputState } = await replayed()
  const { imagesStored, imagesEncoded, textEncoded } = received
  expect(inputState).toEqual({ imagesStored, imagesEncoded, textEncoded })
  expect([...imagesStored]).toEqual([0, 2, 1])
  expect([...imagesEncoded]).toEqual([0, 1, 0])
  expect([...textEncoded]).toEqual([1, 0, 0])
  expect(await headsOf(model)).toEqual(heads)
})

test('another encoder gets all texts, and the images that were stored then', async () => {
  await later()
  const other = new EncodingModel('m2', new FakeTextEncoder(otherHash), new FakeImageEncoder(otherHash))
  const heads = await headsOf(other)
  expect([...(heads.p_views ?? [])].every((value) => value > 0)).toBe(true)
  const mean = Math.fround((Math.fround(40 / 255) + Math.fround(70 / 255)) / 2)
  expect([...(heads.p_comments ?? [])]).toEqual([0, expect.closeTo(mean, 6), Math.fround(10 / 255)])
})

test('a cycle whose record is missing cannot be replayed', async () => {
  contents.cycleRecords.remove(1)
  await expect(replayed()).rejects.toThrow('the store has no record at position 1')
})

test('a record that does not match its cycle is an error', async () => {
  contents.cycleRecords.put(1, Uint8Array.of(1, 2, 3))
  await expect(replayed()).rejects.toThrow()
})
