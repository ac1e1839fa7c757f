/**
 * Finds the input that makes a head NaN or infinite in a row: puts each input of the row into a row that is scored
 * well, and runs the heads once more.
 */
import { matrixNames, type MatrixName, type MatrixWidths } from './head-ports.js'
import { ModelRowError } from '../model.js'
import { byMatrix, type HeadRows, type Matrices } from './batches.js'

const causesShownMax = 5

export interface FailedBatch {
  readonly widths: MatrixWidths
  /** Names of the features, in the order of their columns. */
  readonly featureNames: readonly string[]
  readonly rows: HeadRows
  /** The heads of the batch. */
  readonly columns: readonly Float32Array[]
  readonly run: (rows: HeadRows) => Promise<readonly Float32Array[]>
}

/** A feature or an embedding: columns `start` to `end` of a matrix. */
interface Input {
  readonly name: string
  readonly matrix: MatrixName
  readonly start: number
  readonly end: number
}

/** The same error, with the inputs that cause it if they can be determined. */
export async function withCause(error: ModelRowError, batch: FailedBatch): Promise<ModelRowError> {
  const { widths, featureNames, rows, columns, run } = batch
  const matrices = byMatrix((name) => new Float32Array(widths[name] * rows.count))
  rows.fill(matrices)
  const rowAt = (row: number): Matrices =>
    byMatrix((name) => matrices[name].subarray(row * widths[name], (row + 1) * widths[name]))
  const failed = rowAt(error.row)
  const validRow = Array.from({ length: rows.count }, (_, row) => row).find((row) => isDefined(columns, row))
  const valid = validRow === undefined ? neutralRow(widths) : rowAt(validRow)
  const inputs = inputsOf(widths, featureNames)
  const fill = (target: Matrices): void => {
    for (const name of matrixNames)
      for (let row = 0; row <= inputs.length; row++) target[name].set(valid[name], row * widths[name])
    inputs.forEach(({ matrix, start, end }, row) =>
      target[matrix].set(failed[matrix].subarray(start, end), row * widths[matrix] + start),
    )
  }
  // The last row has no input of the failed one.
  const tried = await run({ count: inputs.length + 1, fill }).catch(() => null)
  if (tried === null || !isDefined(tried, inputs.length)) return error
  const causes = inputs
    .filter((_, index) => !isDefined(tried, index))
    .map(({ name, matrix, start, end }) => `${name} (${valueText(failed[matrix].subarray(start, end))})`)
  if (causes.length === 0) return error
  const more = causes.length - causesShownMax
  const shown = causes.slice(0, causesShownMax).join(', ') + (more > 0 ? ` and ${more} more` : '')
  return new ModelRowError(`${error.message}; caused by ${shown}`, error.row)
}

/** Features of 0, an unknown gallery, and embeddings of length 1. */
function neutralRow(widths: MatrixWidths): Matrices {
  return byMatrix((name) => {
    const isEmbedding = name === 'text' || name === 'image'
    return new Float32Array(widths[name]).fill(isEmbedding ? 1 / Math.sqrt(widths[name]) : 0)
  })
}

function inputsOf(widths: MatrixWidths, featureNames: readonly string[]): Input[] {
  const embeddings = (['text', 'image'] as const).filter((matrix) => widths[matrix] > 0)
  const matrix = 'gallery_index'
  return [
    ...featureNames.map((name, start) => {
      return { name: `feature ${name}`, matrix: 'features' as const, start, end: start + 1 }
    }),
    ...embeddings.map((matrix) => ({ name: `${matrix} embedding`, matrix, start: 0, end: widths[matrix] })),
    ...(widths[matrix] > 0 ? [{ name: matrix, matrix, start: 0, end: widths[matrix] } as const] : []),
  ]
}

/** Whether the heads of a row are finite. */
function isDefined(columns: readonly Float32Array[], row: number): boolean {
  return columns.every((values) => Number.isFinite(values[row]))
}

function valueText(values: Float32Array): string {
  const [first = 0] = values
  if (values.some((value) => Number.isNaN(value))) return 'missing'
  if (values.length === 1) return String(Number(first.toPrecision(6)))
  return values.every((value) => value === 0) ? 'missing: zeros' : 'present'
}
