/** A version that is being loaded when the service ends is given up. */
import { ModelDownError } from './model.js'

export function gaveUp(): ModelDownError {
  return new ModelDownError('the service ends')
}

/** Throws `gaveUp()` when `ended` has been said; without one, nobody says it. */
export function throwIfEnded(ended: AbortSignal | undefined): void {
  if (ended?.aborted === true) throw gaveUp()
}
