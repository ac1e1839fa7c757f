/**
 * Admission of bodies: how many bytes all requests together may hold in memory, and how many large bodies may arrive at the
 * same time. A body past either limit is refused with 503. Request and response bodies have an admission each, so that
 * clients that do not read their responses do not keep others from sending.
 */
import { kibibyte } from '../base/index.js'
import { assert, ServiceError } from '../contract/index.js'

const retryAfterS = 1

/** A body counts as large from this size on. Smaller ones cost too little of the event loop to be limited. */
export const largeBytesMin = 256 * kibibyte

/**
 * Large bodies that may arrive at the same time. In one turn of the event loop each of them delivers at most 512 KiB,
 * which takes up to half a millisecond to copy into new memory: 32 of them stay below 20 ms.
 */
export const largeCountMax = 32

/** What all reservations of one admission hold together. */
interface Held {
  bytesMax: number
  bytes: number
  /** Large bodies that are arriving. */
  largeCount: number
}

export class BodyAdmission {
  readonly #held: Held

  constructor(bytesMax: number) {
    this.#held = { bytesMax, bytes: 0, largeCount: 0 }
  }

  get bytesMax(): number {
    return this.#held.bytesMax
  }

  /** May change at any time. Bytes that are already held stay. */
  set bytesMax(bytes: number) {
    this.#held.bytesMax = bytes
  }

  /** Bytes held by all requests. */
  get bytesHeld(): number {
    return this.#held.bytes
  }

  /** Large bodies that are arriving now. */
  get largeCount(): number {
    return this.#held.largeCount
  }

  /** A reservation for one request, empty at first. */
  open(): BodyReservation {
    return new BodyReservation(this.#held)
  }
}

export class BodyReservation {
  readonly #all: Held
  #bytes = 0
  #isLarge = false
  #isReleased = false

  constructor(all: Held) {
    this.#all = all
  }

  /** Adds bytes that are in memory: null, or `unavailable` with nothing added. */
  add(bytes: number): ServiceError | null {
    assert(!this.#isReleased, 'nothing is added to a reservation after its release')
    if (this.#all.bytes + bytes > this.#all.bytesMax) return refusal('too_many_bytes')
    this.#all.bytes += bytes
    this.#bytes += bytes
    return null
  }

  /** The same for the next bytes of a body that is arriving, which may turn out to be a large one. */
  receive(bytes: number): ServiceError | null {
    const becomesLarge = !this.#isLarge && this.#bytes + bytes >= largeBytesMin
    if (becomesLarge && this.#all.largeCount >= largeCountMax) return refusal('too_many_large_arriving')
    const refused = this.add(bytes)
    if (refused === null && becomesLarge) {
      this.#all.largeCount++
      this.#isLarge = true
    }
    return refused
  }

  /** The body is complete, or its request has ended. A second call does nothing. */
  arrived(): void {
    if (this.#isLarge) this.#all.largeCount--
    this.#isLarge = false
    assert(this.#all.largeCount >= 0, 'each large body is counted once')
  }

  /** Releases everything, once and last. */
  release(): void {
    assert(!this.#isReleased, 'a reservation is released once')
    this.#isReleased = true
    this.arrived()
    this.#all.bytes -= this.#bytes
    assert(this.#all.bytes >= 0, 'the bytes of each body are released once')
  }
}

function refusal(code: 'too_many_bytes' | 'too_many_large_arriving'): ServiceError {
  return new ServiceError({ code }, { retryAfterS })
}
