/**
 * Compares bodies without blocking the event loop: at once where that is quick, else in a worker thread. A respelled body
 * of five megabytes takes 0.1 s to compare, and one that is made to be slow several seconds.
 */
import type { FieldProblem } from '../contract/index.js'
import { bodyDifferences } from './body-differences.js'
import { WorkerRunner } from './worker.js'

/** Bodies up to this size, both together, are compared at once. */
export const inlineComparisonBytesMax = 256 * 1024

/** Apart from the reading of bodies, so that neither waits for the other. */
const processRunner = new WorkerRunner()

/**
 * The differences of two bodies that both parse; see `bodyDifferences`. Leave both unchanged until the promise has
 * settled. Rejects as `WorkerRunner.run` does.
 */
export async function compareBodies(
  was: Uint8Array,
  is: Uint8Array,
  runner = processRunner,
): Promise<readonly FieldProblem[]> {
  if (Buffer.compare(was, is) === 0) return []
  if (was.byteLength + is.byteLength <= inlineComparisonBytesMax) return bodyDifferences(was, is)
  return (await runner.run('compareBodies', [was, is])) as FieldProblem[]
}
