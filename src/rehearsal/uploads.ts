/**
 * Sends images, each with bytes of its own, and minds whether the service has seen them before.
 */
import type { Api } from './api.js'
import { Breach } from './breach.js'
import type { PictureBook } from './pictures.js'
import type { Upload } from './world.js'

/** Uploads under way at once. */
const laneCount = 4

export class Uploads {
  private readonly stored = new Set<string>()
  createdCount = 0
  repeatedCount = 0

  constructor(
    private readonly api: Api,
    private readonly book: PictureBook,
    /** No image can be on the service but those that this client has put there. */
    private readonly alone: boolean,
  ) {}

  get count(): number {
    return this.createdCount + this.repeatedCount
  }

  /** Sends images, a few at a time. With `firstLost`, the answer to the first is lost and asked for again. */
  async sendAll(uploads: readonly Upload[], firstLost: boolean): Promise<void> {
    const [first] = uploads
    if (first !== undefined && firstLost) {
      await this.api.abandon(this.api.imageCall(first, this.book.jpeg(first)), 'unread')
      await this.send(first, true)
    }
    const rest = (firstLost ? uploads.slice(1) : uploads).values()
    const lane = async (): Promise<void> => {
      for (const upload of rest) await this.send(upload, false)
    }
    await Promise.all(Array.from({ length: Math.min(laneCount, uploads.length) }, lane))
  }

  private async send(upload: Upload, mayBeStored: boolean): Promise<void> {
    const { result, retryCount } = await this.api.putImage(upload, this.book.jpeg(upload))
    const key = upload.comment
    const known = this.stored.has(key)
    const uncertain = mayBeStored || retryCount > 0 || !this.alone
    if (known ? result !== 'same' : result !== 'created' && !uncertain) {
      const path = `PUT of image ${key}: status`
      const { cycleId } = this.api
      throw new Breach({ path, expected: known ? 200 : 201, got: known ? 201 : 200, cycleId })
    }
    this.stored.add(key)
    if (result === 'created') this.createdCount++
    else this.repeatedCount++
  }
}
