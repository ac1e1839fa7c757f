/**
 * Long work in pieces: between two of them, what else is waiting goes on.
 */

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
