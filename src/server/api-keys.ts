/**
 * API keys: the whole value of `Authorization`, compared in constant time. Several keys are good at once, so that one
 * can be replaced by another without a gap.
 */
import { timingSafeEqual } from 'node:crypto'

/** Settings allow no longer key. */
export const keyCharsMax = 256
/**
 * The form in which keys are compared: how many characters, then the characters in two bytes each, then zeros. Any two
 * texts differ in it, but for two longer than a key may be, neither of which is one.
 */
const countBytes = 4
const formBytes = countBytes + 2 * keyCharsMax

export class ApiKeys {
  #known: readonly Buffer[]
  /** Of what came last. One for all requests: a new one each would cost more than the comparison. */
  readonly #given = Buffer.alloc(formBytes)

  /** Throws a RangeError for a key that is too long. */
  constructor(keys: readonly string[]) {
    this.#known = keys.map(formOf)
  }

  /** From now on these keys are good, and no others. Throws as the constructor does, and then nothing has changed. */
  replace(keys: readonly string[]): void {
    this.#known = keys.map(formOf)
  }

  /**
   * Whether `authorization` is one of the keys. Every key is looked at in its whole form, whichever matches: the time
   * that this takes follows from how many keys there are and from what the client sent. It shows neither how long a key
   * is nor how much of it was guessed.
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

/** Of a text that is too long, its beginning; its count sets it apart. */
function writeForm(form: Buffer, text: string): void {
  form.fill(0)
  form.writeUInt32LE(text.length)
  form.write(text, countBytes, 'utf16le')
}
