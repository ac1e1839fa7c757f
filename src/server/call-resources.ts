/**
 * The memory that one call holds, and its release. A call has two ends, in either order: that of its work, after which
 * nothing reads the request or adds to the response, and that of its connection, which has sent the response or lost the
 * client. Only this class releases.
 */
import { assert } from '../contract/index.js'
import type { BodyAdmission, BodyReservation } from './body-admission.js'

export class CallResources {
  /** The request's body, also decompressed: held until the work has ended. A client may read its response slowly. */
  readonly request: BodyReservation
  /** The response: held until both have ended. */
  readonly response: BodyReservation
  readonly #onReleased: () => void
  #isWorking = true
  #isConnected = true

  /** `onReleased` is called once, when nothing is held any longer. */
  constructor(requestBodies: BodyAdmission, responseBodies: BodyAdmission, onReleased: () => void) {
    this.request = requestBodies.open()
    this.response = responseBodies.open()
    this.#onReleased = onReleased
  }

  workEnded(): void {
    assert(this.#isWorking, 'the work of a call ends once')
    this.#isWorking = false
    this.request.release()
    this.#releaseAfterBoth()
  }

  connectionEnded(): void {
    assert(this.#isConnected, 'the connection of a call ends once')
    this.#isConnected = false
    this.#releaseAfterBoth()
  }

  #releaseAfterBoth(): void {
    if (this.#isWorking || this.#isConnected) return
    this.response.release()
    this.#onReleased()
  }
}
