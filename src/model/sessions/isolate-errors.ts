/**
 * Runs a batch through a session. If the session returns an error, bisects the batch to the items that cause it, so that
 * one item costs neither the others their result nor the process its life.
 */
import { reasonOf } from './onnx-errors.js'

/** Of the error of one item: an error of ONNX Runtime may quote whole shapes. */
const reasonCharsMax = 500

export interface IsolationParts<Item> {
  /** Runs some of the items. Rejects when the session returns an error. */
  readonly run: (items: readonly Item[]) => Promise<unknown>
  /** Runs an input that every working session accepts: if it fails too, the session is broken, and no item is the cause. */
  readonly control: () => Promise<unknown>
  /** Called for each item on which the session returns an error. */
  readonly onError: (item: Item, reason: string) => void
  /** Stops after a failure, but never before one item is run or known to fail: otherwise nothing would ever progress. */
  readonly isLate: () => boolean
}

/** Rejects when the session is broken. Items that were not reached in time are neither run nor reported. */
export async function runIsolatingErrors<Item>(
  items: readonly Item[],
  { run, control, onError, isLate }: IsolationParts<Item>,
): Promise<void> {
  const batches = [items]
  let isSettled = false
  for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
    if (isSettled && isLate()) return
    const error = await errorOf(() => run(batch))
    const middle = Math.ceil(batch.length / 2)
    if (error !== null && batch.length > 1) {
      batches.push(batch.slice(middle), batch.slice(0, middle))
      continue
    }
    isSettled = true
    if (error === null) continue
    await control()
    // A second time: the first failure may have had another cause, such as a lack of memory.
    const again = await errorOf(() => run(batch))
    if (again !== null) onError(batch[0] as Item, reasonOf(again).slice(0, reasonCharsMax))
  }
}

/** What `run` rejects with; null if it succeeds. */
async function errorOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
    return null
  } catch (error) {
    return error ?? 'unknown error'
  }
}
