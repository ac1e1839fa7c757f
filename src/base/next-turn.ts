/**
 * Long work runs in pieces: between two of them, the event loop serves other requests.
 */

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
