/** Image uploads when storage fails. */
import { hash } from 'node:crypto'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { memoryStore } from '../../test/helpers/memory-store.js'
import { ImageSemaphore, normaliseImage } from '../images/index.js'
import { createMemoryStore, StoreError, type ImageKey, type Store } from '../store/index.js'
import { ImageUploads, type Upload } from './image-uploads.js'

const key: ImageKey = { gallId: 'g', postNo: 1, position: 1 }

const jpeg = (): Promise<Buffer> =>
  sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer()

const uploadOf = (bytes: Uint8Array): Upload => ({ bytes, hash: hash('sha256', bytes, 'buffer') })

/** Uploads to a store that reports an error for its first write, before or after the write; and the created images. */
function failingUploads(stored: boolean): { uploads: ImageUploads; created: ImageKey[]; store: Store } {
  const store = createMemoryStore()
  const putImage = store.putImage.bind(store)
  store.putImage = async (...args) => {
    store.putImage = putImage
    if (stored) await store.putImage(...args)
    throw new StoreError('failed', 'failing write')
  }
  const created: ImageKey[] = []
  return {
    uploads: new ImageUploads(store, new ImageSemaphore(Infinity), (image) => created.push(image)),
    created,
    store,
  }
}

test('an image that is stored although its write reported an error counts as created', async () => {
  const { uploads, created, store } = failingUploads(true)
  const bytes = await jpeg()
  await expect(uploads.put(key, uploadOf(bytes), undefined)).rejects.toMatchObject({ status: 503 })
  expect(created).toEqual([key])
  expect(store.findImage(key)).toBeDefined()
  expect(await uploads.put(key, uploadOf(bytes), undefined)).toMatchObject({ created: false })
})

test('an image whose write fails does not count as created, even if another one is stored', async () => {
  const { uploads, created, store } = failingUploads(false)
  await expect(uploads.put(key, uploadOf(await jpeg()), undefined)).rejects.toMatchObject({ status: 503 })
  expect(created).toEqual([])
  await uploads.put(key, uploadOf(await jpeg()), undefined)
  store.putImage = () => Promise.reject(new StoreError('failed', 'failing write'))
  const other = await sharp(await jpeg())
    .negate()
    .jpeg()
    .toBuffer()
  await expect(uploads.put(key, uploadOf(other), undefined)).rejects.toMatchObject({ status: 503 })
  expect(created).toEqual([key])
})

test('a stored image that is uploaded again on a full disk is confirmed', async () => {
  let isFull = false
  const store = memoryStore({
    beforeWrite: () => {
      if (isFull) throw new StoreError('full', 'no room')
    },
  })
  const bytes = await jpeg()
  const image = await normaliseImage(bytes)
  await store.putImage(key, { ...image, arrivedAtMs: 1000 })
  const created: ImageKey[] = []
  const uploads = new ImageUploads(store, new ImageSemaphore(Infinity), (image) => created.push(image))
  isFull = true
  expect(await uploads.put(key, uploadOf(bytes), undefined)).toMatchObject({ created: false })
  await expect(uploads.put({ ...key, position: 2 }, uploadOf(bytes), undefined)).rejects.toMatchObject({
    status: 503,
  })
  expect(store.healthy).toBe(false)
  expect(created).toEqual([])
})

test('an image that is removed while it is uploaded again is stored again', async () => {
  const { uploads, created, store } = failingUploads(true)
  const bytes = await jpeg()
  await expect(uploads.put(key, uploadOf(bytes), undefined)).rejects.toMatchObject({ status: 503 })
  const empty = createMemoryStore()
  store.putImage = empty.putImage.bind(empty)
  store.confirmImage = empty.confirmImage.bind(empty)
  expect(await uploads.put(key, uploadOf(bytes), undefined)).toMatchObject({ created: true })
  expect(created).toEqual([key, key])
  expect(empty.findImage(key)?.normalised).toEqual(store.findImage(key)?.normalised)
})

test('an image with the stored bytes needs neither a decoder nor a place in its queue', async () => {
  const store = createMemoryStore()
  const semaphore = new ImageSemaphore(Infinity)
  const uploads = new ImageUploads(store, semaphore, () => undefined)
  const bytes = await jpeg()
  await uploads.put(key, uploadOf(bytes), undefined)
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
  const busy = [1, 2].map(() => semaphore.run(1, () => ended))
  expect(await uploads.put(key, uploadOf(bytes), undefined)).toMatchObject({ created: false })
  const wrongHash = uploads.put(key, uploadOf(bytes), '0'.repeat(64))
  await expect(wrongHash).rejects.toMatchObject({ status: 400, fields: [{ path: 'X-Content-SHA256' }] })
  end(undefined)
  await Promise.all(busy)
})

test('the hash of exactly the bytes that were uploaded again is known', async () => {
  const uploads = new ImageUploads(createMemoryStore(), new ImageSemaphore(Infinity), () => undefined)
  const bytes = await jpeg()
  const { hash: sha256 } = uploadOf(bytes)
  await uploads.put(key, uploadOf(bytes), undefined)
  expect(uploads.repeatedHash(bytes)).toBeUndefined()
  await uploads.put(key, uploadOf(Buffer.from(bytes)), undefined)
  expect(uploads.repeatedHash(bytes)).toEqual(sha256)
  const other = Buffer.from(bytes)
  other[other.length - 1] = 0
  expect(uploads.repeatedHash(other)).toBeUndefined()
})
