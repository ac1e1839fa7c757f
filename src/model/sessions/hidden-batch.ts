/**
 * Graphs that declare any number of rows and run only one: a size of the traced batch is inside, such as in a Reshape.
 */
import { reasonOf } from './onnx-errors.js'

/**
 * The error of `runTwo`, in words that name the cause if `runOne` succeeds. Both run the same rows; `batch`: the manifest's number of rows,
 * with which there is nothing to find out.
 */
export async function explainHiddenBatch(
  error: unknown,
  { noun, runOne, batch }: { noun: string; runOne: () => Promise<unknown>; batch: number | undefined },
): Promise<Error> {
  const cause = error instanceof Error ? error : new Error(String(error))
  if (batch !== undefined) return cause
  try {
    await runOne()
  } catch {
    return cause
  }
  return new Error(
    `a hidden batch of one: the graph runs one ${noun} and fails on more, although it declares any number. Set batch to 1 for this ` +
      `graph in the manifest, or export it with a dynamic batch: ${reasonOf(error)}`,
    { cause },
  )
}
