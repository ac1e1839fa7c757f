/**
 * Column programs: what operations give, on both evaluators, what they refuse, and that the two agree on random programs.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codecs, nativeCodecOrNull as native } from '../../test/helpers/codecs.js'
import { referenceCodec, type Codec } from './codec.js'
import {
  columnOperations,
  type ColumnInputs,
  type ColumnOperation,
  type ColumnProgram,
  type ProgramColumn,
} from './column-program.js'

/** Counts around the blocks of the native evaluator. */
const rowCounts = [0, 1, 3, 63, 64, 65, 128, 1030]

type Instruction = readonly [operation: ColumnOperation | 'load', a: number, b: number]

/** Columns are read by the one index there is, unless `columnIndexes` is given. */
function makeProgram(
  code: readonly Instruction[],
  outputs: readonly number[],
  columnIndexes: readonly number[] = [0],
): ColumnProgram {
  return {
    code: Uint32Array.from(
      code.flatMap(([operation, ...words]) => [columnOperations.indexOf(operation), ...words]),
    ),
    columnIndexes: Uint32Array.from(columnIndexes),
    outputs: Uint32Array.from(outputs),
  }
}

function makeInputs(
  rowCount: number,
  columns: readonly ProgramColumn[],
  constants: readonly number[] = [],
): ColumnInputs {
  return { rowCount, columns, indexes: [identity(rowCount)], constants: Float64Array.from(constants) }
}

function identity(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, row) => row)
}

/** The matrix, in shared memory, followed by a value that must not change. */
function run(codec: Codec, program: ColumnProgram, inputs: ColumnInputs): Float32Array {
  const length = inputs.rowCount * program.outputs.length
  const matrix = new Float32Array(new SharedArrayBuffer(4 * (length + 1))).fill(-7)
  codec.runColumns(program, inputs, matrix)
  expect(matrix[length]).toBe(-7)
  return matrix.slice(0, length)
}

/** An operation on every pair of values. */
function apply(codec: Codec, operation: ColumnOperation, xs: readonly number[], ys = xs): number[] {
  const code: Instruction[] = [
    ['load', 0, 0],
    ['load', 1, 1],
    [operation, 0, 1],
  ]
  const inputs = makeInputs(xs.length, [Float64Array.from(xs), Float64Array.from(ys)])
  return [...run(codec, makeProgram(code, [2], [0, 0]), inputs)]
}

describe.each(codecs)('the $name evaluator', (codec) => {
  test.each<[ColumnOperation, number, number, number]>([
    ['add', 2, 3, 5],
    ['subtract', 2, 3, -1],
    ['multiply', 2, 3, 6],
    ['divide', 3, 2, 1.5],
    ['divide', 1, 0, Infinity],
    ['atLeast', 2, 3, 3],
    ['atLeast', 4, 3, 4],
    ['atLeast', NaN, 3, NaN],
    ['atMost', 2, 3, 2],
    ['atMost', 4, 3, 3],
    ['atMost', NaN, 3, NaN],
    ['greater', 3, 2, 1],
    ['greater', 2, 2, 0],
    ['greater', NaN, 2, 0],
    ['equal', 2, 2, 1],
    ['equal', 2, 3, 0],
    ['equal', NaN, NaN, 0],
    ['coalesce', 2, 3, 2],
    ['coalesce', NaN, 3, 3],
    ['where', 2, 1, 2],
    ['where', 2, 0, NaN],
    ['where', 2, NaN, NaN],
    ['round', 2.5, 0, 2],
    ['round', -1.7, 0, -2],
    ['signedLog1p', 0, 0, 0],
    ['signedLog1p', Infinity, 0, Infinity],
    ['signedLog1p', -Infinity, 0, -Infinity],
    ['signedLog1p', NaN, 0, NaN],
    ['sine', 0.25, 0, 1],
    ['sine', -7.75, 0, 1],
    ['sine', NaN, 0, NaN],
  ])('%s of %d and %d is %d', (operation, x, y, result) => {
    expect(apply(codec, operation, [x], [y])).toEqual([result])
  })

  test('computes logarithms to within one unit in the last place of a float32', () => {
    const near = [0.4142, 0.41421356, 0.4143, 1, 1.828, 1.8284271, 1.829, 2 ** 53, 1e300, 5e-324]
    const xs = [...near, ...Array.from({ length: 4000 }, (_, i) => 10 ** (i / 100 - 20))]
    apply(codec, 'signedLog1p', xs).forEach((value, i) => expectNear(value, Math.log1p(xs[i]!)))
    apply(
      codec,
      'signedLog1p',
      xs.map((x) => -x),
    ).forEach((value, i) => expectNear(value, -Math.log1p(xs[i]!)))
  })

  test('computes sines to within one unit in the last place of a float32', () => {
    const xs = Array.from({ length: 4001 }, (_, i) => (i - 2000) / 4001)
    apply(codec, 'sine', xs).forEach((value, i) => expectNear(value, Math.sin(2 * Math.PI * xs[i]!)))
    apply(
      codec,
      'sine',
      xs.map((x) => x + 1024),
    ).forEach((value, i) => expect(value).toBeCloseTo(Math.sin(2 * Math.PI * xs[i]!), 6))
  })

  test.each(rowCounts)('computes %d rows in their order, through every kind of index and column', (count) => {
    const indexes = [
      identity(count),
      identity(count).map((row) => row + 3),
      identity(count).map((row) => 2 * (count - row)),
      identity(count).map((row) => (row < count - 1 ? row : 0)),
    ]
    const length = 2 * count + 3
    const columns = [
      Float64Array.from({ length }, (_, i) => i / 4),
      Uint32Array.from({ length }, (_, i) => 2 ** 32 - 1 - i),
      Uint8Array.from({ length }, (_, i) => i * 7),
    ]
    const pairs = indexes.flatMap((_, index) => columns.map((column) => ({ index, column })))
    const program = makeProgram(
      pairs.map((_, i): Instruction => ['load', i, i]),
      [...pairs.keys()],
      pairs.map(({ index }) => index),
    )
    const inputs = {
      ...makeInputs(
        count,
        pairs.map(({ column }) => column),
      ),
      indexes,
    }
    const expected = Float32Array.from({ length: count * pairs.length }, (_, at) => {
      const { index, column } = pairs[at % pairs.length]!
      return column[indexes[index]![Math.floor(at / pairs.length)]!]!
    })
    expect(run(codec, program, inputs)).toEqual(expected)
  })

  test('outputs constants, and values computed from constants', () => {
    const program = makeProgram([['add', 0, 1]], [2, 0, 1], [])
    for (const constant of [4, 5]) {
      const matrix = run(codec, program, makeInputs(2, [], [0.5, constant]))
      expect([...matrix]).toEqual([constant + 0.5, 0.5, constant, constant + 0.5, 0.5, constant])
    }
  })

  const program = makeProgram([['load', 0, 0]], [0])
  const inputs = makeInputs(2, [new Float64Array(2)])

  test.each<[string, Partial<ColumnInputs>]>([
    ['a column that is too short', { columns: [new Float64Array(1)] }],
    ['no columns', { columns: [] }],
    ['no indexes', { indexes: [] }],
    ['an index that is too short', { indexes: [Uint32Array.of(0)] }],
    ['an index far beyond its column', { indexes: [Uint32Array.of(2 ** 32 - 1, 0)] }],
    ['an index just beyond its column', { indexes: [Uint32Array.of(0, 2)] }],
  ])('refuses inputs with %s, and writes nothing', (_, wrong) => {
    const matrix = new Float32Array(2).fill(-7)
    expect(() => codec.runColumns(program, { ...inputs, ...wrong }, matrix)).toThrow(
      'does not match its inputs',
    )
    expect([...matrix]).toEqual([-7, -7])
  })

  test('refuses a matrix that is too small', () => {
    expect(() => codec.runColumns(program, inputs, new Float32Array(1))).toThrow('the matrix is too small')
  })

  test.each<[string, ColumnProgram]>([
    ['an output beyond the values', makeProgram([['load', 0, 0]], [1])],
    ['an instruction that reads its own value', makeProgram([['add', 0, 0]], [])],
    ['an instruction that reads a later value', makeProgram([['add', 0, 1]], [])],
    ['an index that is not there', makeProgram([], [], [1])],
    ['a load of a column that is not there', makeProgram([['load', 1, 1]], [])],
    ['an unknown operation', { ...program, code: Uint32Array.of(columnOperations.length, 0, 0) }],
    ['half an instruction', { ...program, code: Uint32Array.of(0, 0, 0, 0) }],
  ])('refuses a program with %s', (_, unsound) => {
    expect(() => codec.runColumns(unsound, inputs, new Float32Array(2))).toThrow('does not match its inputs')
  })
})

describe.skipIf(native === null)('the native evaluator (skipped when the addon is not built)', () => {
  test('gives the bits of the reference for random programs without logarithms and sines', () => {
    fc.assert(
      fc.property(programs, fc.constantFrom(...rowCounts), numbers, (program, count, values) => {
        const inputs = makeInputs(
          count,
          [
            Float64Array.from({ length: count }, (_, i) => values[i % values.length]!),
            Uint32Array.from({ length: count }, (_, i) => i * 7919),
            Uint8Array.from({ length: count }, (_, i) => i),
          ],
          [values[0]!, 3_600_000],
        )
        const expected = run(referenceCodec, program, inputs)
        run(native!, program, inputs).forEach((value, at) => {
          if (!Object.is(value, expected[at])) expect(value).toBe(expected[at])
        })
      }),
      { numRuns: 300 },
    )
  })
})

/** All that doubles can be, times among them. */
const numbers = fc.array(
  fc.oneof(
    fc.constantFrom(NaN, 0, -0, 1, -1, Infinity, -Infinity, 2 ** 53, -(2 ** 53), 5e-324, 1e-9, 0.41421356),
    fc.integer({ min: -100, max: 100 }),
    fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }),
    fc.double(),
  ),
  { minLength: 1, maxLength: 40 },
)

const exactOperations = columnOperations.filter(
  (operation): operation is ColumnOperation => !['load', 'signedLog1p', 'sine'].includes(operation),
)

/** Two constants, then three loaded columns; each instruction reads earlier values. All are outputs. */
const programs: fc.Arbitrary<ColumnProgram> = fc
  .array(fc.tuple(fc.constantFrom(...exactOperations), fc.nat(), fc.nat()), { maxLength: 30 })
  .map((steps) => {
    const loads: Instruction[] = [0, 1, 2].map((column) => ['load', column, column])
    const computed = steps.map(([operation, a, b], i): Instruction => [operation, a % (5 + i), b % (5 + i)])
    return makeProgram([...loads, ...computed], [...Array(5 + steps.length).keys()], [0, 0, 0])
  })

/** Equal as float32, or the very next one. */
function expectNear(value: number, expected: number): void {
  const distance = Math.abs(bitsOf(value) - bitsOf(expected))
  if (!(distance <= 1)) expect(value).toBe(Math.fround(expected))
}

function bitsOf(value: number): number {
  return new Int32Array(Float32Array.of(value).buffer)[0]!
}
