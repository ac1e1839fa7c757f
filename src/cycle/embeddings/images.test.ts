/** Vectors of images through whole cycles: encoded once, in the background, and never those of another post. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { removal } from '../../../test/helpers/bodies.js'
import { callsOf, serviceParts, titledCycle as cycle } from '../../../test/helpers/cycle-service.js'
import { EncodingModel, FakeImageEncoder } from '../../../test/helpers/encoding-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../../test/helpers/memory-store.js'
import '../../../test/helpers/poisoned-memory.js'
import { nextTurn } from '../../base/index.js'
import type { CycleResponse } from '../../contract/index.js'
import { openLmdbStore, StoreError, type FollowedChanges, type Store } from '../../store/index.js'
import { CycleService } from '../service.js'

const hash = 'a'.repeat(64)
const otherHash = 'b'.repeat(64)
const patience = { timeout: 20_000, interval: 5 }

let contents: MemoryContents
let store: Store
let model: EncodingModel
let service: CycleService

/** A service that `first` serves; the store is what a restart would find. */
async function open(first: EncodingModel, on: Store = memoryStore({ contents })): Promise<CycleService> {
  store = on
  const opened = await CycleService.open(serviceParts({ store, model: () => model }))
  await opened.models.adopt(first, null, () => (model = first))
  return opened
}

async function adopt(next: EncodingModel): Promise<void> {
  await service.models.adopt(next, model, () => (model = next))
}

const { responseTo: submit } = callsOf(() => service)

function comments({ results }: CycleResponse): Record<number, number> {
  return Object.fromEntries(results.map((row) => [row.post_no, Math.fround(row.p_comments ?? NaN)]))
}

beforeEach(() => {
  contents = createMemoryContents()
})

describe('an image', () => {
  let image: FakeImageEncoder

  beforeEach(async () => {
    image = new FakeImageEncoder(hash)
    service = await open(new EncodingModel('m1', null, image))
  })

  /** The image `grey` is the image at `position` of a post. */
  async function put(post: number, position: number, grey: number): Promise<void> {
    const key = { gallId: 'g', postNo: post, position }
    const sha256 = new Uint8Array(32).fill(grey)
    const normalised = Uint8Array.of(grey)
    await store.putImage(key, { sha256, uploadedBytes: 1, width: 1, height: 1, normalised })
    service.imageStored(key)
  }

  let cycleCount = 0

  const encodedCount = (count: number): Promise<boolean> =>
    vi.waitUntil(() => contents.embeddings.size === count, patience)

  test('is encoded in the background, and pooled in the order of positions', async () => {
    // Added up in any other order, these are not 1.
    for (const [grey, value] of [
      [1, 1e16],
      [2, -1e16],
      [3, 1],
    ] as const)
      image.values.set(grey, value)
    await submit(cycle(0, [1], [1]))
    for (const position of [3, 1, 2]) await put(1, position, position)
    await encodedCount(3)
    expect(comments(await submit(cycle(1, [], [1])))).toEqual({ 1: Math.fround(1 / 3) })
  })

  test('is encoded once, even if two posts have it and the service restarts', async () => {
    await submit(cycle(0, [1, 2], [1, 2]))
    await put(1, 1, 51)
    await put(2, 1, 51)
    await encodedCount(1)
    await put(2, 2, 102)
    await encodedCount(2)
    expect(comments(await submit(cycle(1, [], [1, 2])))).toEqual({
      1: Math.fround(0.2),
      2: Math.fround(0.3),
    })
    expect(image.encodedImages).toEqual([51, 102])
    await service.close()
    const fresh = new FakeImageEncoder(hash)
    service = await open(new EncodingModel('m1', null, fresh))
    expect(comments(await submit(cycle(2, [], [1, 2])))[2]).toBe(Math.fround(0.3))
    expect(fresh.encodedImages).toEqual([])
  })

  test('is encoded for the model that serves, and not for the one before it', async () => {
    const next = new FakeImageEncoder(otherHash)
    await adopt(new EncodingModel('m2', null, next))
    await put(1, 1, 51)
    await vi.waitUntil(() => next.encodedImages.length === 1, patience)
    expect([image.encodedImages, next.encodedImages]).toEqual([[], [51]])
  })

  test('whose vector the store refuses is encoded again after the next cycle', async () => {
    await submit(cycle(0, [1], [1]))
    const putEmbeddings = store.models.putEmbeddings.bind(store.models)
    let refusals = 0
    store.models.putEmbeddings = () => Promise.reject(new StoreError('full', `no room ${++refusals}`))
    await put(1, 1, 51)
    await vi.waitUntil(() => refusals === 1, patience)
    store.models.putEmbeddings = putEmbeddings
    await submit(cycle(1, [], [1]))
    await encodedCount(1)
    expect(comments(await submit(cycle(2, [], [1])))).toEqual({ 1: Math.fround(0.2) })
  })

  test('without a vector is encoded with the next upload of its post', async () => {
    await submit(cycle(0, [1], [1]))
    await put(1, 1, 51)
    await encodedCount(1)
    for (const key of contents.embeddings.getKeys({})) contents.embeddings.remove(key)
    await put(1, 2, 102)
    await encodedCount(2)
    expect(comments(await submit(cycle(1, [], [1])))).toEqual({ 1: Math.fround(0.3) })
  })

  test('that expires leaves its vector to a pending post with the same image', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'understudy-embeddings-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true }))
    service = await open(model, await openLmdbStore({ dataDir }))
    await submit(cycle(0, [1], [1]))
    await put(1, 1, 51)
    await put(2, 1, 51)
    await put(2, 2, 204)
    await vi.waitUntil(() => image.encodedImages.length === 2, patience)
    const old = store.expiry.imagesAfter(null, 10).rows.filter(({ key }) => key.postNo === 2)
    const removed = await store.expiry.removeImages(old)
    expect(removed).toHaveLength(2)
    await put(1, 2, 102)
    await vi.waitUntil(() => image.encodedImages.length === 3, patience)
    await vi.waitUntil(
      async () => comments(await submit(cycle(++cycleCount, [], [1])))[1] === Math.fround(0.3),
      patience,
    )
    expect(image.encodedImages).toEqual([51, 204, 102])
    await service.close()
    await store.close()
  })

  test('that is removed is no longer pooled', async () => {
    await put(1, 1, 51)
    await put(1, 2, 102)
    await encodedCount(2)
    const { rows: images } = store.expiry.imagesAfter(null, 10)
    await store.expiry.removeImages(images.filter(({ key }) => key.position === 1))
    service.imagesRemoved([{ gallId: 'g', postNo: 1, position: 1 }])
    expect(comments(await submit(cycle(0, [1], [1])))).toEqual({ 1: Math.fround(0.4) })
  })

  async function removeAll(): Promise<void> {
    const { rows } = store.expiry.imagesAfter(null, 10)
    await store.expiry.removeImages(rows)
    service.imagesRemoved(rows.map(({ key }) => key))
  }

  test('that is removed while a model is tried is in its first batch only', async () => {
    await submit(cycle(0, [1], [1]))
    await put(1, 1, 51)
    await encodedCount(1)
    const next = new EncodingModel('m2', null, image)
    next.blockedBy = new Promise((resolve) => {
      vi.spyOn(next, 'predict').mockImplementationOnce((inputs) => {
        void removeAll().then(resolve)
        return next.predict(inputs)
      })
    })
    await adopt(next)
    expect(next.predicted.map(({ p_comments }) => p_comments)).toEqual([
      Float32Array.of(0.2),
      Float32Array.of(0),
    ])
  })

  test('that arrived before its post is used when the post enters', async () => {
    await put(1, 1, 51)
    await encodedCount(1)
    expect(comments(await submit(cycle(0, [1], [1])))).toEqual({ 1: Math.fround(0.2) })
  })

  test('of a post that left and entered again is not encoded again', async () => {
    await submit(cycle(0, [1], [1]))
    await put(1, 1, 51)
    await encodedCount(1)
    await submit({ ...cycle(1, [], []), removals: [removal('g', 1)] })
    expect(comments(await submit(cycle(2, [1], [1])))).toEqual({ 1: Math.fround(0.2) })
    expect(image.encodedImages).toEqual([51])
  })

  test('that arrived while its process was a standby is encoded when the process becomes the owner', async () => {
    await submit(cycle(0, [1], [1]))
    await service.close()
    const owner = memoryStore({ contents })
    let mayWrite = false
    let follow: (changes: FollowedChanges) => Promise<void> = () => Promise.resolve()
    const standby = Object.create(memoryStore({ contents }), {
      mayWrite: { get: () => mayWrite },
      onFollowed: { value: (listener: typeof follow) => (follow = listener) },
    }) as Store
    service = await open(new EncodingModel('m1', null, image), standby)
    const key = { gallId: 'g', postNo: 1, position: 1 }
    const sha256 = new Uint8Array(32).fill(7)
    await owner.putImage(key, {
      sha256,
      uploadedBytes: 1,
      width: 1,
      height: 1,
      normalised: Uint8Array.of(7),
    })
    await follow({ isComplete: false, imagesStored: [key], imagesRemoved: [] })
    // Whatever runs in the background after that.
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    expect(image.encodedImages).toEqual([])
    mayWrite = true
    await follow({ isComplete: false, imagesStored: [], imagesRemoved: [] })
    await encodedCount(1)
    expect(image.encodedImages).toEqual([7])
  })

  test('never delays a cycle', async () => {
    await submit(cycle(0, [1], [1]))
    image.failing = true
    await put(1, 1, 51)
    expect(comments(await submit(cycle(1, [], [1])))).toEqual({ 1: 0 })
  })

  test('is tried again after its encoder has failed', async () => {
    await submit(cycle(0, [1], [1]))
    image.failing = true
    await put(1, 1, 51)
    await submit(cycle(1, [], [1]))
    image.failing = false
    await encodedCount(1)
    expect(comments(await submit(cycle(2, [], [1])))).toEqual({ 1: Math.fround(0.2) })
  })

  test('that always crashes its encoder does not prevent the encoding of others', async () => {
    image.crashing.add(9)
    for (const [position, grey] of [7, 8, 9, 10].entries()) await put(1, position + 1, grey)
    await encodedCount(3)
    expect([...image.encodedImages].sort((a, b) => a - b)).toEqual([7, 8, 10])
  })

  test('does not prevent a model from serving when its encoder fails', async () => {
    await submit(cycle(0, [1], [1]))
    await put(1, 1, 51)
    await encodedCount(1)
    const fresh = new FakeImageEncoder(otherHash)
    fresh.failing = true
    await adopt(new EncodingModel('m2', null, fresh))
    expect(comments(await submit(cycle(1, [], [1])))).toEqual({ 1: 0 })
    fresh.failing = false
    await encodedCount(2)
    expect(comments(await submit(cycle(2, [], [1])))).toEqual({ 1: Math.fround(0.2) })
  })

  test('is pooled by the maximum when the model requires it', async () => {
    const fresh = new FakeImageEncoder(hash, { pooling: 'max' })
    service = await open(new EncodingModel('m1', null, fresh))
    await put(1, 1, 102)
    await put(1, 2, 51)
    await encodedCount(2)
    expect(comments(await submit(cycle(0, [1], [1])))).toEqual({ 1: Math.fround(0.4) })
  })

  test('that is missing is counted in a warning when the model requires images', async () => {
    service = await open(new EncodingModel('m1', null, new FakeImageEncoder(hash, { required: true })))
    const first = await submit(cycle(0, [1, 2], [1, 2], { images_in_post: 2 }))
    expect(first.warnings).toEqual(['expected images not all encoded, scored without them (2): g/1, g/2'])
    await put(1, 1, 1)
    await put(1, 2, 2)
    await put(2, 1, 3)
    await encodedCount(3)
    const second = await submit(cycle(1, [], [1, 2]))
    expect(second.warnings).toEqual(['expected images not all encoded, scored without them (1): g/2'])
  })
})
