/**
 * SHA-256 of a request's body. A body in several pieces is hashed piece by piece, while the next one is still on its way. A
 * body that arrives whole is hashed when its hash is needed.
 */
import { createHash, hash, type Hash } from 'node:crypto'

export class BodyHash {
  #pieces: Hash | null = null

  /** Must be called with each piece. `isWhole`: it is the only one. */
  add(piece: Uint8Array, isWhole: boolean): void {
    if (!isWhole) (this.#pieces ??= createHash('sha256')).update(piece)
  }

  /** The hash of the body, which is complete. Must be called once. */
  of(body: Uint8Array): Buffer {
    return this.#pieces?.digest() ?? hash('sha256', body, 'buffer')
  }
}
