/**
 * API keys: the whole value of `Authorization`, compared in constant time over SHA-256 hashes. Several keys are good
 * at once, so that one can be replaced by another without a gap.
 */
import { createHash, timingSafeEqual } from 'node:crypto'

export class ApiKeys {
  #hashes: readonly Buffer[]

  constructor(keys: readonly string[]) {
    this.#hashes = keys.map(hash)
  }

  /** From now on these keys are good, and no others. */
  replace(keys: readonly string[]): void {
    this.#hashes = keys.map(hash)
  }

  /**
   * Whether `authorization` is one of the keys. Every key is looked at, whichever matches; and since hashes are
   * compared, neither how long a key is nor how much of it was guessed shows in the time that this takes.
   */
  accepts(authorization: string): boolean {
    const given = hash(authorization)
    let accepted = false
    for (const known of this.#hashes) if (timingSafeEqual(known, given)) accepted = true
    return accepted
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
