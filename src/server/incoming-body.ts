/**
 * The body of a request while it arrives: read, up to a bound and a time, refused on the way, or let pass before an answer
 * that ends the connection.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { ServiceError } from '../contract/index.js'
import type { BodyHold } from './body-budget.js'
import { largeBytesMin, type BodyTurns } from './body-turns.js'
import { GrowingBody } from './growing-body.js'
import type { SocketFlow } from './socket-flow.js'
import type { SpareBuffers } from './spare-buffers.js'

/**
 * Where a connection ends with its answer, uWebSockets.js closes it at once, and whoever is still sending finds it reset
 * and the answer lost. So the rest of the body is read first: for so long in all,
 */
const passMsMax = 30_000
/** and while so much comes in so long: a sender half as fast would be cut off by uWebSockets.js, without an answer. */
const passStepMs = 2_000
const passStepBytesMin = 64 * 1024

/** What the head says of it. */
export interface AnnouncedBody {
  readonly isThere: boolean
  /** NaN where it comes in chunks. */
  readonly bytes: number
}

export interface BodyOptions {
  /** Where the buffers of large ones come from, until `release`. */
  readonly spare?: SpareBuffers | null
  /** Hears the first bytes while the others arrive, and may refuse the body by throwing. */
  readonly onStart?: (bytes: Uint8Array) => void
}

export class IncomingBody {
  /** Memory that it takes up. */
  readonly hold: BodyHold
  bytesReceived = 0
  readonly #turns: BodyTurns
  readonly #announced: AnnouncedBody
  readonly #response: HttpResponse
  readonly #flow: SocketFlow
  #listens = false
  #lastCame = false
  /** Whoever wants the next bytes, or the last ones. */
  #onBytes: ((chunk: ArrayBuffer, isLast: boolean) => void) | null = null
  #refuse: ((error: Error) => void) | null = null
  #giveBack: (() => void) | null = null
  #endPass: (() => void) | null = null

  constructor(
    announced: AnnouncedBody,
    { response, flow }: { readonly response: HttpResponse; readonly flow: SocketFlow },
    { hold, turns }: { readonly hold: BodyHold; readonly turns: BodyTurns },
  ) {
    this.#announced = announced
    this.#response = response
    this.#flow = flow
    this.hold = hold
    this.#turns = turns
  }

  /**
   * The whole of it, at most `bytesMax`. Must be called in the turn in which its request came. Rejects with what `onStart`
   * throws, with `too_large` past the bound, with `unavailable` past the budget of all bodies, and with `error` of `refuse`.
   */
  read(
    bytesMax: number,
    timeMsMax: number,
    { spare = null, onStart = () => undefined }: BodyOptions = {},
  ): Promise<Uint8Array> {
    const { bytes: announcedBytes } = this.#announced
    if (announcedBytes > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return new Promise((resolve, reject) => {
      // None before the body is let in. Let go of at the end: the socket keeps the listener until the answer is out.
      let body: GrowingBody | null = null
      const timer = setTimeout(() => {
        stop()
        this.#response.close()
        reject(new ServiceError('bad_request', 'the body took too long'))
      }, timeMsMax)
      const stop = (): void => {
        clearTimeout(timer)
        this.#turns.ended(this.#flow)
        this.#refuse = null
        this.#onBytes = null
        body = null
      }
      this.#refuse = (error) => {
        stop()
        reject(error)
      }
      const take = (chunk: ArrayBuffer, isLast: boolean): void => {
        const isFirst = this.bytesReceived === chunk.byteLength
        const refusal =
          (isFirst ? caught(() => onStart(new Uint8Array(chunk))) : null) ??
          this.#admit(chunk.byteLength, bytesMax)
        if (refusal !== null) {
          this.#refuse?.(refusal)
          return
        }
        body ??= this.#newBody(announcedBytes >= 0 ? announcedBytes : bytesMax, spare)
        body.append(chunk)
        if (!isLast) {
          if (this.bytesReceived >= largeBytesMin) this.#turns.received(this.#flow, chunk.byteLength)
          return
        }
        const bytes = body.bytes()
        stop()
        this.#flow.pause()
        resolve(bytes)
      }
      // Of a body that is not there uWebSockets.js tells the end, but not where the head came in two pieces.
      if (!this.#announced.isThere) take(new ArrayBuffer(0), true)
      else this.#listen(take)
    })
  }

  /** Gives up a body that is still arriving. */
  refuse(error: ServiceError): void {
    this.#refuse?.(error)
  }

  /** Whether it was read or refused, no one uses it any more: its memory serves the next one. */
  release(): void {
    this.#giveBack?.()
    this.#giveBack = null
    this.hold.release()
  }

  /** All of it is here, or there is none. */
  get hasArrived(): boolean {
    return this.#lastCame || !this.#announced.isThere
  }

  /** Nobody uses it any more. Resolves when the last of it has come, when that takes too long, or at the end. */
  letPass(): Promise<void> {
    this.release()
    const startedAt = performance.now()
    let stepBytes = 0
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.endPass(), passStepMs)
      this.#endPass = () => {
        clearTimeout(timer)
        this.#endPass = null
        this.#onBytes = null
        resolve()
      }
      this.#listen((chunk, isLast) => {
        stepBytes += chunk.byteLength
        if (isLast || performance.now() - startedAt > passMsMax) this.endPass()
        else if (stepBytes >= passStepBytesMin) {
          stepBytes = 0
          timer.refresh()
        }
      })
      this.#flow.resume()
    })
  }

  /** What is let pass has had its time. */
  endPass(): void {
    this.#endPass?.()
  }

  /** The response is given or its client gone. */
  end(): void {
    this.#refuse?.(new ServiceError('bad_request', 'the client left'))
    this.endPass()
  }

  /**
   * Only when someone wants it: with the last byte that is listened to, uWebSockets.js takes the time limit off the connection,
   * also that for idling, where the answer has gone before.
   */
  #listen(onBytes: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#onBytes = onBytes
    if (this.#listens) return
    this.#listens = true
    this.#response.onData((chunk, isLast) => {
      this.bytesReceived += chunk.byteLength
      this.#lastCame = isLast
      this.#onBytes?.(chunk, isLast)
    })
  }

  #newBody(bytesMax: number, spare: SpareBuffers | null): GrowingBody {
    const body = new GrowingBody(bytesMax, spare)
    this.#giveBack = () => spare?.give(body.bytes())
    return body
  }

  /** Takes the next bytes into account, or says why they are too many. */
  #admit(bytes: number, bytesMax: number): ServiceError | null {
    return this.bytesReceived > bytesMax ? tooLarge(bytesMax) : this.hold.add(bytes)
  }
}

/** What a check throws. */
function caught(check: () => void): Error | null {
  try {
    check()
    return null
  } catch (error) {
    return error as Error
  }
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('too_large', `the body is larger than ${bytesMax} bytes`)
}
