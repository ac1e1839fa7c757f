/**
 * The catalogue as a whole: names, and what every feature promises whatever its inputs hold.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeInputs, ordinaryInputs, type ColumnKind } from '../../../test/helpers/scoring-inputs.js'
import { absentCode } from '../../contract/index.js'
import type { ScoringInputs } from '../../pool/index.js'
import { catalogue, fillFeatures, type Feature } from './index.js'

const cycleAtMs = Date.UTC(2026, 5, 1, 3, 0)
/** 0001-01-01 and 9999-12-31: the first and last dates that a client can send, more or less. */
const yearOneMs = -62_135_596_800_000
const year9999Ms = 253_402_300_799_999

const arbitraries: Record<ColumnKind, fc.Arbitrary<number>> = {
  optionalCount: fc.oneof(
    fc.constantFrom(NaN, 0, 1, Number.MAX_SAFE_INTEGER),
    fc.maxSafeNat(),
    fc.nat({ max: 100 }),
  ),
  count: fc.oneof(fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER), fc.nat({ max: 100 })),
  time: fc.oneof(
    fc.constantFrom(cycleAtMs, cycleAtMs - 1, yearOneMs),
    fc.integer({ min: cycleAtMs - 86_400_000, max: cycleAtMs }),
  ),
  optionalTime: fc.oneof(
    fc.constantFrom(NaN, cycleAtMs, cycleAtMs + 1, yearOneMs, year9999Ms),
    fc.integer({ min: cycleAtMs - 86_400_000, max: cycleAtMs + 86_400_000 }),
  ),
  measure: fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1), fc.nat({ max: 1000 })),
  flag: fc.constantFrom(0, 1),
  source: fc.nat({ max: 5 }),
  galleryType: fc.constantFrom(0, 1, 2, absentCode),
  height: fc.oneof(fc.constantFrom(NaN, 0, 32767), fc.nat({ max: 32767 })),
}

describe('the catalogue', () => {
  test('has at least 64 features', () => expect(catalogue.length).toBeGreaterThanOrEqual(64))

  test('names each feature once, in snake case', () => {
    const names = catalogue.map((feature) => feature.name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]*$/)
  })

  test('tells the formula of every feature', () => {
    for (const feature of catalogue) expect(feature.formula).not.toBe('')
  })
})

describe('every feature', () => {
  test('is finite and of a size that a network can digest, however extreme the inputs', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.gen(), (count, draw) => {
        const inputs = makeInputs(count, cycleAtMs, (kind) => draw(() => arbitraries[kind]))
        for (const [index, value] of fill(catalogue, inputs).entries()) {
          const name = catalogue[index % catalogue.length]?.name
          expect(Math.abs(value), `${name} is ${value}`).toBeLessThan(100)
        }
      }),
    )
  })

  test('has its documented value when all that may be missing is', () => {
    const inputs = makeInputs(2, cycleAtMs, (kind) => {
      if (kind.startsWith('optional') || kind === 'height') return NaN
      if (kind === 'galleryType') return absentCode
      return kind === 'time' ? cycleAtMs : 0
    })
    const matrix = fill(catalogue, inputs)
    catalogue.forEach(({ name, missing }, column) => {
      if (missing !== null) expect([name, matrix[column]]).toEqual([name, missing])
    })
  })

  test('of a row does not depend on the other rows', () => {
    const all = ordinaryInputs(7, 1)
    const matrix = fill(catalogue, all)
    for (let row = 0; row < all.count; row++) {
      const alone = {
        ...all,
        count: 1,
        slots: all.slots.slice(row, row + 1),
        readings: all.readings.slice(row, row + 1),
      }
      expect(fill(catalogue, alone)).toEqual(
        matrix.slice(row * catalogue.length, (row + 1) * catalogue.length),
      )
    }
  })

  test('tells ordinary posts apart, apart from the two that are the hour of the cycle', () => {
    const matrix = fill(catalogue, ordinaryInputs(500, 2))
    const constant = catalogue
      .filter((_, column) => {
        const values = matrix.filter((_value, index) => index % catalogue.length === column)
        return new Set(values).size === 1
      })
      .map((feature) => feature.name)
    expect(constant).toEqual(['cycle_hour_sin', 'cycle_hour_cos'])
  })
})

describe('the feature matrix', () => {
  test('has its columns in the order that was asked for', () => {
    const inputs = ordinaryInputs(3, 3)
    const asked = [catalogue[5], catalogue[2], catalogue[40]] as Feature[]
    const whole = fill(catalogue, inputs)
    const part = fill(asked, inputs)
    asked.forEach((feature, column) => {
      const wholeColumn = catalogue.indexOf(feature)
      for (let row = 0; row < inputs.count; row++) {
        expect(part[row * asked.length + column]).toBe(whole[row * catalogue.length + wholeColumn])
      }
    })
  })

  test('leaves what lies beyond it alone, and is refused when it is too small', () => {
    const inputs = ordinaryInputs(2, 4)
    const out = new Float32Array(2 * catalogue.length + 1).fill(-7)
    fillFeatures(catalogue, inputs, out)
    expect(out.at(-1)).toBe(-7)
    expect(() => fillFeatures(catalogue, inputs, new Float32Array(2))).toThrow('too small')
  })
})

function fill(features: readonly Feature[], inputs: ScoringInputs): Float32Array {
  // NaN marks what no feature has written.
  const out = new Float32Array(inputs.count * features.length).fill(NaN)
  fillFeatures(features, inputs, out)
  return out
}
