/**
 * The catalogue as a whole: its names, and the properties that every feature has for any inputs.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  codecs,
  nativeCodecOrNull as native,
  referenceCodec,
  type Codec,
} from '../../../test/helpers/codecs.js'
import { makeInputs, ordinaryInputs, type ColumnKind } from '../../../test/helpers/scoring-inputs.js'
import { absentCode, inputLabel } from '../../contract/index.js'
import type { ScoringInputs } from '../../pool/index.js'
import { catalogue, findFeature } from './catalogue.js'
import { featureProgram, type MissingValues } from './compile.js'
import type { Feature } from './feature.js'

const cycleAtMs = Date.UTC(2026, 5, 1, 3, 0)
/** 0001-01-01 and 9999-12-31: about the first and last dates that a client can send. */
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

  test('has a formula in words for every feature', () => {
    for (const feature of catalogue) expect(feature.formula).not.toBe('')
  })
})

describe.each(codecs)('every feature, by the $name codec,', (codec) => {
  test('is finite, and below 100 unless it is the raw form of a logarithm, however extreme the inputs', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.gen(), (count, draw) => {
        const inputs = makeInputs(count, cycleAtMs, (kind) => draw(() => arbitraries[kind]))
        for (const [index, value] of fill(codec, catalogue, inputs).entries()) {
          const name = catalogue[index % catalogue.length]?.name
          const valueMax = findFeature(`${name}_log`) === undefined ? 100 : 2 ** 56
          expect(Math.abs(value), `${name} is ${value}`).toBeLessThan(valueMax)
        }
      }),
    )
  })

  test('has its documented value when all optional inputs are missing', () => {
    const inputs = makeInputs(2, cycleAtMs, (kind) => {
      if (kind.startsWith('optional') || kind === 'height') return NaN
      if (kind === 'galleryType') return absentCode
      return kind === 'time' ? cycleAtMs : 0
    })
    const matrix = fill(codec, catalogue, inputs)
    catalogue.forEach(({ name, missing }, column) => {
      if (missing !== null) expect([name, matrix[column]]).toEqual([name, missing])
    })
  })

  test('that is missing is NaN with `nan`, and has its documented value with `imputed`', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.gen(), (count, draw) => {
        const inputs = makeInputs(count, cycleAtMs, (kind) => draw(() => arbitraries[kind]))
        const imputed = fill(codec, catalogue, inputs)
        fill(codec, catalogue, inputs, 'nan').forEach((value, at) => {
          const { name, missing } = catalogue[at % catalogue.length]!
          if (!Number.isNaN(value)) expect([name, value]).toEqual([name, imputed[at]])
          else expect([name, missing]).toEqual([name, imputed[at]])
        })
      }),
    )
  })

  test('except the indicators is missing when all optional inputs are missing', () => {
    const inputs = makeInputs(1, cycleAtMs, (kind) => {
      if (kind.startsWith('optional') || kind === 'height') return NaN
      if (kind === 'galleryType') return absentCode
      return kind === 'time' ? cycleAtMs : 0
    })
    const matrix = fill(codec, catalogue, inputs, 'nan')
    const known = catalogue.filter((_, column) => !Number.isNaN(matrix[column]))
    const flags = catalogue.filter(({ name }) => /_(missing|present)$|^gallery_/.test(name))
    expect(known.map(({ name }) => name)).toEqual(
      catalogue
        .filter((feature) => feature.missing === null || flags.includes(feature))
        .map(({ name }) => name),
    )
  })

  test('depends on its own row only', () => {
    const all = ordinaryInputs(7, 1)
    const matrix = fill(codec, catalogue, all)
    for (let row = 0; row < all.count; row++) {
      const alone = {
        ...all,
        count: 1,
        slots: all.slots.slice(row, row + 1),
        readings: all.readings.slice(row, row + 1),
      }
      expect(fill(codec, catalogue, alone)).toEqual(
        matrix.slice(row * catalogue.length, (row + 1) * catalogue.length),
      )
    }
  })

  test('differs between ordinary posts, except the two of the hour of the cycle', () => {
    const matrix = fill(codec, catalogue, ordinaryInputs(500, 2))
    const constant = catalogue
      .filter((_, column) => {
        const values = matrix.filter((_value, index) => index % catalogue.length === column)
        return new Set(values).size === 1
      })
      .map((feature) => feature.name)
    expect(constant).toEqual(['cycle_hour_sin', 'cycle_hour_cos'])
  })
})

describe.each(codecs)('the feature matrix of the $name codec', (codec) => {
  test('has its columns in the requested order', () => {
    const inputs = ordinaryInputs(3, 3)
    const selected = [catalogue[5], catalogue[2], catalogue[40]] as Feature[]
    const whole = fill(codec, catalogue, inputs)
    const part = fill(codec, selected, inputs)
    selected.forEach((feature, column) => {
      const wholeColumn = catalogue.indexOf(feature)
      for (let row = 0; row < inputs.count; row++) {
        expect(part[row * selected.length + column]).toBe(whole[row * catalogue.length + wholeColumn])
      }
    })
  })

  test('does not write beyond its end, and throws when it is too small', () => {
    const inputs = ordinaryInputs(2, 4)
    const out = new Float32Array(2 * catalogue.length + 1).fill(-7)
    const { program, inputsOf } = featureProgram(catalogue, 'imputed')
    codec.runColumns(program, inputsOf(inputs), out)
    expect(out.at(-1)).toBe(-7)
    expect(() => codec.runColumns(program, inputsOf(inputs), new Float32Array(2))).toThrow('too small')
  })
})

describe.skipIf(native === null)('the codecs (skipped when the addon is not built)', () => {
  /** Also values that no client can send. */
  const extremes = fc.oneof(
    fc.constantFrom(NaN, 0, -0, 1, -1, Infinity, -Infinity, 2 ** 53, -(2 ** 53), cycleAtMs, cycleAtMs - 1),
    fc.double(),
  )

  test.each<MissingValues>(['imputed', 'nan'])(
    'agree to the precision of float32 for the catalogue, %s',
    (missing) => {
      fc.assert(
        fc.property(
          fc.constantFrom(0, 1, 2, 5, 257, 513),
          fc.array(extremes, { minLength: 9 }),
          (count, values) => {
            let next = 0
            const inputs = makeInputs(count, cycleAtMs, () => values[next++ % values.length]!)
            const expected = fill(referenceCodec, catalogue, inputs, missing)
            fill(native!, catalogue, inputs, missing).forEach((value, at) => {
              const name = catalogue[at % catalogue.length]!.name
              if (!isClose(value, expected[at]!)) expect([name, value]).toEqual([name, expected[at]])
            })
          },
        ),
        // Hours beyond 2^51, of which no fraction of a day is left.
        { examples: [[513, [0, NaN, NaN, 0, 0, NaN, 0, -1.683459143960299e55, 0]]] },
      )
    },
  )

  test('agree to the precision of float32 for ordinary posts', () => {
    const inputs = ordinaryInputs(1000, 5)
    const expected = fill(referenceCodec, catalogue, inputs)
    expect(fill(native!, catalogue, inputs).filter((value, at) => !isClose(value, expected[at]!))).toEqual(
      new Float32Array(0),
    )
  })
})

/** The codecs compute logarithms and sines to one unit in the last place of a float32, all else equally. */
function isClose(value: number, expected: number): boolean {
  return Object.is(value, expected) || Math.abs(value - expected) <= 1e-6 + 2e-7 * Math.abs(expected)
}

function fill(
  codec: Codec,
  features: readonly Feature[],
  inputs: ScoringInputs,
  missing: MissingValues = 'imputed',
): Float32Array {
  // No feature has this value, so it marks entries that were not written.
  const out = new Float32Array(inputs.count * features.length).fill(-777)
  const { program, inputsOf } = featureProgram(features, missing)
  codec.runColumns(program, inputsOf(inputs), out)
  return out
}

test.each([
  ['views', 'views', 'count', 0],
  ['views_log', 'views', 'count', 1],
  ['log1p(views)', 'views', 'count', 1],
  ['comment_cnt_missing', 'comments unknown', 'flag', 0],
  ['up_gain_log', 'recommendations since the reading before', 'count', 1],
  ['views_per_hour', 'views per hour now', 'perHour', 1],
  ['down_per_hour_of_life', 'down-votes per hour since it was written', 'perHour', 1],
  ['views_momentum', 'views: pace now, against its average', 'times', 0],
  ['up_per_view', 'recommendations per view', 'share', 0],
  ['rtb_per_up', 'Send-to-Best votes per recommendation', 'factor', 0],
  ['created_age_log', 'age', 'hours', 1],
  ['extracted_age_days', 'time in the queue', 'days', 0],
  ['previous_minutes_log', 'time since the reading before', 'minutes', 1],
  ['cycle_hour_sin', 'time of day (sine)', 'plain', 0],
  ['title_chars_log', 'title: characters', 'count', 1],
  ['body_jamo_share', 'text: share of single jamo', 'share', 0],
  ['source_vote', 'found by votes', 'flag', 0],
  ['images_stored_share', 'share of the images that arrived', 'share', 0],
  ['snapshot_hit_cnt_m_log', 'admin snapshot: views over the baseline on mobile', 'count', 1],
  ['snapshot_hit_cnt_total_log', 'admin snapshot: views over the baseline, all devices', 'count', 1],
  [
    'snapshot_recommend_up_cnt_app_share',
    'admin snapshot: app share of recommendations over the baseline',
    'share',
    0,
  ],
])('readers call %s %s', (name, label, unit, logs) => {
  const { shown } = findFeature(name)!
  expect([inputLabel(shown, 'en'), shown.unit, shown.logs]).toEqual([label, unit, logs])
})

test('every feature has words in Korean', () => {
  for (const { name, shown } of catalogue) expect(inputLabel(shown, 'ko'), name).toMatch(/[가-힣ㅋ]/)
  expect(inputLabel(findFeature('views_per_hour')!.shown, 'ko')).toBe('지금 시간당 조회')
})
