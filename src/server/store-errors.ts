/**
 * Turns a failed write to storage into 503: the same call may succeed later.
 */
import { ServiceError } from '../contract/index.js'
import { StoreError } from '../store/index.js'

/** A `catch` handler for the store's promises. Throws any other error unchanged. */
export function throwUnavailable(error: unknown): never {
  if (error instanceof StoreError) throw new ServiceError({ code: 'storage_refuses' }, { cause: error })
  throw error
}
