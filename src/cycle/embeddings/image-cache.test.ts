/** The queue of images is bounded: those beyond its limit are found again in the store, also for posts that enter later. */
import { expect, test, vi } from 'vitest'
import { FakeImageEncoder } from '../../../test/helpers/encoding-model.js'
import { createMemoryContents, memoryStore } from '../../../test/helpers/memory-store.js'
import '../../../test/helpers/poisoned-memory.js'
import { silentLog } from '../../base/index.js'
import type { PoolState } from '../../pool/index.js'
import { createMemoryStore, type ImageKey, type Store } from '../../store/index.js'
import { ImageCache } from './image-cache.js'
import { Quarantine } from './quarantine.js'

const waitingMax = 4
/** A batch that failed waits again, beside the images that have arrived since. */
const batchSize = 8

/** A pool of posts, as far as the cache reads it. */
function poolOf(posts: readonly number[]): PoolState {
  const gallery = new Uint32Array(posts.length)
  return { galleries: ['g'], gallery, postNo: Float64Array.from(posts), count: posts.length } as never
}

function putImage(store: Store, key: ImageKey, grey: number): Promise<unknown> {
  const sha256 = new Uint8Array(32).fill(grey)
  return store.putImage(key, {
    sha256,
    uploadedBytes: 1,
    width: 1,
    height: 1,
    normalised: Uint8Array.of(grey),
  })
}

test('images beyond the limit of the queue are encoded after later cycles, or when their post enters', async () => {
  const contents = createMemoryContents()
  const store = memoryStore({ contents })
  const encoder = new FakeImageEncoder('a'.repeat(64))
  const parts = { quarantine: new Quarantine(), log: silentLog }
  const cache = new ImageCache(encoder, store, parts, waitingMax)
  encoder.failing = true
  for (let grey = 0; grey < 40; grey++) {
    const key = { gallId: 'g', postNo: 1 + (grey >> 1), position: 1 + (grey & 1) }
    await putImage(store, key, grey)
    cache.add(key)
    expect(cache.queuedCount).toBeLessThanOrEqual(waitingMax + batchSize)
  }
  encoder.failing = false
  const pending = Array.from({ length: 19 }, (_, index) => index + 1)
  await vi.waitUntil(
    () => {
      cache.cycleStored(poolOf(pending))
      return contents.embeddings.size === 38
    },
    { timeout: 20_000, interval: 5 },
  )
  expect(cache.columns(poolOf(pending), new Uint32Array(19).fill(2)).encoded).toEqual(
    new Uint32Array(19).fill(2),
  )
  cache.columns(poolOf([...pending, 20]), new Uint32Array(20).fill(2))
  await vi.waitUntil(() => contents.embeddings.size === 40, { timeout: 20_000, interval: 5 })
  await cache.close()
})

test('posts that have left are forgotten when they are the majority, and not before', async () => {
  const store = createMemoryStore()
  const parts = { quarantine: new Quarantine(), log: silentLog }
  const cache = new ImageCache(new FakeImageEncoder('a'.repeat(64)), store, parts, 100)
  const many = Array.from({ length: 1000 }, (_, index) => 100 + index)
  cache.columns(poolOf(many), new Uint32Array(many.length).fill(1))
  cache.sweep(poolOf([]))
  const key = { gallId: 'g', postNo: 1, position: 1 }
  await putImage(store, key, 7)
  cache.add(key)
  await vi.waitUntil(() => cache.encodedPositions('g', 1).length === 1)
  cache.sweep(poolOf([]))
  expect(cache.encodedPositions('g', 1)).toEqual([1])
  cache.columns(poolOf(many), new Uint32Array(many.length).fill(1))
  cache.sweep(poolOf([]))
  expect(cache.encodedPositions('g', 1)).toEqual([])
  await cache.close()
})
