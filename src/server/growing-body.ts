/**
 * A body while it arrives. Memory follows what has come, not what was promised: a client that promises 16 MiB and sends
 * one byte holds a few kilobytes. The buffer goes on behind the body, as the native decoder wants it.
 */
import { bodyBufferBytes } from '../codec/index.js'
import type { SpareBuffers } from './spare-buffers.js'

const firstBytes = 64 * 1024
/** Past the first piece, room for this many times what has come: large bodies move twice, not twenty times. */
const growth = 16

export class GrowingBody {
  readonly #bytesMax: number
  readonly #spare: SpareBuffers | null
  #buffer: Buffer
  #length = 0

  /** `bytesMax`: length of the body where it is known, else its bound. `spare`: buffers to use before new ones. */
  constructor(bytesMax: number, spare: SpareBuffers | null = null) {
    this.#spare = spare
    this.#bytesMax = bytesMax
    this.#buffer = Buffer.allocUnsafeSlow(bodyBufferBytes(Math.min(bytesMax, firstBytes)))
  }

  append(chunk: ArrayBuffer): void {
    const needed = this.#length + chunk.byteLength
    if (bodyBufferBytes(needed) > this.#buffer.length) {
      const room = Math.max(needed, Math.min(this.#bytesMax, needed * growth))
      const grown = this.#spare?.take(bodyBufferBytes(room)) ?? Buffer.allocUnsafeSlow(bodyBufferBytes(room))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#spare?.give(this.#buffer)
      this.#buffer = grown
    }
    this.#buffer.set(new Uint8Array(chunk), this.#length)
    this.#length = needed
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }
}
