/**
 * The buffer of a body that is arriving. It grows with the bytes received, not with the length announced; a body that arrives
 * as a whole gets one of its size. The native decoder needs the padding after the body. The largest buffer that was released
 * serves the next large body: cycles mostly come one after the other, and new memory costs page faults and garbage collections.
 */
import { kibibyte } from '../base/index.js'
import { bodyBufferBytes } from '../codec/index.js'
import { assert } from '../contract/index.js'

/** First size of a body that arrives in pieces. A larger one takes the spare buffer. */
const smallBytesMax = 64 * kibibyte
/** Room for what follows, past the first size: a large body is copied twice, not twenty times. */
const growth = 16

let spare: Buffer | null = null

/** A buffer of at least `bytes` with undefined contents. */
function allocate(bytes: number): Buffer {
  if (spare === null || spare.length < bytes || bytes <= smallBytesMax) return Buffer.allocUnsafeSlow(bytes)
  const buffer = spare
  spare = null
  return buffer
}

const none = Buffer.alloc(bodyBufferBytes(0))

export class GrowingBody {
  readonly #bytesMax: number
  #buffer: Buffer = none
  #length = 0
  #isReleased = false

  /** `bytesMax`: the announced length of the body, or its limit if none is announced. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  append(piece: Uint8Array): void {
    assert(!this.#isReleased, 'nothing is added to a body after its release')
    const needed = this.#length + piece.length
    if (bodyBufferBytes(needed) > this.#buffer.length) {
      const roomy = needed <= smallBytesMax ? smallBytesMax : needed * growth
      const grown = allocate(bodyBufferBytes(Math.max(needed, Math.min(this.#bytesMax, roomy))))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
    }
    assert(needed <= this.#buffer.length, 'a body has room for what arrives')
    this.#buffer.set(piece, this.#length)
    this.#length = needed
  }

  bytes(): Uint8Array {
    assert(!this.#isReleased, 'a body is not read after its release')
    return this.#buffer.subarray(0, this.#length)
  }

  /** Once, when the bytes are no longer read. */
  release(): void {
    assert(!this.#isReleased, 'a body is released once')
    this.#isReleased = true
    if (this.#buffer.length > Math.max(smallBytesMax, spare?.length ?? 0)) spare = this.#buffer
  }
}
