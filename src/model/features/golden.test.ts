/**
 * The catalogue on fixed rows: its values are those of an independent implementation of the documented formulas. By the
 * native codec, they do not change by one bit without a new name or a new version of the catalogue.
 */
import { describe, expect, test } from 'vitest'
import {
  bitsOf,
  columnOf,
  readGoldenFeatures,
  valuesOf,
} from '../../../test/golden/features/golden-features.js'
import { codecs, nativeCodecOrNull as native } from '../../../test/helpers/codecs.js'
import { catalogue, catalogueVersion, findFeature } from './catalogue.js'

const golden = readGoldenFeatures(catalogueVersion)
if (golden === null) throw new Error(`catalogue version ${catalogueVersion} has no golden file: see write.ts`)

test('every feature is pinned, with its formula in words and its value if it is missing', () => {
  const described = ({
    name,
    formula,
    missing,
  }: {
    name: string
    formula: string
    missing: number | null
  }) => ({ name, formula, missing })
  expect(catalogue.map(described)).toEqual(golden.features.map(described))
})

test.each(golden.features)('$name has the golden values of its independent formula', ({ name, values }) => {
  expect(valuesOf(name)).toEqual(values)
})

test.each(golden.features)('$name is pinned on rows with different values', ({ missing, values }) => {
  const known = values.filter((value) => value !== null)
  expect(known.length).toBeGreaterThan(50)
  expect(new Set(known).size).toBeGreaterThan(1)
  if (missing === null) expect(known).toHaveLength(values.length)
})

describe.each(codecs)('by the $name codec,', (codec) => {
  test.each(golden.features)(
    '$name is its formula to the precision of float32',
    ({ name, missing, values }) => {
      const feature = findFeature(name)!
      const [imputed, withNaN] = [columnOf(feature, codec, 'imputed'), columnOf(feature, codec, 'nan')]
      values.forEach((value, row) => {
        if (value === null) {
          expect([row, imputed[row], withNaN[row]]).toEqual([row, missing, NaN])
          return
        }
        for (const actual of [imputed[row]!, withNaN[row]!])
          expect(Math.abs(actual - value), `row ${row}: ${actual}, not ${value}`).toBeLessThanOrEqual(
            2e-7 + 2e-7 * Math.abs(value),
          )
      })
    },
  )
})

describe.skipIf(native === null)('by the native codec (skipped when the addon is not built),', () => {
  test.each(golden.features)('$name has the recorded bits', ({ name, bits }) => {
    expect(bitsOf(findFeature(name)!, native!)).toBe(bits)
  })
})
