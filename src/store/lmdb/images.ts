/**
 * Uploaded images on LMDB. What identifies an image and its picture are two records, so that its hash is read without
 * the picture. Read `putImage` first: all writes of the store but one have its shape, which is to pack at once, so that
 * the caller's bytes are free again, and to decide inside the transaction.
 */
import type { Databases } from './databases.js'
import { isFresh } from '../image-age.js'
import { imageKeyOf, imageNumbersOf, imageUseKeyOf } from './keys.js'
import { bytesOf, checkName, type RecordAccess } from './record-access.js'
import * as records from './records.js'
import { StoreError } from '../store-error.js'
import type { ImageKey, PutImageResult, Store, StoredImage } from '../store.js'

/** Keys that `imageKeys` reads in one go, so that it holds no snapshot while its caller works. */
const imageKeyBatch = 1000

type ImageRecords = Pick<Store, 'putImage' | 'findImage' | 'readImageHash' | 'imagePositions' | 'imageKeys'>

export class LmdbImages implements ImageRecords {
  readonly #db: Databases
  readonly #access: RecordAccess

  constructor(databases: Databases, access: RecordAccess) {
    this.#db = databases
    this.#access = access
  }

  async putImage(key: ImageKey, image: StoredImage): Promise<PutImageResult> {
    const imageKey = imageKeyOf(key)
    const sha256 = new Uint8Array(image.sha256)
    const arrivedAtMs = image.arrivedAtMs ?? Date.now()
    // It is too young to be removed: nothing need be written.
    const known = this.#access.read(this.#db.images, imageKey)
    if (known !== undefined && isFresh(identityOf(known, key.gallId), sha256, arrivedAtMs)) return 'same'
    const identity = records.packImageIdentity(key.gallId, { ...image, arrivedAtMs })
    const picture = records.packBytes(image.normalised)
    return this.#access.write(bytesOf(identity, picture), () => {
      const stored = this.#db.images.getBinary(imageKey)
      if (stored !== undefined) {
        const found = identityOf(stored, key.gallId)
        if (Buffer.compare(found.sha256, sha256) !== 0) return 'different'
        if (!isFresh(found, sha256, arrivedAtMs))
          this.#db.images.putSync(imageKey, records.packImageIdentity(key.gallId, { ...found, arrivedAtMs }))
        return 'same'
      }
      this.#db.images.putSync(imageKey, identity)
      this.#db.imageBytes.putSync(imageKey, picture)
      this.#db.imageUses.putSync(imageUseKeyOf(sha256, imageKey), records.packBytes(new Uint8Array()))
      return 'created'
    })
  }

  findImage(key: ImageKey): StoredImage | undefined {
    const imageKey = imageKeyOf(key)
    const record = this.#access.read(this.#db.images, imageKey)
    if (record === undefined) return undefined
    const { sha256, uploadedBytes, width, height } = identityOf(record, key.gallId)
    const picture = this.#access.read(this.#db.imageBytes, imageKey)
    if (picture === undefined) throw new StoreError('unusable', 'an image is stored without its picture')
    return { sha256, uploadedBytes, width, height, normalised: records.readBytes(picture, 'picture') }
  }

  readImageHash(key: ImageKey): Uint8Array | undefined {
    const record = this.#access.read(this.#db.images, imageKeyOf(key))
    return record && identityOf(record, key.gallId).sha256
  }

  imagePositions(gallId: string, postNo: number): number[] {
    this.#access.checkOpen()
    const [start, end] = [
      imageKeyOf({ gallId, postNo, position: 0 }),
      imageKeyOf({ gallId, postNo: postNo + 1, position: 0 }),
    ]
    return Array.from(this.#db.images.getKeys({ start, end }), (key) => imageNumbersOf(key).position)
  }

  *imageKeys(): Generator<ImageKey, void, undefined> {
    let start = new Uint8Array([0])
    for (;;) {
      this.#access.checkOpen()
      const rows = [...this.#db.images.getRange({ start, limit: imageKeyBatch })]
      for (const { key, value } of rows)
        yield { gallId: records.readImageIdentity(value).gallId, ...imageNumbersOf(key) }
      const last = rows.at(-1)
      if (last === undefined || rows.length < imageKeyBatch) return
      // The first key after `last` in byte order.
      start = new Uint8Array([...last.key, 0])
    }
  }
}

function identityOf(record: Uint8Array, gallId: string): records.ImageIdentity {
  const identity = records.readImageIdentity(record)
  checkName(identity.gallId, gallId)
  return identity
}
