/**
 * Compares bodies without blocking the event loop: at once where that is quick, else in a worker thread. A respelled body
 * of five megabytes takes 0.1 s to compare, and one that is made to be slow several seconds.
 */
import { sameJson } from './same-json.js'
import { WorkerRunner } from './worker.js'

/** Bodies up to this size, both together, are compared at once. */
export const inlineComparisonBytesMax = 256 * 1024

/** Apart from the reading of bodies, so that neither waits for the other. */
const processRunner = new WorkerRunner()

/** Whether bodies of these lengths are certain to need a thread: they differ and are long. */
export function needsThread(aBytes: number, bBytes: number): boolean {
  return aBytes !== bBytes && aBytes + bBytes > inlineComparisonBytesMax
}

/** Compares the values of two bodies that both parse; null where that would take the event loop too long. */
export function sameJsonAtOnce(a: Uint8Array, b: Uint8Array): boolean | null {
  if (Buffer.compare(a, b) === 0) return true
  return a.byteLength + b.byteLength <= inlineComparisonBytesMax ? sameJson(a, b) : null
}

/**
 * Compares the values of two bodies that both parse. Leave both unchanged until the promise has settled. Rejects as
 * `WorkerRunner.run` does.
 */
export async function sameJsonOffThread(
  a: Uint8Array,
  b: Uint8Array,
  runner = processRunner,
): Promise<boolean> {
  return sameJsonAtOnce(a, b) ?? ((await runner.run('sameJson', [a, b])) as boolean)
}
