/**
 * Assertions for invariants of this program. They are cheap and stay on in production: a failed one is a bug here, never
 * bad input, so a request must not be able to trip one.
 */

/** A broken invariant. `message` states the invariant. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** Throws an `AssertionError` unless `condition` holds. `message` states the invariant, such as `slots rise`. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(`broken invariant: ${message}`)
}
