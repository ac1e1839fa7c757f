/**
 * Graphs that declare any number of rows and run only one: a size of the traced batch is inside, such as in a Reshape. Only an error of
 * the graph shows that, and only for a few rows: many rows may need too much time or memory.
 */
import { isOutOfMemory, reasonOf } from './onnx-errors.js'

/** The sentence for a graph that ran one of its `noun`s and returned `error` for a few. */
export function hiddenBatchText(noun: string, error: unknown): string {
  return (
    `a hidden batch of one: the graph runs one ${noun} and fails on more, although it declares any number. Set batch to 1 for this ` +
    `graph in the manifest, or export it with a dynamic batch: ${reasonOf(error)}`
  )
}

/**
 * The error of a run of two, in words that name the cause if `runOne` succeeds. Both run the same rows; `batch`: the manifest's number
 * of rows, with which there is nothing to find out.
 */
export async function explainHiddenBatch(
  error: unknown,
  { noun, runOne, batch }: { noun: string; runOne: () => Promise<unknown>; batch: number | undefined },
): Promise<Error> {
  const cause = error instanceof Error ? error : new Error(String(error))
  if (batch !== undefined || isOutOfMemory(error)) return cause
  try {
    await runOne()
  } catch {
    return cause
  }
  return new Error(hiddenBatchText(noun, error), { cause })
}
