/** SHA-256 without keeping the event loop from other work. */
import { hash, webcrypto } from 'node:crypto'
import { kibibyte } from './units.js'

/** Hashing this many bytes takes a fraction of a millisecond, no longer than a thread takes to begin. */
const inlineBytesMax = 256 * kibibyte

/** The 32 bytes. Many bytes are hashed in the thread pool: leave them unchanged until the promise has settled. */
export async function sha256Of(bytes: Uint8Array): Promise<Buffer> {
  if (bytes.length <= inlineBytesMax) return hash('sha256', bytes, 'buffer')
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes))
}
