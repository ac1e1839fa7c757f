/**
 * Whether a connection is read. uWebSockets.js closes one whose next request arrives before this one is answered, and
 * large bodies take turns: so reading stops and goes on. Either may be said twice, and when the connection is no longer ours.
 */
import type { HttpResponse } from 'uWebSockets.js'

export class SocketFlow {
  readonly #response: HttpResponse
  #paused = false
  #ended = false

  constructor(response: HttpResponse) {
    this.#response = response
  }

  pause(): void {
    if (this.#ended || this.#paused) return
    this.#paused = true
    this.#response.pause()
  }

  resume(): void {
    if (this.#ended || !this.#paused) return
    this.#paused = false
    this.#response.resume()
  }

  /** The response is given or its client gone. */
  end(): void {
    this.#ended = true
  }
}
