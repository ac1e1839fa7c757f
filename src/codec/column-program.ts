/**
 * Column programs: formulas over columns, as instructions over registers that hold a number a row, and the matrix of
 * their outputs. `runReference` defines the result of each operation; native/column_program.cc gives the same bits five
 * times as fast or faster.
 */

/** A column that a program reads; its numbers become doubles. */
export type ProgramColumn = Float64Array | Uint32Array | Uint8Array

/**
 * The operations, in the order and spelling of native/column_program.h: an instruction holds a position in this list.
 * x and y are the values of the registers `a` and `b` in a row.
 */
export const columnOperations = [
  /** The entry of column `a`, in the row that the column's index names. */
  'load',
  /** Writes the outputs from `a` on, `b` of them, to the matrix; `to` means nothing. */
  'store',
  'add',
  'subtract',
  'multiply',
  'divide',
  /** y if it is greater than x, else x: NaN where x is NaN. */
  'atLeast',
  /** y if it is less than x, else x: NaN where x is NaN. */
  'atMost',
  /** 1 where x > y, else 0. */
  'greater',
  /** 1 where x = y, else 0; so 0 where one is NaN. */
  'equal',
  /** x, or y where x is NaN. */
  'orElse',
  /** x where y is above 0, else NaN. */
  'where',
  /** x to the nearest whole number, of two the even one; |x| below 2^51. */
  'round',
  /** log(1 + |x|) with the sign of x, to float32; any x. */
  'log',
  /** sin(2πx), to float32; |x| below 2^51. */
  'sine',
] as const
export type ColumnOperation = (typeof columnOperations)[number]

/** Words of an instruction in `code`: operation, register `to`, `a`, `b`. Where `b` has no meaning it repeats `a`. */
const instructionWords = 4

/**
 * Register 0 and those that follow hold the constants, then the parameters. Instructions write all others, each before
 * it is read.
 */
export interface ColumnProgram {
  readonly code: Uint32Array
  readonly constants: Float64Array
  /** Numbers that are given anew for each run. */
  readonly parameterCount: number
  readonly registerCount: number
  /** By column: which of the indexes leads from a row into it. */
  readonly columnIndexes: Uint32Array
  readonly indexCount: number
  /** By column of the matrix: the register that it shows. */
  readonly outputs: Uint32Array
  /** By column of the matrix: what it shows where that register holds NaN. */
  readonly missing: Float64Array
}

/** The inputs of a program; the program defines the lengths of the lists. */
export interface ColumnInputs {
  readonly rowCount: number
  readonly columns: readonly ProgramColumn[]
  /** Each with an entry a row at least. */
  readonly indexes: readonly Uint32Array[]
  readonly parameters: Float64Array
}

/**
 * Fills a row-major matrix [rowCount, outputs]; what lies behind it is left alone. Throws a RangeError, and writes
 * nothing, when the inputs do not fit together or the matrix is too small.
 */
export type RunProgram = (inputs: ColumnInputs, matrix: Float32Array) => void

/** Rows that are computed at a time: all registers then stay in a near cache. */
const blockRows = 256

type Registers = readonly Float64Array[]

/** The reference evaluator of a program. */
export function runReference(program: ColumnProgram): RunProgram {
  const registers = Array.from({ length: program.registerCount }, () => new Float64Array(blockRows))
  program.constants.forEach((value, index) => registers[index]?.fill(value))
  return (inputs, matrix) => {
    checkInputs(program, inputs, matrix)
    inputs.parameters.forEach((value, index) => registers[program.constants.length + index]?.fill(value))
    for (let first = 0; first < inputs.rowCount; first += blockRows) {
      runBlock(program, inputs, registers, matrix, first)
    }
  }
}

function checkInputs(program: ColumnProgram, inputs: ColumnInputs, matrix: Float32Array): void {
  const { rowCount, columns, indexes, parameters } = inputs
  const ends = indexes.map((index) => {
    let last = -1
    for (let row = 0; row < rowCount; row++) last = Math.max(last, index[row] ?? Infinity)
    return last + 1
  })
  const fits =
    columns.length === program.columnIndexes.length &&
    indexes.length === program.indexCount &&
    parameters.length === program.parameterCount &&
    ends.every((end) => end < Infinity) &&
    columns.every((column, at) => column.length >= (ends[program.columnIndexes[at] as number] as number))
  if (!fits) throw new RangeError('the columns do not hold the rows of the program')
  if (program.outputs.length * rowCount > matrix.length) {
    throw new RangeError('the matrix is too small for the rows')
  }
}

function runBlock(
  program: ColumnProgram,
  inputs: ColumnInputs,
  registers: Registers,
  matrix: Float32Array,
  first: number,
): void {
  const { code, columnIndexes } = program
  const count = Math.min(blockRows, inputs.rowCount - first)
  for (let at = 0; at < code.length; at += instructionWords) {
    const operation = columnOperations[code[at] as number] as ColumnOperation
    const a = code[at + 2] as number
    const b = code[at + 3] as number
    if (operation === 'store') {
      storeOutputs(program, registers, matrix, { first, count, output: a, outputEnd: a + b })
      continue
    }
    const to = registers[code[at + 1] as number] as Float64Array
    if (operation === 'load') {
      const index = inputs.indexes[columnIndexes[a] as number] as Uint32Array
      const column = inputs.columns[a] as ProgramColumn
      for (let i = 0; i < count; i++) to[i] = column[index[first + i] as number] as number
      continue
    }
    compute(operation, to, registers[a] as Float64Array, registers[b] as Float64Array, count)
  }
}

function storeOutputs(
  { outputs, missing }: ColumnProgram,
  registers: Registers,
  matrix: Float32Array,
  part: { first: number; count: number; output: number; outputEnd: number },
): void {
  const stride = outputs.length
  for (let output = part.output; output < part.outputEnd; output++) {
    const values = registers[outputs[output] as number] as Float64Array
    const instead = missing[output] as number
    for (let i = 0, at = part.first * stride + output; i < part.count; i++, at += stride) {
      const value = values[i] as number
      matrix[at] = Number.isNaN(value) ? instead : value
    }
  }
}

function compute(
  operation: Exclude<ColumnOperation, 'load' | 'store'>,
  to: Float64Array,
  xs: Float64Array,
  ys: Float64Array,
  count: number,
): void {
  switch (operation) {
    case 'add':
      for (let i = 0; i < count; i++) to[i] = at(xs, i) + at(ys, i)
      return
    case 'subtract':
      for (let i = 0; i < count; i++) to[i] = at(xs, i) - at(ys, i)
      return
    case 'multiply':
      for (let i = 0; i < count; i++) to[i] = at(xs, i) * at(ys, i)
      return
    case 'divide':
      for (let i = 0; i < count; i++) to[i] = at(xs, i) / at(ys, i)
      return
    case 'atLeast':
      for (let i = 0; i < count; i++) to[i] = at(ys, i) > at(xs, i) ? at(ys, i) : at(xs, i)
      return
    case 'atMost':
      for (let i = 0; i < count; i++) to[i] = at(ys, i) < at(xs, i) ? at(ys, i) : at(xs, i)
      return
    case 'greater':
      for (let i = 0; i < count; i++) to[i] = at(xs, i) > at(ys, i) ? 1 : 0
      return
    case 'equal':
      for (let i = 0; i < count; i++) to[i] = at(xs, i) === at(ys, i) ? 1 : 0
      return
    case 'orElse':
      for (let i = 0; i < count; i++) to[i] = Number.isNaN(at(xs, i)) ? at(ys, i) : at(xs, i)
      return
    case 'where':
      for (let i = 0; i < count; i++) to[i] = at(ys, i) > 0 ? at(xs, i) : NaN
      return
    case 'round':
      for (let i = 0; i < count; i++) to[i] = round(at(xs, i))
      return
    case 'log':
      for (let i = 0; i < count; i++) to[i] = log(at(xs, i))
      return
    case 'sine':
      for (let i = 0; i < count; i++) to[i] = sine(at(xs, i))
      return
  }
}

function at(values: Float64Array, index: number): number {
  return values[index] as number
}

// ---- functions, by operations that every machine rounds alike

/** Where 2^52 + 2^51 is added, no digits are left behind the point. */
const roundShift = 6755399441055744

function round(x: number): number {
  return x + roundShift - roundShift
}

const double = new Float64Array(1)
/** The same bits; as on every machine that Node runs on, the high word comes second. */
const words = new Uint32Array(double.buffer)
const oneHigh = 0x3ff00000
const rootHalfHigh = 0x3fe6a09e
const mantissaHigh = 0x000fffff

/**
 * 1 + |x| = 2^k m with m within √½ to √2, and log m by the series of log((1 + s) / (1 - s)), whose first term left
 * away is 10^-10 of the sum.
 */
function log(x: number): number {
  const size = x < 0 ? -x : x
  if (!(size < Infinity)) return x
  double[0] = 1 + size
  const shifted = (words[1] as number) + (oneHigh - rootHalfHigh)
  const exponent = (shifted >>> 20) - 1023
  words[1] = (shifted & mantissaHigh) + rootHalfHigh
  // 1 + x has lost the last digits of a small x.
  const f = exponent === 0 ? size : double[0] - 1
  const s = f / (2 + f)
  const z = s * s
  let series = 1 / 11
  series = series * z + 1 / 9
  series = series * z + 1 / 7
  series = series * z + 1 / 5
  series = series * z + 1 / 3
  series = series * z + 1
  const result = exponent * Math.LN2 + (s + s) * series
  return x < 0 ? -result : result
}

/** x is led back to a quarter turn, for which the first terms of the series are good to 10^-11. */
function sine(x: number): number {
  const turn = x - round(x)
  const size = turn < 0 ? -turn : turn
  const quarter = size > 0.25 ? 0.5 - size : size
  const angle = quarter * (2 * Math.PI)
  const z = angle * angle
  let series = -1 / 1307674368000
  series = series * z + 1 / 6227020800
  series = series * z - 1 / 39916800
  series = series * z + 1 / 362880
  series = series * z - 1 / 5040
  series = series * z + 1 / 120
  series = series * z - 1 / 6
  series = series * z + 1
  const result = angle * series
  return turn < 0 ? -result : result
}
