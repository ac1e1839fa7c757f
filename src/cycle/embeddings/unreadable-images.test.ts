/** Images that the store cannot read: they are skipped, and the others are encoded. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { FakeImageEncoder } from '../../../test/helpers/encoding-model.js'
import { memoryStore } from '../../../test/helpers/memory-store.js'
import '../../../test/helpers/poisoned-memory.js'
import { silentLog, backgroundFailureChannel } from '../../base/index.js'
import { emptyPool } from '../../pool/index.js'
import { StoreError, type ImageKey, type Store } from '../../store/index.js'
import { ImageCache } from './image-cache.js'
import { Quarantine } from './quarantine.js'

const encoder = new FakeImageEncoder('e')
let store: Store
let cache: ImageCache
let lines: { readonly fields: object; readonly message: string }[]
/** Posts whose images cannot be read. */
let unreadable: Set<number>
let refusal: StoreError | null

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  refusal = null
  lines = []
  unreadable = new Set()
  encoder.encodedImages.length = 0
  store = memoryStore({
    beforeWrite: () => {
      if (refusal !== null) throw refusal
    },
  })
  const findImage = store.findImage.bind(store)
  store.findImage = (key) => {
    if (unreadable.has(key.postNo)) throw new StoreError('unusable', 'the stored image is damaged')
    return findImage(key)
  }
  const error = (fields: object, message: string): void => void lines.push({ fields, message })
  const parts = { quarantine: new Quarantine(), log: { ...silentLog, error } }
  cache = new ImageCache(encoder, store, parts, 100)
  onTestFinished(() => cache.close())
})

async function put(postNo: number): Promise<ImageKey> {
  const key = { gallId: 'g', postNo, position: 1 }
  const [sha256, normalised] = [new Uint8Array(32).fill(postNo), Uint8Array.of(postNo)]
  await store.putImage(key, { sha256, uploadedBytes: 1, width: 1, height: 1, normalised })
  return key
}

const givenUp = (): object[] =>
  lines.filter(({ message }) => message.startsWith('an image cannot be read')).map(({ fields }) => fields)

test('an image that cannot be read is skipped and logged, and the others of its batch are encoded', async () => {
  const keys = [await put(1), await put(2), await put(3)]
  unreadable.add(2)
  for (const key of keys) cache.add(key)
  cache.add(await put(4))
  while (encoder.encodedImages.length < 3) await vi.advanceTimersByTimeAsync(1)
  expect(encoder.encodedImages).toEqual([1, 3, 4])
  expect(lines).toHaveLength(1)
  expect(givenUp()).toMatchObject([{ gall_id: 'g', post_no: 2, position: 1 }])
})

test('an image that can be read again is encoded with the next upload of its post', async () => {
  unreadable.add(1)
  cache.add(await put(1))
  while (givenUp().length === 0) await vi.advanceTimersByTimeAsync(1)
  unreadable.clear()
  cache.add({ gallId: 'g', postNo: 1, position: 2 })
  while (encoder.encodedImages.length === 0) await vi.advanceTimersByTimeAsync(1)
  expect(encoder.encodedImages).toEqual([1])
})

test('images whose vectors the store refuses are tried again with each cycle until it accepts them', async () => {
  const key = await put(1)
  refusal = new StoreError('full', 'no room')
  cache.add(key)
  while (lines.length === 0) await vi.advanceTimersByTimeAsync(1)
  cache.cycleStored(emptyPool)
  while (lines.length === 1) await vi.advanceTimersByTimeAsync(1)
  const isStored = (): boolean => store.models.readEmbedding('e', new Uint8Array(32).fill(1)) !== undefined
  expect(isStored()).toBe(false)
  refusal = null
  await vi.advanceTimersByTimeAsync(1)
  cache.cycleStored(emptyPool)
  while (!isStored()) await vi.advanceTimersByTimeAsync(1)
  expect(givenUp()).toEqual([])
})

test('an image with a damaged record does not prevent a cycle', async () => {
  const key = await put(1)
  const readImageHash = store.readImageHash.bind(store)
  store.readImageHash = (requested) => {
    if (requested.postNo === key.postNo) throw new StoreError('unusable', 'the stored image is damaged')
    return readImageHash(requested)
  }
  const post = { count: 1, galleries: ['g'], gallery: Uint32Array.of(0), postNo: Float64Array.of(1) }
  expect([...cache.columns({ ...emptyPool, ...post }, Uint32Array.of(1)).encoded]).toEqual([0])
})

test('an image whose post cannot be pooled afterwards ends neither the process nor the work on the others', async () => {
  const failures: unknown[] = []
  const onFailure = (failure: unknown): void => {
    failures.push(failure)
  }
  backgroundFailureChannel.subscribe(onFailure)
  onTestFinished(() => {
    backgroundFailureChannel.unsubscribe(onFailure)
  })
  const damaged = new StoreError('failed', 'hash collision: two names have the same key')
  const keys = [await put(1), await put(2)]
  for (const key of keys) cache.add(key)
  const imagePositions = store.imagePositions.bind(store)
  store.imagePositions = (gallId, postNo) => {
    if (postNo === 1) throw damaged
    return imagePositions(gallId, postNo)
  }
  while (cache.encodedPositions('g', 2).length === 0) await vi.advanceTimersByTimeAsync(1)
  expect(failures).toEqual([{ name: 'image encoding', error: damaged }])
  cache.add(await put(3))
  while (cache.encodedPositions('g', 3).length === 0) await vi.advanceTimersByTimeAsync(1)
  expect(encoder.encodedImages).toEqual([1, 2, 3])
})

test('an image whose record throws anything at all is skipped, and the others of its batch are encoded', async () => {
  const findImage = store.findImage.bind(store)
  store.findImage = (key) => {
    if (key.postNo === 1) throw new RangeError('Offset is outside the bounds of the DataView')
    return findImage(key)
  }
  for (const key of [await put(1), await put(2)]) cache.add(key)
  while (encoder.encodedImages.length === 0) await vi.advanceTimersByTimeAsync(1)
  expect(encoder.encodedImages).toEqual([2])
  expect(givenUp()).toMatchObject([{ post_no: 1 }])
})
