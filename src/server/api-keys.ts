/**
 * API keys: the whole value of `Authorization`, compared in constant time. Several keys are valid at the same time, so that
 * a key can be replaced without a gap.
 *
 * uWebSockets.js removes bytes outside visible ASCII from both ends of a header value before it passes the value on, as HTTP
 * allows for white space. A known key with such bytes around it is therefore accepted; deploy/nginx.conf refuses them.
 */
import { timingSafeEqual } from 'node:crypto'

/** The settings accept no longer key. */
export const keyCharsMax = 256
/**
 * Keys are compared in a form of fixed length: the number of characters, then the characters in two bytes each, then zeros.
 * Two texts have the same form only where they are equal, or both longer than a key can be.
 */
const countBytes = 4
const formBytes = countBytes + 2 * keyCharsMax

export class ApiKeys {
  #known: readonly Buffer[]
  /** The form of the last value, one buffer for all requests: a new one each would cost more than the comparison. */
  readonly #given = Buffer.alloc(formBytes)

  /** Throws a RangeError for a key that is too long. */
  constructor(keys: readonly string[]) {
    this.#known = keys.map(formOf)
  }

  /** Accepts these keys from now on, and no others. Throws as the constructor does; then nothing changes. */
  replace(keys: readonly string[]): void {
    this.#known = keys.map(formOf)
  }

  /**
   * Whether `authorization` is one of the keys. It is compared with every key in full, so the time that this takes depends
   * on the number of keys and on the value sent. It reveals neither the length of a key nor how much of it was guessed.
   */
  accepts(authorization: string): boolean {
    writeForm(this.#given, authorization)
    let accepted = false
    for (const known of this.#known) if (timingSafeEqual(known, this.#given)) accepted = true
    return accepted
  }
}

function formOf(key: string): Buffer {
  if (key.length > keyCharsMax) throw new RangeError(`an API key is longer than ${keyCharsMax} characters`)
  const form = Buffer.alloc(formBytes)
  writeForm(form, key)
  return form
}

/** A text that is too long is cut off; its number of characters tells it from any key. */
function writeForm(form: Buffer, text: string): void {
  form.fill(0)
  form.writeUInt32LE(text.length)
  form.write(text, countBytes, 'utf16le')
}
