/**
 * Uploads images, each with different bytes, and checks whether the service reports them as new or known.
 */
import type { Api } from './api.js'
import type { BaseImages, Upload } from './base-images.js'

const concurrentUploadsMax = 4

export class Uploads {
  private readonly stored = new Set<string>()
  createdCount = 0
  repeatedCount = 0

  /** `exclusive`: only this client has put images on the service. */
  constructor(
    private readonly api: Api,
    private readonly baseImages: BaseImages,
    private readonly exclusive: boolean,
  ) {}

  /** Sends images, a few at a time. With `firstLost`, the response to the first is lost and requested again. */
  async sendAll(uploads: readonly Upload[], firstLost: boolean): Promise<void> {
    const queue = uploads.values()
    const [first] = uploads
    if (firstLost && first !== undefined) {
      queue.next()
      const call = await this.api.imageCall(first, this.baseImages.jpeg(first))
      await this.api.abortCall(call, 'response-unread')
      await this.send(first, true)
    }
    const worker = async (): Promise<void> => {
      for (const upload of queue) await this.send(upload, false)
    }
    await Promise.all(Array.from({ length: concurrentUploadsMax }, worker))
  }

  private async send(upload: Upload, mayBeStored: boolean): Promise<void> {
    const { status, retryCount } = await this.api.putImage(upload, this.baseImages.jpeg(upload))
    const key = upload.comment
    const known = this.stored.has(key)
    const mayBeKnown = mayBeStored || retryCount > 0 || !this.exclusive
    const expected = known ? 200 : 201
    if (status !== expected && (known || !mayBeKnown))
      this.api.violation(`PUT of image ${key}: status`, expected, status)
    this.stored.add(key)
    if (status === 201) this.createdCount++
    else this.repeatedCount++
  }
}
