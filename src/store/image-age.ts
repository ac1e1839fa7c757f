/**
 * When a repeated image counts as a new arrival, for every implementation of the store.
 */
import type { StoredImage } from './store.js'

/** A repeat within this time is not a new arrival: retries cost no write. Retention counts in days. */
const freshMs = 3_600_000

/** Whether `found`, as it is stored, has this hash and has arrived recently or in the future. */
export function isFresh(
  found: Pick<StoredImage, 'sha256' | 'arrivedAtMs'>,
  sha256: Uint8Array,
  nowMs: number,
): boolean {
  return Buffer.compare(found.sha256, sha256) === 0 && nowMs - (found.arrivedAtMs ?? 0) < freshMs
}
