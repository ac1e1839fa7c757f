/**
 * Golden cases: rows with the heads that the model must reproduce on every machine. A case holds features by name, so
 * that it tests the graphs and not the catalogue, and the inputs of encoders: a record, images.
 */
import { join } from 'node:path'
import typia from 'typia'
import { headNames, type HeadColumns, type HeadName } from '../../contract/index.js'
import { findFeature } from '../features/catalogue.js'
import { galleryIndex } from '../features/gallery-index.js'
import { featureNames, headsOf, missingEmbeddings } from '../package/parse-manifest.js'
import { parseTyped } from '../package/parse-typed.js'
import { readHashed } from '../package/read-file.js'
import type { Manifest, PackageFile, Sha256 } from '../package/manifest.js'
import type { ModelPackage } from '../package/read-package.js'
import type { LoadedModel } from '../loaded-model.js'
import { ModelError, ModelRowError, type ImageEncoder, type TextEncoder } from '../model.js'
import { plural } from './report.js'
import { differingFigures, figure } from './trial-model.js'
import { poolVectors } from '../sessions/pooling.js'

/** Largest difference of a head from its golden value, unless the manifest gives another. */
export const goldenToleranceDefault = 1e-4

export interface GoldenFile {
  /** What a missing value was in the training; the manifest must have the same. Default: not stated. */
  missing?: 'imputed' | 'nan'
  cases: GoldenCase[]
}

export interface GoldenCase {
  /** Shown in messages. */
  name?: string
  /** Every feature of the manifest by name; null: missing, which the model gets as it gets it from the service. Default: none. */
  features?: { [name: string]: number | null }
  /** The gallery of the post, for a model that reads its index; without it the gallery is unknown. */
  gall_id?: string
  /** The input of the text encoder; without it the text is missing. */
  record?: { title: string; body_html?: string | null }
  /** The inputs of the image encoder, in position order; without them the images are missing. */
  images?: { file: PackageFile; sha256: Sha256 }[]
  heads: { [Name in HeadName]?: number }
}

/** One head of one case that differs from its golden value by more than the tolerance. */
export interface GoldenMismatch {
  readonly case: string
  readonly head: HeadName
  readonly expected: number
  readonly actual: number
}

const fileType = typia.json.schema<GoldenFile>()

/** The golden cases of a package, or null if its manifest names none. Throws a `ModelError` for an invalid file. */
export async function readGolden({ directory, manifest }: ModelPackage): Promise<GoldenFile | null> {
  const { golden } = manifest
  if (golden === undefined) return null
  const file = join(directory, golden.file)
  const bytes = await readHashed(file, golden.sha256)
  return parseGolden(bytes.toString('utf8'), file, manifest)
}

/** Throws a `ModelError` that names `file` and its problems. */
export function parseGolden(text: string, file: string, manifest: Manifest): GoldenFile {
  const golden = parseTyped(text, file, fileType)
  const problem = problemOf(golden, manifest)
  if (problem !== null) throw new ModelError(`${file}: ${problem}`)
  return golden
}

/** The part of a model that golden cases use. */
export type GoldenRunner = Pick<LoadedModel, 'text' | 'image' | 'predictRows'>

export interface GoldenResult {
  /** Largest difference of any head from its golden value. */
  readonly differenceMax: number
  readonly mismatches: readonly GoldenMismatch[]
  readonly heads: HeadColumns
}

/** The mismatches in words, the first one with its values; null if there are none. */
export function mismatchText(
  { cases }: GoldenFile,
  { mismatches }: GoldenResult,
  how: string,
): string | null {
  const [first] = mismatches
  if (first === undefined) return null
  const [actual, expected] = differingFigures(first.actual, first.expected)
  return (
    `${plural(mismatches.length, 'head')} of ${plural(cases.length, 'golden case')} differ ${how}; the first is ${first.head} of ` +
    `${first.case}: ${actual}, expected ${expected}; they differ by ${figure(Math.abs(first.actual - first.expected))}`
  )
}

/** Runs all cases as one batch, and compares. Rejects with a `ModelError` when the model fails. */
export async function runGolden(
  model: GoldenRunner,
  { directory, manifest, features }: ModelPackage,
  { cases }: GoldenFile,
): Promise<GoldenResult> {
  const { text, image } = model
  const textsOf = ({ record }: GoldenCase): Uint8Array[] =>
    record === undefined ? [] : [Buffer.from(JSON.stringify(record))]
  const imagesOf = ({ images = [] }: GoldenCase): Promise<Uint8Array[]> =>
    Promise.all(images.map(({ file, sha256 }) => readHashed(join(directory, file), sha256)))
  const missing = missingEmbeddings(manifest)
  const indexOf = galleryIndex(manifest.galleries ?? [])
  const rows = {
    count: cases.length,
    features: Float32Array.from(
      cases.flatMap((one) =>
        features.map(({ name, missing: imputed }) => {
          const given = one.features?.[name] ?? null
          return given ?? (manifest.missing === 'nan' ? NaN : (imputed ?? NaN))
        }),
      ),
    ),
    text:
      text && (await embeddings(text, cases, { missing: missing.text, pooling: 'mean', itemsOf: textsOf })),
    image:
      image &&
      (await embeddings(image, cases, { missing: missing.image, pooling: image.pooling, itemsOf: imagesOf })),
    ...(manifest.galleries === undefined
      ? {}
      : { gallery_index: Float32Array.from(cases, ({ gall_id = '' }) => indexOf(gall_id)) }),
  }
  const heads = await model.predictRows(rows).catch((error: unknown) => {
    if (!(error instanceof ModelRowError)) throw error
    throw new ModelError(`${nameOf(cases, error.row)}: ${error.message}`, { cause: error })
  })
  return compare(cases, heads, manifest.golden?.tolerance ?? goldenToleranceDefault)
}

/** `golden case 3 (an active post)`. */
function nameOf(cases: readonly GoldenCase[], index: number): string {
  const name = cases[index]?.name
  return `golden case ${index + 1}${name === undefined ? '' : ` (${name})`}`
}

function compare(cases: readonly GoldenCase[], heads: HeadColumns, tolerance: number): GoldenResult {
  let differenceMax = 0
  const mismatches: GoldenMismatch[] = []
  cases.forEach((one, row) => {
    for (const head of headNames) {
      const expected = one.heads[head]
      if (expected === undefined) continue
      const actual = heads[head]?.[row] ?? NaN
      const difference = Math.abs(actual - expected)
      differenceMax = Math.max(differenceMax, difference)
      // NaN counts as a mismatch.
      if (!(difference <= tolerance)) mismatches.push({ case: nameOf(cases, row), head, expected, actual })
    }
  })
  return { differenceMax, mismatches, heads }
}

interface EncodedItems {
  readonly missing: number
  readonly pooling: 'mean' | 'max'
  readonly itemsOf: (one: GoldenCase) => Uint8Array[] | Promise<Uint8Array[]>
}

/** A row for each case: the pooled vectors of its texts or images, or `missing` without one. */
async function embeddings(
  encoder: TextEncoder | ImageEncoder,
  cases: readonly GoldenCase[],
  { missing, pooling, itemsOf }: EncodedItems,
): Promise<Float32Array> {
  const { dim } = encoder
  const matrix = new Float32Array(cases.length * dim).fill(missing)
  for (const [row, one] of cases.entries()) {
    const items = await itemsOf(one)
    if (items.length === 0) continue
    const { vectors, encoded } = await encoder.encode(items)
    if (encoded.includes(0)) throw new ModelError(`${nameOf(cases, row)}: its text or image was not encoded`)
    const list = items.map((_, index) => vectors.subarray(index * dim, (index + 1) * dim))
    matrix.set(poolVectors(list, pooling), row * dim)
  }
  return matrix
}

/** The problem that the type of the file cannot express, or null. */
function problemOf({ cases, missing }: GoldenFile, manifest: Manifest): string | null {
  const { missing: served = 'imputed' } = manifest
  if (missing !== undefined && missing !== served)
    return `missing is ${missing}, but the manifest has ${served}`
  if (cases.length === 0) return 'cases must not be empty'
  const [heads, names] = [headsOf(manifest), featureNames(manifest)]
  for (const [index, one] of cases.entries()) {
    const member = `cases[${index}]`
    const { features = {} } = one
    const lacking = names.filter((name) => features[name] === undefined)
    const unknown = Object.keys(features).filter((name) => !names.includes(name))
    const neverMissing = names.find((name) => features[name] === null && findFeature(name)?.missing === null)
    const wrongHeads = headNames.filter((name) => (one.heads[name] !== undefined) !== heads.includes(name))
    // Together, since a misspelt name is both.
    const differences = [
      ...(lacking.length > 0 ? [`lacks ${lacking.join(', ')}`] : []),
      ...(unknown.length > 0 ? [`has ${unknown.join(', ')}, which the manifest does not name`] : []),
    ]
    if (differences.length > 0) return `${member}.features ${differences.join(', and ')}`
    if (neverMissing !== undefined)
      return `${member}.features.${neverMissing} is null, but the service always has a value for it`
    if (wrongHeads.length > 0) return `${member}.heads must be those of the model: ${heads.join(', ')}`
    if (one.record !== undefined && manifest.text === undefined)
      return `${member} has a record, but the model has no text encoder`
    if (one.images !== undefined && manifest.image === undefined)
      return `${member} has images, but the model has no image encoder`
    if (one.gall_id !== undefined && manifest.galleries === undefined)
      return `${member} has a gall_id, but no head has an input gallery_index`
  }
  return null
}
