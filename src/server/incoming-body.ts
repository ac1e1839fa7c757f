/**
 * The body of a request while it arrives: read up to a size and a time limit, compared with bytes that it may repeat,
 * refused before it is complete, or drained before a response that ends the connection.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { kibibyte } from '../base/index.js'
import { assert, ServiceError } from '../contract/index.js'
import type { BodyReservation } from './body-admission.js'
import { GrowingBody } from './growing-body.js'

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

export class IncomingBody {
  readonly reservation: BodyReservation
  bytesReceived = 0
  readonly #announced: AnnouncedBody
  readonly #response: HttpResponse
  #isListening = false
  #isLastReceived = false
  #onBytes: ((chunk: ArrayBuffer, isLast: boolean) => void) | null = null
  #refuse: ((error: Error) => void) | null = null
  #endDrain: (() => void) | null = null
  #body: GrowingBody | null = null
  #isReleased = false

  constructor(announced: AnnouncedBody, response: HttpResponse, reservation: BodyReservation) {
    this.#announced = announced
    this.#response = response
    this.reservation = reservation
  }

  /**
   * Resolves with the whole body. Begins in the turn of the event loop in which the request arrived. Rejects with
   * what `reading.onStart` throws, with `too_large` past `bytesMax`, with `unavailable` if the body is not admitted, and with
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
        this.reservation.arrived()
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
        const bytes = this.#body?.bytes() ?? reading.known
        assert(bytes?.length === this.bytesReceived, 'a body has the bytes that were received')
        stop()
        resolve(bytes)
      }
      // uWebSockets.js reports the end of an absent body only if the head arrived in one piece.
      if (!isPresent) receive(new ArrayBuffer(0), true)
      else this.#listen(receive)
    })
  }

  /** Once, when the body is no longer read: the next body reuses its memory. */
  release(): void {
    assert(this.#refuse === null, 'a body is not released while it is received')
    assert(!this.#isReleased, 'a body is released once')
    this.#isReleased = true
    this.#body?.release()
    this.#body = null
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
    if (this.#body === null) {
      if (known !== undefined && Buffer.compare(known.subarray(bytesBefore, this.bytesReceived), piece) === 0)
        return
      this.#body = new GrowingBody(bytesMax)
      if (bytesBefore > 0) {
        assert(known !== undefined, 'the bytes before are those that the body repeats')
        this.#body.append(known.subarray(0, bytesBefore))
      }
    }
    this.#body.append(piece)
  }

  #admit(bytes: number, bytesMax: number): ServiceError | null {
    return this.bytesReceived > bytesMax ? tooLarge(bytesMax) : this.reservation.receive(bytes)
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
