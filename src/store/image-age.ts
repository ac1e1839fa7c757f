/**
 * When an image that comes again has arrived anew, for every implementation of the store.
 */
import type { StoredImage } from './store.js'

/** An image that comes again within this time has not arrived anew: retries cost no write. Retention counts in days. */
const freshMs = 3_600_000

/** Whether `found`, as it is stored, has this hash and has arrived recently or in the future. */
export function isFresh(
  found: Pick<StoredImage, 'sha256' | 'arrivedAtMs'>,
  sha256: Uint8Array,
  nowMs: number,
): boolean {
  return Buffer.compare(found.sha256, sha256) === 0 && nowMs - (found.arrivedAtMs ?? 0) < freshMs
}
