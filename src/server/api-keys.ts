/**
 * API keys: the whole value of `Authorization`, compared in constant time. Several keys are valid at the same time, so that
 * a key can be replaced without a gap.
 *
 * uWebSockets.js removes bytes outside visible ASCII from both ends of a header value before it passes the value on, as HTTP
 * allows for white space. A known key with such bytes around it is therefore accepted; deploy/nginx.conf refuses them.
 */
import { timingSafeEqual } from 'node:crypto'
import { assert } from '../contract/index.js'
import { apiKeyCharsMax } from '../settings/index.js'

const lengthBytes = 4
const comparedBytes = lengthBytes + 2 * apiKeyCharsMax

export class ApiKeys {
  #known: readonly Buffer[]
  readonly #given = Buffer.alloc(comparedBytes)

  constructor(keys: readonly string[]) {
    this.#known = keys.map(encodedKey)
  }

  /** Accepts these keys from now on, and no others. */
  replace(keys: readonly string[]): void {
    this.#known = keys.map(encodedKey)
  }

  /**
   * Whether `authorization` is one of the keys. The same number of bytes is compared with every key, so the time that this
   * takes depends on the number of keys and on the value sent. It reveals neither the length of a key nor how much of it was
   * guessed.
   */
  accepts(authorization: string): boolean {
    const given = encode(authorization, this.#given)
    let accepted = false
    for (const known of this.#known) if (timingSafeEqual(known, given)) accepted = true
    return accepted
  }
}

function encodedKey(key: string): Buffer {
  assert(key.length <= apiKeyCharsMax, 'a key has no more characters than are compared')
  return encode(key, Buffer.alloc(comparedBytes))
}

/**
 * Writes the length and the characters of a text in UTF-16, which also represents invalid Unicode. The end of a text that is
 * too long is cut off, but no key has its length.
 */
function encode(text: string, bytes: Buffer): Buffer {
  bytes.fill(0)
  bytes.writeUInt32LE(text.length)
  bytes.write(text, lengthBytes, 'utf16le')
  return bytes
}
