/**
 * The golden file of a catalogue version: for each feature its formula in words, its value if it is missing, its
 * values on the fixed rows by the independent formulas, and a hash of the bits that the native codec gives.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Codec } from '../../../src/codec/codec.js'
import { featureProgram, type MissingValues } from '../../../src/model/features/compile.js'
import type { Feature } from '../../../src/model/features/feature.js'
import { formulas } from './formulas.js'
import { cyclesOfRows, inputsOfRows } from './rows.js'

export interface GoldenFeature {
  readonly name: string
  readonly formula: string
  readonly missing: number | null
  /** SHA-256 of the column's float32 values on all rows, imputed and then with NaN if it is missing. */
  readonly bits: string
  /** By row, rounded to float32; null if the feature is missing. */
  readonly values: readonly (number | null)[]
}

export interface GoldenFeatures {
  readonly catalogue_version: number
  readonly features: readonly GoldenFeature[]
}

export function goldenFile(version: number): string {
  return fileURLToPath(new URL(`catalogue-${version}.json`, import.meta.url))
}

/** null: this version has none. */
export function readGoldenFeatures(version: number): GoldenFeatures | null {
  const file = goldenFile(version)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as GoldenFeatures) : null
}

/** By row, as the independent formula has it. */
export function valuesOf(name: string): (number | null)[] {
  const formula = formulas[name]
  if (formula === undefined) throw new Error(`formulas.ts has no formula of ${name}`)
  return cyclesOfRows.flatMap(({ cycleAtMs, rows }) =>
    rows.map((row) => {
      const value = formula(row, cycleAtMs)
      // Nine digits distinguish any two float32 values.
      return Number.isNaN(value) ? null : Number(Math.fround(value).toPrecision(9))
    }),
  )
}

/** The column of a feature on all rows, by a codec. */
export function columnOf(
  feature: Feature,
  codec: Pick<Codec, 'runColumns'>,
  missing: MissingValues,
): Float32Array {
  const { program, inputsOf } = featureProgram([feature], missing)
  const columns = inputsOfRows.map((inputs) => {
    const column = new Float32Array(inputs.count)
    codec.runColumns(program, inputsOf(inputs), column)
    return column
  })
  return Float32Array.from(columns.flatMap((column) => [...column]))
}

export function bitsOf(feature: Feature, codec: Pick<Codec, 'runColumns'>): string {
  const hash = createHash('sha256')
  for (const missing of ['imputed', 'nan'] as const)
    // All NaN are equivalent.
    for (const value of columnOf(feature, codec, missing))
      hash.update(Number.isNaN(value) ? 'NaN' : bytesOf(value))
  return hash.digest('hex')
}

/** In little-endian order on every machine. */
function bytesOf(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(4))
  view.setFloat32(0, value, true)
  return new Uint8Array(view.buffer)
}
