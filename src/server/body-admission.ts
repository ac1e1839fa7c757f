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

export class BodyAdmission {
  /** May change at any time. Bytes that are already held stay. */
  bytesMax: number
  #bytesHeld = 0
  #largeCount = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Bytes held by all requests. */
  get bytesHeld(): number {
    return this.#bytesHeld
  }

  /** Large bodies that are arriving now. */
  get largeCount(): number {
    return this.#largeCount
  }

  /** A reservation for one request, empty at first. */
  open(): BodyReservation {
    let held = 0
    let isLarge = false
    let isReleased = false
    const add = (bytes: number): ServiceError | null => {
      assert(!isReleased, 'nothing is added to a reservation after its release')
      if (this.#bytesHeld + bytes > this.bytesMax) return refusal('too many bytes of bodies are held')
      this.#bytesHeld += bytes
      held += bytes
      return null
    }
    const arrived = (): void => {
      if (isLarge) this.#largeCount--
      isLarge = false
      assert(this.#largeCount >= 0, 'each large body is counted once')
    }
    return {
      add,
      receive: (bytes) => {
        const becomesLarge = !isLarge && held + bytes >= largeBytesMin
        if (becomesLarge && this.#largeCount >= largeCountMax)
          return refusal('too many large bodies are arriving')
        const refused = add(bytes)
        if (refused === null && becomesLarge) {
          this.#largeCount++
          isLarge = true
        }
        return refused
      },
      arrived,
      release: () => {
        assert(!isReleased, 'a reservation is released once')
        isReleased = true
        arrived()
        this.#bytesHeld -= held
        assert(this.#bytesHeld >= 0, 'the bytes of each body are released once')
      },
    }
  }
}

export interface BodyReservation {
  /** Adds bytes that are in memory: null, or `unavailable` with nothing added. */
  add(bytes: number): ServiceError | null
  /** The same for the next bytes of a body that is arriving, which may turn out to be a large one. */
  receive(bytes: number): ServiceError | null
  /** The body is complete, or its request has ended. A second call does nothing. */
  arrived(): void
  /** Releases everything. Must be called once, and last. */
  release(): void
}

function refusal(message: string): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterS })
}
