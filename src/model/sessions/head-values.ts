/**
 * Reads a head from an output of a graph: its column, scaled, as a share.
 */
import type * as ort from 'onnxruntime-node'
import { floatsOf } from './floats.js'
import { rowsAndColumns, type HeadColumn } from './head-ports.js'

type Numbers = Float32Array | Float64Array

/** The values of an output, one after the other, and where the next row and the next column begin. */
interface Table {
  readonly values: Numbers
  readonly columnCount: number
  readonly rowStep: number
  readonly columnStep: number
}

/** Writes one value per row of the batch to `target`. Throws an Error if the output has another shape than the manifest states. */
export function readHead(output: ort.OnnxValue | undefined, head: HeadColumn, target: Float32Array): void {
  const table = tableOf(output, head, target.length)
  if (head.activation === 'softmax') {
    readSoftmax(table, head, target)
    return
  }
  const { values, rowStep, columnStep } = table
  const { scale, offset, activation } = head
  const start = (head.column ?? 0) * columnStep
  if (scale === 1 && offset === 0)
    for (let row = 0, at = start; row < target.length; row++, at += rowStep) target[row] = values[at]!
  else
    for (let row = 0, at = start; row < target.length; row++, at += rowStep)
      target[row] = values[at]! * scale + offset
  if (activation !== 'none') activate(target, activation)
}

function tableOf(output: ort.OnnxValue | undefined, head: HeadColumn, rowCount: number): Table {
  const { output: name, column } = head
  const dims = output?.dims ?? []
  const values = floatsOf(output)
  const [rows, columnCount = 1, ...more] = rowsAndColumns(dims, head)
  const isTable =
    values !== null && more.length === 0 && rows === rowCount && values.length === rowCount * columnCount
  if (!isTable || (column === null ? columnCount !== 1 : column >= columnCount))
    throw new Error(
      `output ${name} has the shape [${String(dims)}] for a batch of ${rowCount} rows${layoutHint(dims, head, rowCount)}`,
    )
  return head.transposed
    ? { values, columnCount, rowStep: 1, columnStep: rowCount }
    : { values, columnCount, rowStep: columnCount, columnStep: 1 }
}

/** The end of the message if another layout in the manifest would fit, else empty. */
function layoutHint(dims: readonly number[], head: HeadColumn, rowCount: number): string {
  const fits = (squeeze: boolean, transposed: boolean): boolean => {
    const [rows, columnCount = 1, ...more] = rowsAndColumns(dims, { squeeze, transposed })
    return more.length === 0 && rows === rowCount && (head.column ?? 0) < columnCount
  }
  if (fits(true, head.transposed)) return `: set squeeze for ${head.head}`
  if (fits(head.squeeze, !head.transposed)) return `: set transposed for ${head.head}`
  return ''
}

/** The share of the head's column among all columns of its row. The largest logit is subtracted, so that none overflows. */
function readSoftmax(
  { values, columnCount, rowStep, columnStep }: Table,
  { column, scale }: HeadColumn,
  target: Float32Array,
): void {
  const logits = new Float64Array(columnCount)
  for (let row = 0; row < target.length; row++) {
    let max = -Infinity
    for (let index = 0, at = row * rowStep; index < columnCount; index++, at += columnStep) {
      const logit = values[at]! * scale
      logits[index] = logit
      // NaN stays, so that the checks of the parent detect it.
      max = Math.max(max, logit)
    }
    let sum = 0
    for (let index = 0; index < columnCount; index++) sum += Math.exp(logits[index]! - max)
    target[row] = Math.exp(logits[column ?? 0]! - max) / sum
  }
}

/** Values that are not finite stay as they are, so that the checks of the parent detect them. */
function activate(values: Float32Array, activation: 'sigmoid' | 'clip'): void {
  for (let row = 0; row < values.length; row++) {
    const value = values[row]!
    if (!Number.isFinite(value)) continue
    values[row] = activation === 'sigmoid' ? 1 / (1 + Math.exp(-value)) : Math.min(Math.max(value, 0), 1)
  }
}
