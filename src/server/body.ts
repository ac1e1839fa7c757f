/**
 * Bodies: the memory that they may take together, what one call holds of it, and the body of a request while it arrives:
 * read up to a size and a time limit, compared with bytes that it may repeat, refused before it is complete, or drained
 * before a response that ends the connection.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { kibibyte } from '../base/index.js'
import { bodyBufferBytes } from '../codec/index.js'
import { assert, ServiceError } from '../contract/index.js'

/** What the bodies of all requests and responses take together. A body that does not fit is refused with 503. */
export class BodyMemory {
  /** May change at any time. Bytes that are already held stay. */
  bytesMax: number
  #bytesHeld = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  get bytesHeld(): number {
    return this.#bytesHeld
  }

  /** For `CallMemory`: `unavailable` if the bytes do not fit, or null. */
  hold(bytes: number): ServiceError | null {
    if (this.#bytesHeld + bytes > this.bytesMax)
      return new ServiceError({ code: 'too_many_bytes' }, { retryAfterS: 1 })
    this.#bytesHeld += bytes
    return null
  }

  release(bytes: number): void {
    this.#bytesHeld -= bytes
    assert(this.#bytesHeld >= 0, 'the bytes of each body are released once')
  }
}

/**
 * The memory of one call. The request's body, also decompressed, is held until the response takes its place or the work
 * ends: a client may read its response slowly. A call has two ends, in either order: that of its work, after which nothing
 * reads the request or adds to the response, and that of its connection, which has sent the response or lost the client.
 */
export class CallMemory {
  readonly #all: BodyMemory
  readonly #onReleased: () => void
  #requestBytes = 0
  #responseBytes = 0
  #isWorking = true
  #isConnected = true

  /** `onReleased` is called once, when nothing is held any longer. */
  constructor(all: BodyMemory, onReleased: () => void) {
    this.#all = all
    this.#onReleased = onReleased
  }

  /** Adds bytes of the request that are in memory: null, or `unavailable` with nothing added. */
  addRequest(bytes: number): ServiceError | null {
    assert(this.#isWorking, 'nothing is added after the end of the work')
    const refusal = this.#all.hold(bytes)
    if (refusal === null) this.#requestBytes += bytes
    return refusal
  }

  /** The same for the response, once nothing reads the request: one that is not longer always fits. */
  addResponse(bytes: number): ServiceError | null {
    assert(this.#isWorking, 'nothing is added after the end of the work')
    this.#releaseRequest()
    const refusal = this.#all.hold(bytes)
    if (refusal === null) this.#responseBytes += bytes
    return refusal
  }

  workEnded(): void {
    assert(this.#isWorking, 'the work of a call ends once')
    this.#isWorking = false
    this.#releaseRequest()
    this.#releaseAfterBoth()
  }

  connectionEnded(): void {
    assert(this.#isConnected, 'the connection of a call ends once')
    this.#isConnected = false
    this.#releaseAfterBoth()
  }

  #releaseRequest(): void {
    this.#all.release(this.#requestBytes)
    this.#requestBytes = 0
  }

  #releaseAfterBoth(): void {
    if (this.#isWorking || this.#isConnected) return
    this.#all.release(this.#responseBytes)
    this.#onReleased()
  }
}

/**
 * If the connection ends with the response, uWebSockets.js closes it immediately. The kernel then resets the connection of a
 * client that is still sending, and the client loses the response. So the rest of the body is drained first. This is the
 * time limit of draining.
 */
const drainMsMax = 30_000
/** Draining also ends after a period of this length in which the client sends too few bytes. */
const drainPeriodMs = 2_000
/** The minimum per period. uWebSockets.js closes connections that send half as much, without a response. */
const drainPeriodBytesMin = 64 * kibibyte

/** What the request's head announces. */
export interface AnnouncedBody {
  readonly isPresent: boolean
  /** NaN for a chunked body. */
  readonly bytes: number
}

/** What happens to a body while it arrives. */
export interface BodyReading {
  /** Receives the first bytes. May refuse the body by throwing. */
  readonly onStart?: (bytes: Uint8Array) => void
  /**
   * Bytes of the announced length that the body may repeat. As long as the received bytes equal them, the body is not
   * copied. If all are equal, `read` resolves with these bytes.
   */
  readonly known?: Uint8Array | undefined
}

export class Body {
  bytesReceived = 0
  readonly #announced: AnnouncedBody
  readonly #response: HttpResponse
  readonly #memory: Pick<CallMemory, 'addRequest'>
  #isListening = false
  #isLastReceived = false
  #onBytes: ((chunk: ArrayBuffer, isLast: boolean) => void) | null = null
  #refuse: ((error: Error) => void) | null = null
  #endDrain: (() => void) | null = null
  #bytes: GrowingBytes | null = null
  #isReleased = false

  constructor(announced: AnnouncedBody, response: HttpResponse, memory: Pick<CallMemory, 'addRequest'>) {
    this.#announced = announced
    this.#response = response
    this.#memory = memory
  }

  /**
   * Resolves with the whole body. Begins in the turn of the event loop in which the request arrived. Rejects with
   * what `reading.onStart` throws, with `too_large` past `bytesMax`, with `unavailable` if the body does not fit, and with
   * the error of `refuse`. Closes the connection of a client whose body takes longer than `timeMsMax`.
   */
  read(bytesMax: number, timeMsMax: number, reading: BodyReading = {}): Promise<Uint8Array> {
    assert(!this.#isReleased, 'a body is not read after its release')
    const { bytes: announcedBytes, isPresent } = this.#announced
    if (announcedBytes > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        stop()
        this.#response.close()
        reject(new ServiceError({ code: 'body_timeout' }))
      }, timeMsMax)
      const stop = (): void => {
        clearTimeout(timer)
        this.#refuse = null
        this.#onBytes = null
      }
      this.#refuse = (error) => {
        stop()
        reject(error)
      }
      const receive = (chunk: ArrayBuffer, isLast: boolean): void => {
        const isFirst = this.bytesReceived === chunk.byteLength
        const refusal =
          (isFirst ? errorOf(() => reading.onStart?.(new Uint8Array(chunk))) : null) ??
          this.#admit(chunk.byteLength, bytesMax)
        if (refusal !== null) {
          this.#refuse?.(refusal)
          return
        }
        this.#append(new Uint8Array(chunk), reading, announcedBytes >= 0 ? announcedBytes : bytesMax)
        if (!isLast) return
        const bytes = this.#bytes?.bytes() ?? reading.known
        assert(bytes?.length === this.bytesReceived, 'a body has the bytes that were received')
        stop()
        resolve(bytes)
      }
      // uWebSockets.js reports the end of an absent body only if the head arrived in one piece.
      if (!isPresent) receive(new ArrayBuffer(0), true)
      else this.#listen(receive)
    })
  }

  /** Adds the bytes that the body takes once it is decompressed. Throws `unavailable` if they do not fit. */
  addDecompressed(bytes: number): void {
    const refusal = this.#memory.addRequest(bytes)
    if (refusal !== null) throw refusal
  }

  /** Once, when the body is no longer read: the next body reuses its memory. */
  release(): void {
    assert(this.#refuse === null, 'a body is not released while it is received')
    assert(!this.#isReleased, 'a body is released once')
    this.#isReleased = true
    this.#bytes?.release()
    this.#bytes = null
  }

  /** Stops reading a body that is still arriving: `read` rejects with the error. */
  refuse(error: ServiceError): void {
    this.#refuse?.(error)
  }

  /** The body is complete, or the request has none. */
  get isComplete(): boolean {
    return this.#isLastReceived || !this.#announced.isPresent
  }

  /** Reads and discards the rest. Resolves when the last byte has arrived, at the time limit, or at the end. */
  drain(): Promise<void> {
    const startedAt = performance.now()
    let periodBytes = 0
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.endDrain(), drainPeriodMs)
      this.#endDrain = () => {
        clearTimeout(timer)
        this.#endDrain = null
        this.#onBytes = null
        resolve()
      }
      this.#listen((chunk, isLast) => {
        periodBytes += chunk.byteLength
        if (isLast || performance.now() - startedAt > drainMsMax) this.endDrain()
        else if (periodBytes >= drainPeriodBytesMin) {
          periodBytes = 0
          timer.refresh()
        }
      })
    })
  }

  endDrain(): void {
    this.#endDrain?.()
  }

  /**
   * Only if the body is read: with the last byte that it delivers to a listener, uWebSockets.js takes the time limit off
   * the connection, also the one for idle connections if the response was sent earlier.
   */
  #listen(onBytes: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#onBytes = onBytes
    if (this.#isListening) return
    this.#isListening = true
    this.#response.onData((chunk, isLast) => {
      this.bytesReceived += chunk.byteLength
      this.#isLastReceived = isLast
      this.#onBytes?.(chunk, isLast)
    })
  }

  /** `bytesMax`: how long the body may become. */
  #append(piece: Uint8Array, { known }: BodyReading, bytesMax: number): void {
    const bytesBefore = this.bytesReceived - piece.length
    if (this.#bytes === null) {
      if (known !== undefined && Buffer.compare(known.subarray(bytesBefore, this.bytesReceived), piece) === 0)
        return
      this.#bytes = new GrowingBytes(bytesMax)
      if (bytesBefore > 0) {
        assert(known !== undefined, 'the bytes before are those that the body repeats')
        this.#bytes.append(known.subarray(0, bytesBefore))
      }
    }
    this.#bytes.append(piece)
  }

  #admit(bytes: number, bytesMax: number): ServiceError | null {
    return this.bytesReceived > bytesMax ? tooLarge(bytesMax) : this.#memory.addRequest(bytes)
  }
}

/** First size of a body that arrives in pieces. A larger one takes the spare buffer. */
const smallBytesMax = 64 * kibibyte
/** Room for what follows, past the first size: a large body is copied twice, not twenty times. */
const growth = 16

/**
 * The largest buffer that was released serves the next large body: cycles mostly come one after the other, and new memory
 * costs page faults and garbage collections.
 */
let spare: Buffer | null = null

/** A buffer of at least `bytes` with undefined contents. */
function allocate(bytes: number): Buffer {
  if (spare === null || spare.length < bytes || bytes <= smallBytesMax) return Buffer.allocUnsafeSlow(bytes)
  const buffer = spare
  spare = null
  return buffer
}

const none = Buffer.alloc(bodyBufferBytes(0))

/**
 * The bytes of a body that is arriving. They grow with what is received, not with the length announced; a body that arrives
 * as a whole gets a buffer of its size. The native decoder needs the padding after them.
 */
export class GrowingBytes {
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

/** What `check` throws, or null. */
function errorOf(check: () => void): Error | null {
  try {
    check()
    return null
  } catch (error) {
    return error as Error
  }
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError({ code: 'large_body', bytes_max: bytesMax })
}
