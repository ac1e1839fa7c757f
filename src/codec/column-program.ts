/**
 * Column programs: formulas over columns, and the matrix of their results. `runColumns` here defines the results;
 * native/column_program.cc gives the same bits several times as fast.
 */

/** A column that a program reads; its numbers become doubles. */
export type ProgramColumn = Float64Array | Uint32Array | Uint8Array

/**
 * The operations, in the order and spelling of native/column_program.h: an instruction begins with a position in this
 * list. `load` reads a column; `compute` defines the others.
 */
export const columnOperations = [
  'load',
  'add',
  'subtract',
  'multiply',
  'divide',
  'atLeast',
  'atMost',
  'greater',
  'equal',
  'coalesce',
  'where',
  'round',
  'signedLog1p',
  'sine',
] as const
export type ColumnOperation = Exclude<(typeof columnOperations)[number], 'load'>

/** Words of an instruction in `code`: operation, a, b. */
const instructionWords = 3

/**
 * A program computes values, each with a number per row: first the constants of its inputs, then one for each instruction.
 * `a` and `b` are positions of earlier values, of `load` the position of a column. An operation on one number ignores b.
 */
export interface ColumnProgram {
  readonly code: Uint32Array
  /** By column: which of the indexes maps a row to its entry. */
  readonly columnIndexes: Uint32Array
  /** By column of the matrix: the value that it contains. */
  readonly outputs: Uint32Array
}

/** The inputs of a program; the program defines the lengths of the lists. */
export interface ColumnInputs {
  readonly rowCount: number
  readonly columns: readonly ProgramColumn[]
  /** Each with at least one entry per row. */
  readonly indexes: readonly Uint32Array[]
  /** Numbers that are the same in all rows. */
  readonly constants: Float64Array
}

/**
 * Fills a row-major matrix [rowCount, outputs] and writes nothing beyond it. Throws a RangeError, and writes
 * nothing, when program, inputs and matrix do not match.
 */
export type RunColumns = (program: ColumnProgram, inputs: ColumnInputs, matrix: Float32Array) => void

/** Rows that are computed at a time: all values then stay in a near cache. */
const blockRows = 64

/** The reference evaluator. */
export const runColumns: RunColumns = (program, inputs, matrix) => {
  check(program, inputs, matrix)
  const { constants, rowCount } = inputs
  // A block for each value.
  const values = new Float64Array((constants.length + program.code.length / instructionWords) * blockRows)
  constants.forEach((constant, value) => values.fill(constant, value * blockRows, (value + 1) * blockRows))
  for (let first = 0; first < rowCount; first += blockRows) runBlock(program, inputs, values, matrix, first)
}

function check(
  { code, columnIndexes, outputs }: ColumnProgram,
  inputs: ColumnInputs,
  matrix: Float32Array,
): void {
  const { rowCount, columns, indexes, constants } = inputs
  const ends = indexes.map((index) => {
    let last = -1
    for (let row = 0; row < rowCount; row++) last = Math.max(last, index[row] ?? Infinity)
    return last + 1
  })
  const isValid = code.every((word, at) => {
    if (at % instructionWords === 0) return word < columnOperations.length
    const instruction = Math.floor(at / instructionWords)
    const isLoad = code[instruction * instructionWords] === 0
    return word < (isLoad ? columns.length : constants.length + instruction)
  })
  const fits =
    code.length % instructionWords === 0 &&
    isValid &&
    outputs.every((value) => value < constants.length + code.length / instructionWords) &&
    columns.length === columnIndexes.length &&
    columns.every(({ length }, column) => length >= (ends[columnIndexes[column] as number] ?? Infinity))
  if (!fits) throw new RangeError('the column program does not match its inputs')
  if (outputs.length * rowCount > matrix.length) throw new RangeError('the matrix is too small for the rows')
}

function runBlock(
  { code, columnIndexes, outputs }: ColumnProgram,
  { rowCount, columns, indexes, constants }: ColumnInputs,
  values: Float64Array,
  matrix: Float32Array,
  first: number,
): void {
  const count = Math.min(blockRows, rowCount - first)
  let to = constants.length * blockRows
  for (let at = 0; at < code.length; at += instructionWords, to += blockRows) {
    const [word, a, b] = code.subarray(at, at + instructionWords) as unknown as [number, number, number]
    const operation = columnOperations[word]
    if (operation === 'load') {
      const column = columns[a] as ProgramColumn
      const index = indexes[columnIndexes[a] as number] as Uint32Array
      for (let i = 0; i < count; i++) values[to + i] = column[index[first + i] as number] as number
    } else if (operation !== undefined) {
      const [xs, ys] = [a * blockRows, b * blockRows]
      for (let i = 0; i < count; i++)
        values[to + i] = compute(operation, values[xs + i] as number, values[ys + i] as number)
    }
  }
  outputs.forEach((value, output) => {
    const from = value * blockRows
    for (let i = 0, at = first * outputs.length + output; i < count; i++, at += outputs.length)
      matrix[at] = values[from + i] as number
  })
}

/** Operations that every machine rounds in the same way. */
function compute(operation: ColumnOperation, x: number, y: number): number {
  switch (operation) {
    case 'add':
      return x + y
    case 'subtract':
      return x - y
    case 'multiply':
      return x * y
    case 'divide':
      return x / y
    // NaN if x is NaN.
    case 'atLeast':
      return y > x ? y : x
    case 'atMost':
      return y < x ? y : x
    // 0 if one is NaN.
    case 'greater':
      return x > y ? 1 : 0
    case 'equal':
      return x === y ? 1 : 0
    case 'coalesce':
      return Number.isNaN(x) ? y : x
    case 'where':
      return y > 0 ? x : NaN
    case 'round':
      return round(x)
    case 'signedLog1p':
      return signedLog1p(x)
    case 'sine':
      return sine(x)
  }
}

/** Adding 2^52 + 2^51 leaves no digits after the point. */
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
 * 1 + |x| = 2^k m with m within √½ to √2, and log m by the series of log((1 + s) / (1 - s)), whose first omitted
 * term is 10^-10 of the sum.
 */
function signedLog1p(x: number): number {
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

/** x is reduced to a quarter turn, where the first terms of the series are accurate to 10^-11. */
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
