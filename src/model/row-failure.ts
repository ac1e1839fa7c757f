/**
 * Finds the input that makes a head NaN or infinite in a row: puts each input of the row into a row that is scored
 * well, and runs the heads once more.
 */
import { matrixNames, type MatrixName, type MatrixWidths } from './graph-ports/head-ports.js'
import { ModelRowError } from './model.js'
import type { HeadsPlan } from './plans.js'
import type { HeadRows, Matrices } from './sessions/batches.js'

const causesShownMax = 5

export interface FailedBatch {
  readonly plan: HeadsPlan
  /** Of the features, in the order of their columns. */
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
  const { plan, featureNames, rows, columns, run } = batch
  const { widths } = plan
  const newMatrix = (name: MatrixName): Float32Array => new Float32Array(widths[name] * rows.count)
  const matrices = { features: newMatrix('features'), text: newMatrix('text'), image: newMatrix('image') }
  rows.fill(matrices)
  const row = (matrix: MatrixName, index: number): Float32Array =>
    matrices[matrix].subarray(index * widths[matrix], (index + 1) * widths[matrix])
  const inputs = inputsOf(widths, featureNames)
  const validRow = Array.from({ length: rows.count }, (_, index) => index).find((index) =>
    isDefined(columns, index),
  )
  const fill = (target: Matrices): void => {
    for (const matrix of matrixNames) {
      const width = widths[matrix]
      for (let index = 0; width > 0 && index <= inputs.length; index++) {
        const to = target[matrix].subarray(index * width, (index + 1) * width)
        if (validRow === undefined) to.fill(matrix === 'features' ? 0 : 1 / Math.sqrt(width))
        else to.set(row(matrix, validRow))
        const input = inputs[index]
        if (input?.matrix === matrix)
          to.set(row(matrix, error.row).subarray(input.start, input.end), input.start)
      }
    }
  }
  // The last row has no input of the failed one.
  const tried = await run({ count: inputs.length + 1, fill }).catch(() => null)
  if (tried === null || !isDefined(tried, inputs.length)) return error
  const causes = inputs
    .filter((_, index) => !isDefined(tried, index))
    .map(
      ({ name, matrix, start, end }) => `${name} (${valueText(row(matrix, error.row).subarray(start, end))})`,
    )
  if (causes.length === 0) return error
  const more = causes.length - causesShownMax
  const shown = causes.slice(0, causesShownMax).join(', ') + (more > 0 ? ` and ${more} more` : '')
  return new ModelRowError(`${error.message}; caused by ${shown}`, error.row)
}

function inputsOf(widths: MatrixWidths, featureNames: readonly string[]): Input[] {
  const embeddings = (['text', 'image'] as const).filter((matrix) => widths[matrix] > 0)
  return [
    ...featureNames.map((name, start) => {
      return { name: `feature ${name}`, matrix: 'features' as const, start, end: start + 1 }
    }),
    ...embeddings.map((matrix) => ({ name: `${matrix} embedding`, matrix, start: 0, end: widths[matrix] })),
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
