/** SHA-256 without keeping the event loop from other work. */
import { createHash } from 'node:crypto'
import { nextTurn } from './next-turn.js'
import { kibibyte } from './units.js'

/** Hashing this many bytes takes 0.2 ms. A thread would need a copy of them, which takes longer. */
const pieceBytes = 256 * kibibyte

/** The 32 bytes. The event loop turns after each piece: leave the bytes unchanged until the promise has settled. */
export async function sha256Of(bytes: Uint8Array): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let at = 0; ; at += pieceBytes) {
    hash.update(bytes.subarray(at, at + pieceBytes))
    if (at + pieceBytes >= bytes.length) return hash.digest()
    await nextTurn()
  }
}
