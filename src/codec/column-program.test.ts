/**
 * Column programs: what operations give, on both evaluators, and that the two agree bit by bit on random programs.
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

/** Around the blocks of both evaluators. */
const rowCounts = [0, 1, 3, 4, 5, 255, 256, 257, 511, 512, 513, 1030]

type Instruction = readonly [operation: ColumnOperation, to: number, a: number, b: number]

/** Columns are read by the one index there is, unless parts say otherwise. */
function makeProgram(code: readonly Instruction[], parts: Partial<ColumnProgram>): ColumnProgram {
  const outputs = parts.outputs ?? Uint32Array.of(0)
  return {
    code: Uint32Array.from(
      code.flatMap(([operation, ...words]) => [columnOperations.indexOf(operation), ...words]),
    ),
    constants: new Float64Array(0),
    parameterCount: 0,
    registerCount: 8,
    columnIndexes: Uint32Array.of(0),
    indexCount: 1,
    outputs,
    missing: new Float64Array(outputs.length).fill(NaN),
    ...parts,
  }
}

function makeInputs(rowCount: number, columns: readonly ProgramColumn[]): ColumnInputs {
  return { rowCount, columns, indexes: [identity(rowCount)], parameters: new Float64Array(0) }
}

function identity(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, row) => row)
}

/** The matrix, in shared memory with a value behind it that must stay. */
function run(codec: Codec, program: ColumnProgram, inputs: ColumnInputs): Float32Array {
  const length = inputs.rowCount * program.outputs.length
  const matrix = new Float32Array(new SharedArrayBuffer(4 * (length + 1))).fill(-7)
  codec.columnProgram(program)(inputs, matrix)
  expect(matrix[length]).toBe(-7)
  return matrix.slice(0, length)
}

/** An operation on every pair of values. */
function apply(codec: Codec, operation: ColumnOperation, xs: readonly number[], ys = xs): number[] {
  const program = makeProgram(
    [
      ['load', 0, 0, 0],
      ['load', 1, 1, 1],
      [operation, 2, 0, 1],
      ['store', 0, 0, 1],
    ],
    { columnIndexes: Uint32Array.of(0, 0), outputs: Uint32Array.of(2) },
  )
  return [...run(codec, program, makeInputs(xs.length, [Float64Array.from(xs), Float64Array.from(ys)]))]
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
    ['orElse', 2, 3, 2],
    ['orElse', NaN, 3, 3],
    ['where', 2, 1, 2],
    ['where', 2, 0, NaN],
    ['where', 2, NaN, NaN],
    ['round', 2.5, 0, 2],
    ['round', -1.7, 0, -2],
    ['log', 0, 0, 0],
    ['log', Infinity, 0, Infinity],
    ['log', -Infinity, 0, -Infinity],
    ['log', NaN, 0, NaN],
    ['sine', 0.25, 0, 1],
    ['sine', -7.75, 0, 1],
    ['sine', NaN, 0, NaN],
  ])('%s of %d and %d is %d', (operation, x, y, result) => {
    expect(apply(codec, operation, [x], [y])).toEqual([result])
  })

  test('has logarithms that are the next float32 at most away from the true ones', () => {
    const near = [0.4142, 0.41421356, 0.4143, 1, 1.828, 1.8284271, 1.829, 2 ** 53, 1e300, 5e-324]
    const xs = [...near, ...Array.from({ length: 4000 }, (_, i) => 10 ** (i / 100 - 20))]
    apply(codec, 'log', xs).forEach((value, i) => expectNear(value, Math.log1p(xs[i]!)))
    apply(
      codec,
      'log',
      xs.map((x) => -x),
    ).forEach((value, i) => expectNear(value, -Math.log1p(xs[i]!)))
  })

  test('has sines that are the next float32 at most away from the true ones', () => {
    const xs = Array.from({ length: 4001 }, (_, i) => (i - 2000) / 4001)
    apply(codec, 'sine', xs).forEach((value, i) => expectNear(value, Math.sin(2 * Math.PI * xs[i]!)))
    apply(
      codec,
      'sine',
      xs.map((x) => x + 1024),
    ).forEach((value, i) => expect(value).toBeCloseTo(Math.sin(2 * Math.PI * xs[i]!), 6))
  })

  test.each(rowCounts)('takes %d rows in their order, through every kind of index and column', (count) => {
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
    const registers = Uint32Array.from(pairs.keys())
    const program = makeProgram(
      [
        ...pairs.map((_, i): Instruction => ['load', i, i, i]),
        ['store', 0, 0, 5],
        ['store', 0, 5, pairs.length - 5],
      ],
      {
        columnIndexes: Uint32Array.from(pairs, ({ index }) => index),
        indexCount: indexes.length,
        registerCount: pairs.length,
        outputs: registers,
      },
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

  test('shows constants, the parameters of the call, and what stands for a missing value', () => {
    const program = makeProgram(
      [
        ['load', 2, 0, 0],
        ['store', 0, 0, 4],
      ],
      {
        constants: Float64Array.of(0.5),
        parameterCount: 1,
        outputs: Uint32Array.of(0, 1, 2, 2),
        missing: Float64Array.of(-1, -1, -1, NaN),
      },
    )
    const evaluate = codec.columnProgram(program)
    for (const parameter of [4, 5]) {
      const matrix = new Float32Array(8)
      evaluate(
        { ...makeInputs(2, [Float64Array.of(3, NaN)]), parameters: Float64Array.of(parameter) },
        matrix,
      )
      expect([...matrix]).toEqual([0.5, parameter, 3, 3, 0.5, parameter, -1, NaN])
    }
  })

  test('refuses inputs that do not fit together, and writes nothing', () => {
    const program = makeProgram(
      [
        ['load', 0, 0, 0],
        ['store', 0, 0, 1],
      ],
      {},
    )
    const inputs = makeInputs(2, [new Float64Array(2)])
    const matrix = new Float32Array(2).fill(-7)
    const wrong: ColumnInputs[] = [
      { ...inputs, columns: [new Float64Array(1)] },
      { ...inputs, columns: [] },
      { ...inputs, indexes: [] },
      { ...inputs, indexes: [Uint32Array.of(0)] },
      { ...inputs, indexes: [Uint32Array.of(2 ** 32 - 1, 0)] },
      { ...inputs, indexes: [Uint32Array.of(0, 2)] },
      { ...inputs, parameters: Float64Array.of(1) },
    ]
    const evaluate = codec.columnProgram(program)
    for (const each of wrong) {
      expect(() => evaluate(each, matrix)).toThrow('the columns do not hold the rows')
    }
    expect(() => evaluate(inputs, new Float32Array(1))).toThrow('the matrix is too small')
    expect([...matrix]).toEqual([-7, -7])
  })
})

describe.skipIf(native === null)('the native evaluator (skipped when the addon is not built)', () => {
  test('gives the bits of the reference for random programs on random numbers', () => {
    fc.assert(
      fc.property(programs, fc.constantFrom(...rowCounts), numbers, (program, count, values) => {
        const inputs = makeInputs(count, [
          Float64Array.from({ length: count }, (_, i) => values[i % values.length]!),
          Uint32Array.from({ length: count }, (_, i) => i * 7919),
          Uint8Array.from({ length: count }, (_, i) => i),
        ])
        const expected = run(referenceCodec, program, inputs)
        run(native!, program, inputs).forEach((value, at) => {
          if (!Object.is(value, expected[at])) expect(value).toBe(expected[at])
        })
      }),
      { numRuns: 300 },
    )
  })

  test.each<[string, Partial<ColumnProgram>]>([
    ['an output beyond the registers', { code: Uint32Array.of(1, 0, 0, 1), outputs: Uint32Array.of(8) }],
    ['an output that nothing has written', { code: Uint32Array.of(1, 0, 0, 1) }],
    ['an instruction that reads what nothing has written', { code: Uint32Array.of(2, 0, 1, 1) }],
    ['a column beyond the indexes', { columnIndexes: Uint32Array.of(1) }],
    ['more constants than registers', { constants: new Float64Array(9) }],
    ['fewer values for what is missing than outputs', { missing: new Float64Array(0) }],
    ['more registers than memory is given for', { registerCount: 2 ** 31 }],
    ['an unknown operation', { code: Uint32Array.of(columnOperations.length, 0, 0, 0) }],
    ['an instruction into a constant', { code: Uint32Array.of(2, 0, 0, 0), constants: new Float64Array(1) }],
    ['an instruction that writes beyond the registers', { code: Uint32Array.of(2, 8, 0, 0) }],
    ['an instruction that reads beyond the registers', { code: Uint32Array.of(0, 0, 0, 0, 2, 0, 0, 8) }],
    ['a load of a column that is not there', { code: Uint32Array.of(0, 0, 1, 1) }],
    ['a store of outputs that are not there', { code: Uint32Array.of(1, 0, 1, 1) }],
    ['a store of more outputs than a word holds', { code: Uint32Array.of(1, 0, 1, 2 ** 32 - 1) }],
  ])('refuses a program with %s', (_, parts) => {
    expect(() => native!.columnProgram(makeProgram([], parts))).toThrow(TypeError)
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

const registerCount = 8
const register = fc.nat({ max: registerCount - 1 })
/** Registers 0 and 1 hold constants. */
const target = fc.integer({ min: 2, max: registerCount - 1 })

/** Writes the registers that are left. */
const others: readonly Instruction[] = [
  ['subtract', 5, 2, 3],
  ['subtract', 6, 0, 2],
  ['divide', 7, 2, 4],
]

/** Three columns are loaded, registers change, and all are stored, some of them in between. */
const programs: fc.Arbitrary<ColumnProgram> = fc
  .record({
    constants: fc.tuple(fc.double(), fc.constantFrom(0.5, 3_600_000)),
    steps: fc.array(
      fc.oneof(
        {
          weight: 8,
          arbitrary: fc.tuple(fc.constantFrom(...columnOperations.slice(2)), target, register, register),
        },
        { weight: 1, arbitrary: fc.constant<Instruction>(['store', 0, 1, 3]) },
      ),
      { minLength: 1, maxLength: 30 },
    ),
    missing: fc.constantFrom(NaN, 0, 0.5),
  })
  .map(({ constants, steps, missing }) =>
    makeProgram(
      [
        ['load', 2, 0, 0],
        ['load', 3, 1, 1],
        ['load', 4, 2, 2],
        ...others,
        ...steps,
        ['store', 0, 0, registerCount],
      ],
      {
        constants: Float64Array.from(constants),
        columnIndexes: Uint32Array.of(0, 0, 0),
        outputs: Uint32Array.from({ length: registerCount }, (_, i) => i),
        missing: new Float64Array(registerCount).fill(missing),
      },
    ),
  )

/** Equal as float32, or the very next one. */
function expectNear(value: number, truth: number): void {
  const distance = Math.abs(bitsOf(value) - bitsOf(truth))
  if (!(distance <= 1)) expect(value).toBe(Math.fround(truth))
}

function bitsOf(value: number): number {
  return new Int32Array(Float32Array.of(value).buffer)[0]!
}
