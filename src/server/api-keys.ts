/**
 * API keys: the whole value of `Authorization`, compared in constant time. Several keys are valid at the same time, so that
 * a key can be replaced without a gap.
 *
 * uWebSockets.js removes bytes outside visible ASCII from both ends of a header value before it passes the value on, as HTTP
 * allows for white space. A known key with such bytes around it is therefore accepted; deploy/nginx.conf refuses them.
 */
import { hash, timingSafeEqual } from 'node:crypto'

export class ApiKeys {
  #known: readonly Buffer[]

  constructor(keys: readonly string[]) {
    this.#known = keys.map(digestOf)
  }

  /** Accepts these keys from now on, and no others. */
  replace(keys: readonly string[]): void {
    this.#known = keys.map(digestOf)
  }

  /**
   * Whether `authorization` is one of the keys. Its digest is compared with that of every key, so the time that this takes
   * depends on the number of keys and on the value sent. It reveals neither the length of a key nor how much of it was
   * guessed.
   */
  accepts(authorization: string): boolean {
    const given = digestOf(authorization)
    let accepted = false
    for (const known of this.#known) if (timingSafeEqual(known, given)) accepted = true
    return accepted
  }
}

/** Two different texts have different bytes in UTF-16, even if they are not valid Unicode. */
function digestOf(text: string): Buffer {
  return hash('sha256', Buffer.from(text, 'utf16le'), 'buffer')
}
