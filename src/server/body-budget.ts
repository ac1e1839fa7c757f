/**
 * Memory for request bodies, all requests together. Bytes are taken as they arrive and given back when the request has
 * no more use for them, so that many slow uploads cost a bounded amount and not the process.
 */
import { ServiceError } from '../contract/index.js'

const retryAfterS = 1

export class BodyBudget {
  /** May change at any time; what is held already stays. */
  bytesMax: number
  #bytesHeld = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Of all requests. */
  get bytesHeld(): number {
    return this.#bytesHeld
  }

  /** What one request holds: nothing yet. */
  open(): BodyHold {
    let held = 0
    return {
      add: (bytes) => {
        if (this.#bytesHeld + bytes > this.bytesMax) return spent()
        this.#bytesHeld += bytes
        held += bytes
        return null
      },
      release: () => {
        this.#bytesHeld -= held
        held = 0
      },
    }
  }
}

export interface BodyHold {
  /** Takes so many more bytes: null. When the budget is spent: `unavailable`, with nothing taken. */
  add(bytes: number): ServiceError | null
  /** Gives back all that is held; a second call gives nothing. */
  release(): void
}

function spent(): ServiceError {
  return new ServiceError('unavailable', 'too many bytes of request bodies are held', { retryAfterS })
}
