/**
 * Finds the input that makes a head NaN or infinite in a row: puts each input of the row into a row that is scored
 * well, and runs the heads once more.
 */
import { matrixNames, type MatrixName, type MatrixWidths } from './graph-ports/index.js'
import { ModelRowError } from './model.js'
import type { HeadsPlan } from './plans.js'
import type { HeadRows, Matrices } from './sessions/index.js'

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

/** The same error, with the inputs that cause it where they can be told. */
export async function withCause(error: ModelRowError, batch: FailedBatch): Promise<ModelRowError> {
  const { featureNames, rows, columns } = batch
  const { widths } = batch.plan
  const matrices = newMatrices(widths, rows.count)
  rows.fill(matrices)
  const row = (matrix: MatrixName, index: number): Float32Array =>
    matrices[matrix].subarray(index * widths[matrix], (index + 1) * widths[matrix])
  const inputs: Input[] = [
    ...(widths.features === 0 ? [] : featureNames).map((name, start): Input => {
      return { name: `feature ${name}`, matrix: 'features', start, end: start + 1 }
    }),
    ...(['text', 'image'] as const).flatMap((matrix): Input[] =>
      widths[matrix] === 0 ? [] : [{ name: `${matrix} embedding`, matrix, start: 0, end: widths[matrix] }],
    ),
  ]
  const sound = Array.from({ length: rows.count }, (_, index) => index).find((index) =>
    columns.every((values) => Number.isFinite(values[index])),
  )
  const isDefined = await scored(batch, {
    // The last row has no input of the failed one.
    count: inputs.length + 1,
    fill: (target) => {
      for (const matrix of matrixNames) {
        const width = widths[matrix]
        for (let index = 0; width > 0 && index <= inputs.length; index++) {
          const to = target[matrix].subarray(index * width, (index + 1) * width)
          if (sound === undefined) to.fill(matrix === 'features' ? 0 : 1 / Math.sqrt(width))
          else to.set(row(matrix, sound))
          const input = inputs[index]
          if (input?.matrix === matrix)
            to.set(row(matrix, error.row).subarray(input.start, input.end), input.start)
        }
      }
    },
  })
  if (!isDefined(inputs.length)) return error
  const causes = inputs
    .filter((_, index) => !isDefined(index))
    .map(
      ({ name, matrix, start, end }) => `${name} (${valueText(row(matrix, error.row).subarray(start, end))})`,
    )
  if (causes.length === 0) return error
  const more = causes.length - causesShownMax
  const shown = causes.slice(0, causesShownMax).join(', ') + (more > 0 ? ` and ${more} more` : '')
  return new ModelRowError(`${error.message}; caused by ${shown}`, error.row)
}

/** Whether the heads of a row are finite, by row; no row is where the batch fails. */
async function scored({ run }: FailedBatch, rows: HeadRows): Promise<(row: number) => boolean> {
  const columns = await run(rows).catch(() => null)
  return (row) => columns?.every((values) => Number.isFinite(values[row])) ?? false
}

function newMatrices(widths: MatrixWidths, count: number): Matrices {
  return {
    features: new Float32Array(widths.features * count),
    text: new Float32Array(widths.text * count),
    image: new Float32Array(widths.image * count),
  }
}

function valueText(values: Float32Array): string {
  const [first = 0] = values
  if (values.some((value) => Number.isNaN(value))) return 'missing'
  if (values.length === 1) return String(Number(first.toPrecision(6)))
  return values.every((value) => value === 0) ? 'missing: zeros' : 'present'
}
