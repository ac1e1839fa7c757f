/**
 * Uploaded images in the databases. An image is two records, its identity and its bytes, so that its hash is read without
 * the bytes. Read `putImage` first. Like most writes of the store it packs immediately, so that the caller may reuse its bytes,
 * and decides when the write is staged.
 */
import { hourMs } from '../../base/index.js'
import { pageAfter, type Databases } from './databases.js'
import { imageKeyOf, imageNumbersOf, imageUseKeyOf } from './keys.js'
import { bytesOf, checkName, type RecordAccess } from './record-access.js'
import * as records from './payloads.js'
import { StoreError } from '../store-error.js'
import type { ImageKey, ImageRecords, Page, PutImageResult } from '../store.js'

/** A repeat within this time is not a new arrival: retries cost no write. Retention counts in days. */
const freshMs = hourMs
/** Keys that `imageKeys` reads in one go, so that it holds no snapshot while its caller works. */
export const imageKeyBatch = 1000

export function imageRecords(db: Databases, access: RecordAccess): ImageRecords {
  const readIdentity = ({ gallId }: ImageKey, imageKey: Uint8Array): records.ImageIdentity | undefined =>
    access.read(db.images, imageKey, (record) => identityOf(record, gallId))

  return {
    async putImage(key, image) {
      const imageKey = imageKeyOf(key)
      const sha256 = new Uint8Array(image.sha256)
      const arrivedAtMs = image.arrivedAtMs ?? Date.now()
      // It is too recent to be removed, so no write is needed.
      const known = readIdentity(key, imageKey)
      if (known !== undefined && isFresh(known, sha256, arrivedAtMs)) return 'same'
      const identity = records.packImageIdentity({ ...image, gallId: key.gallId, arrivedAtMs })
      const bytes = records.packBytes(image.normalised)
      return access.writes.write<PutImageResult>(bytesOf([identity, bytes]), () => {
        const stored = db.images.getBinary(imageKey)
        if (stored !== undefined) {
          const known = identityOf(stored, key.gallId)
          if (Buffer.compare(known.sha256, sha256) !== 0) return 'different'
          if (!isFresh(known, sha256, arrivedAtMs))
            db.images.put(imageKey, records.packImageIdentity({ ...known, arrivedAtMs }))
          return 'same'
        }
        db.images.put(imageKey, identity)
        db.imageBytes.put(imageKey, bytes)
        db.imageUses.put(imageUseKeyOf(sha256, imageKey), records.packBytes(new Uint8Array()))
        return 'created'
      })
    },
    async confirmImage(key, sha256) {
      const imageKey = imageKeyOf(key)
      const hash = new Uint8Array(sha256)
      const nowMs = Date.now()
      const known = readIdentity(key, imageKey)
      if (known === undefined || Buffer.compare(known.sha256, hash) !== 0) return false
      if (isFresh(known, hash, nowMs)) return true
      const record = records.packImageIdentity({ ...known, arrivedAtMs: nowMs })
      return access.writes.write(record.byteLength, () => {
        const stored = db.images.getBinary(imageKey)
        // It may have been removed meanwhile.
        if (stored === undefined || Buffer.compare(identityOf(stored, key.gallId).sha256, hash) !== 0)
          return false
        db.images.put(imageKey, record)
        return true
      })
    },
    findImage(key) {
      const imageKey = imageKeyOf(key)
      const identity = readIdentity(key, imageKey)
      if (identity === undefined) return undefined
      const { sha256, uploadedBytes, width, height } = identity
      const normalised = access.read(db.imageBytes, imageKey, (record) => records.readBytes(record, 'image'))
      if (normalised === undefined) throw new StoreError('unusable', 'an image is stored without its bytes')
      return { sha256, uploadedBytes, width, height, normalised }
    },
    readImageHash: (key) => readIdentity(key, imageKeyOf(key))?.sha256,
    imagePositions(gallId, postNo) {
      access.checkOpen()
      const start = imageKeyOf({ gallId, postNo, position: 0 })
      const end = imageKeyOf({ gallId, postNo: postNo + 1, position: 0 })
      return Array.from(db.images.getKeys({ start, end }), (key) => imageNumbersOf(key).position)
    },
    *imageKeys() {
      let cursor: Uint8Array | null = null
      do {
        access.checkOpen()
        const page: Page<ImageKey> = pageAfter(db.images, cursor, imageKeyBatch, (record, key) => ({
          gallId: records.readImageIdentity(record).gallId,
          ...imageNumbersOf(key),
        }))
        yield* page.rows
        cursor = page.cursor
      } while (cursor !== null)
    },
  }
}

/** Whether `known`, as it is stored, has this hash and has arrived recently or in the future. */
function isFresh(known: records.ImageIdentity, sha256: Uint8Array, nowMs: number): boolean {
  return Buffer.compare(known.sha256, sha256) === 0 && nowMs - known.arrivedAtMs < freshMs
}

function identityOf(record: Uint8Array, gallId: string): records.ImageIdentity {
  const identity = records.readImageIdentity(record)
  checkName(identity.gallId, gallId)
  return identity
}
