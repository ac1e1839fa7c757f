/**
 * Makes golden cases of rows that a model has scored, for `models golden`.
 */
import { headNames, type HeadColumns } from '../../contract/index.js'
import { gallIdAt } from '../../pool/index.js'
import { compileFeatures } from '../features/compile.js'
import type { GoldenCase, GoldenFile } from './golden.js'
import type { ModelInputs } from '../model.js'
import type { ModelPackage } from '../package/read-package.js'

/** The parts of a case that are not features or heads. */
export interface RecordedRow {
  readonly name: string
  /** The candidate's JSON object that the text encoder has read; null: the text was missing. */
  readonly record: Uint8Array | null
  /** Files of the images that the image encoder has read, in position order. */
  readonly images: readonly { readonly file: string; readonly sha256: string }[]
}

/**
 * One case for each row of `inputs`, with the heads of the model; `rows` are in the same order. A missing value is null for
 * every model, so that the case tests what stands for it too.
 */
export function recordGolden(
  { manifest, features }: ModelPackage,
  inputs: ModelInputs,
  heads: HeadColumns,
  rows: readonly RecordedRow[],
): GoldenFile {
  const matrix = new Float32Array(inputs.count * features.length)
  compileFeatures(features, 'nan')(inputs, matrix)
  const cases = rows.map(({ name, record, images }, row): GoldenCase => {
    const values = matrix.subarray(row * features.length, (row + 1) * features.length)
    const given = headNames.flatMap((head) => {
      const value = heads[head]?.[row]
      return value === undefined ? [] : [[head, shortest(value)]]
    })
    return {
      name,
      features: Object.fromEntries(features.map((feature, i) => [feature.name, shortest(values[i]!)])),
      ...(manifest.galleries === undefined ? {} : { gall_id: gallIdAt(inputs, inputs.slots[row]!) }),
      ...(record === null ? {} : { record: readableRecord(record) }),
      ...(images.length === 0 ? {} : { images: images.map(({ file, sha256 }) => ({ file, sha256 })) }),
      heads: Object.fromEntries(given) as GoldenCase['heads'],
    }
  })
  return { cases }
}

/** Nine digits are enough to read the same float32 again; null for NaN, which JSON lacks. */
function shortest(value: number): number | null {
  return Number.isNaN(value) ? null : Number(value.toPrecision(9))
}

/** The members of a candidate that a text encoder reads. */
function readableRecord(record: Uint8Array): { title: string; body_html?: string } {
  const { title, body_html } = JSON.parse(Buffer.from(record).toString('utf8')) as {
    title: string
    body_html?: string | null
  }
  return { title, ...(typeof body_html === 'string' ? { body_html } : {}) }
}
