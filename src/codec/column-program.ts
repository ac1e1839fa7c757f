/**
 * Column programs: formulas over columns, and the matrix of their results. `runColumns` here defines the results.
 * native/column_program.cc computes them at least ten times as fast, with approximations of logarithm and sine that differ
 * by at most one unit in the last place of a float32; all other operations give the same bits.
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
  /** The index that maps a row to its entry, by column. */
  readonly columnIndexes: Uint32Array
  /** The value in each column of the matrix. */
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

/** The reference evaluator. */
export const runColumns: RunColumns = (program, inputs, matrix) => {
  check(program, inputs, matrix)
  const { constants, rowCount } = inputs
  const values = new Float64Array(constants.length + program.code.length / instructionWords)
  values.set(constants)
  let to = 0
  for (let row = 0; row < rowCount; row++) {
    computeRow(program, inputs, row, values)
    for (const value of program.outputs) matrix[to++] = values[value]!
  }
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
    columns.every(({ length }, column) => length >= (ends[columnIndexes[column]!] ?? Infinity))
  if (!fits) throw new RangeError('the column program does not match its inputs')
  if (outputs.length * rowCount > matrix.length) throw new RangeError('the matrix is too small for the rows')
}

/** Computes the value of each instruction, after the constants in `values`. */
function computeRow(
  { code, columnIndexes }: ColumnProgram,
  { columns, indexes, constants }: ColumnInputs,
  row: number,
  values: Float64Array,
): void {
  let to = constants.length
  for (let at = 0; at < code.length; at += instructionWords) {
    const operation = columnOperations[code[at]!]!
    const a = code[at + 1]!
    if (operation === 'load') {
      const index = indexes[columnIndexes[a]!]!
      values[to++] = columns[a]![index[row]!]!
    } else {
      values[to++] = compute(operation, values[a]!, values[code[at + 2]!]!)
    }
  }
}

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
      return x < 0 ? -Math.log1p(-x) : Math.log1p(x)
    case 'sine':
      return sine(x)
  }
}

/** Adding 2^52 + 2^51 leaves no digits after the point. Numbers beyond 2^51 stay as they are. */
const roundShift = 6755399441055744
const roundedMax = 2 ** 51

function round(x: number): number {
  return Math.abs(x) < roundedMax ? x + roundShift - roundShift : x
}

/** x is in full turns. It is reduced to a quarter turn, so that the sine of half a turn is exactly 0. */
function sine(x: number): number {
  const turn = x - round(x)
  const size = Math.abs(turn)
  return Math.sign(turn) * Math.sin(2 * Math.PI * (size > 0.25 ? 0.5 - size : size))
}
