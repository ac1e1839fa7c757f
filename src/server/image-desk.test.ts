/** Intake of images where storage fails. */
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { hashUpload, ImageGate, normaliseImage } from '../images/index.js'
import { createMemoryStore, StoreError, type ImageKey, type Store } from '../store/index.js'
import { ImageDesk } from './image-desk.js'

const key: ImageKey = { gallId: 'g', postNo: 1, position: 1 }

const jpeg = (): Promise<Buffer> =>
  sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer()

/** A desk whose store refuses the first write, before it is done or after; and the images that it tells of. */
function failingDesk(stored: boolean): { desk: ImageDesk; told: ImageKey[]; store: Store } {
  const store = createMemoryStore()
  const putImage = store.putImage.bind(store)
  store.putImage = async (...args) => {
    store.putImage = putImage
    if (stored) await store.putImage(...args)
    throw new StoreError('failed', 'told to fail')
  }
  const told: ImageKey[] = []
  return { desk: new ImageDesk(store, new ImageGate(), (created) => told.push(created)), told, store }
}

test('an image whose write fails late, but is stored, is told of: the pool counts what the disk has', async () => {
  const { desk, told, store } = failingDesk(true)
  const bytes = await jpeg()
  await expect(desk.put(key, bytes, undefined)).rejects.toMatchObject({ status: 503 })
  expect(told).toEqual([key])
  expect(store.findImage(key)).toBeDefined()
  expect(await desk.put(key, bytes, undefined)).toMatchObject({ created: false })
})

test('an image whose write fails is not told of', async () => {
  const { desk, told } = failingDesk(false)
  await expect(desk.put(key, await jpeg(), undefined)).rejects.toMatchObject({ status: 503 })
  expect(told).toEqual([])
})

test('an old image that is confirmed while the disk takes no writes is there, and told of to nobody', async () => {
  let isFull = false
  const store = createMemoryStore({
    beforeWrite: () => {
      if (isFull) throw new StoreError('full', 'no room')
    },
  })
  const bytes = await jpeg()
  const image = await normaliseImage(bytes, await hashUpload(bytes))
  await store.putImage(key, { ...image, arrivedAtMs: 1000 })
  const told: ImageKey[] = []
  const desk = new ImageDesk(store, new ImageGate(), (created) => told.push(created))
  isFull = true
  expect(await desk.put(key, bytes, undefined)).toMatchObject({ created: false })
  await expect(desk.put({ ...key, position: 2 }, bytes, undefined)).rejects.toMatchObject({ status: 503 })
  expect(store.healthy).toBe(false)
  expect(told).toEqual([])
})

test('an image that is removed while it is confirmed is stored anew, and told of', async () => {
  const { desk, told, store } = failingDesk(true)
  const bytes = await jpeg()
  await expect(desk.put(key, bytes, undefined)).rejects.toMatchObject({ status: 503 })
  const empty = createMemoryStore()
  store.putImage = empty.putImage.bind(empty)
  expect(await desk.put(key, bytes, undefined)).toMatchObject({ created: true })
  expect(told).toEqual([key, key])
  expect(empty.findImage(key)?.normalised).toEqual(store.findImage(key)?.normalised)
})
