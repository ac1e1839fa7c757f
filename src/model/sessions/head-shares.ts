/**
 * The range of heads: finite and within 0 to 1. A batch with any other value fails. A value that is outside only by
 * rounding is clamped: the sigmoid of ONNX Runtime gives 1.0000001 for some inputs.
 */
import { headNames, type HeadColumns, type HeadName } from '../../contract/index.js'
import { ModelRowError } from '../model.js'

/** Eight units in the last place of a float32 at 1: larger than the error of a sigmoid or of a sum of a softmax. */
const roundingMax = 1e-6
/** What helps against every value but NaN. */
const remedy =
  '; let the graph end in a sigmoid, or set activation in the manifest: sigmoid for a logit, softmax for a column of logits, ' +
  'clip for a regressor'

/**
 * Clamps values that are outside only by rounding. Throws a `ModelRowError` that counts the invalid rows of the first
 * head that has some.
 */
export function clampHeads(heads: readonly HeadName[], columns: readonly Float32Array[]): void {
  heads.forEach((head, index) => clampHead(head, columns[index]!))
}

function clampHead(head: HeadName, values: Float32Array): void {
  let badCount = 0
  let firstBad = -1
  for (let row = 0; row < values.length; row++) {
    const value = values[row]!
    // NaN fails this comparison.
    if (value >= 0 && value <= 1) continue
    if (value >= -roundingMax && value <= 1 + roundingMax) {
      values[row] = value < 0 ? 0 : 1
      continue
    }
    if (badCount === 0) firstBad = row
    badCount++
  }
  if (badCount === 0) return
  const value = values[firstBad]!
  throw new ModelRowError(
    `head ${head}: ${badCount} of ${values.length} rows are not finite and within 0 to 1, ` +
      `the first is row ${firstBad} with ${value}${Number.isNaN(value) ? '' : remedy}`,
    firstBad,
  )
}

/** Columns by head; null for heads that the model does not have. */
export function byName(heads: readonly HeadName[], columns: readonly Float32Array[]): HeadColumns {
  const entries = headNames.map((name) => [name, columns[heads.indexOf(name)] ?? null])
  return Object.fromEntries(entries) as HeadColumns
}
