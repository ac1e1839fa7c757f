/**
 * Compiles features into a column program. Expressions that several features share are computed once.
 */
import { columnOperations, runColumns, type ColumnInputs, type ColumnProgram } from '../../codec/index.js'
import type { ScoringInputs } from '../../pool/index.js'
import { coalesce, type ColumnExpression, type ConstantExpression, type Expression } from './expression.js'
import type { Feature } from './feature.js'

/**
 * Fills a row-major matrix [inputs.count, features]. A longer `matrix` keeps its other values. Throws a RangeError when
 * it is too small.
 */
export type FillFeatures = (inputs: ScoringInputs, matrix: Float32Array) => void

/** The value of a feature whose inputs are missing: its `missing`, or NaN for models that accept NaN. */
export type MissingValues = 'imputed' | 'nan'

const indexNames = ['slots', 'readings'] as const

/** Compiles features, in the order of the matrix's columns. */
export function compileFeatures(features: readonly Feature[], missing: MissingValues): FillFeatures {
  const { program, inputsOf } = featureProgram(features, missing)
  return (inputs, matrix) => runColumns(program, inputsOf(inputs), matrix)
}

interface FeatureProgram {
  readonly program: ColumnProgram
  readonly inputsOf: (inputs: ScoringInputs) => ColumnInputs
}

/** The column program of the features. */
export function featureProgram(features: readonly Feature[], missingValues: MissingValues): FeatureProgram {
  const expressions = features.map(({ value, missing }) =>
    missingValues === 'nan' || missing === null ? value : coalesce(value, missing),
  )
  // Constants come before instructions in a program, so all of them are listed first.
  const constants = new DistinctList<ConstantExpression>()
  for (const constant of expressions.flatMap(constantsOf)) constants.add(constant.name, constant)
  const columns = new DistinctList<ColumnExpression>()
  const instructions = new DistinctList<Instruction>()
  /** The position of an expression's value. Its operands come before the instruction that reads them. */
  const compile = (expression: Expression): number => {
    if (expression.kind === 'constant') return constants.add(expression.name, expression)
    const instruction = instructionOf(expression)
    return constants.items.length + instructions.add(instruction.join(' '), instruction)
  }
  const instructionOf = (expression: Exclude<Expression, ConstantExpression>): Instruction => {
    if (expression.kind === 'column') {
      const column = columns.add(expression.name, expression)
      return [columnOperations.indexOf('load'), column, column]
    }
    const a = compile(expression.a)
    // An operation on one number has it twice.
    const b = expression.b === null ? a : compile(expression.b)
    return [columnOperations.indexOf(expression.operation), a, b]
  }
  const outputs = Uint32Array.from(expressions, compile)
  const program = {
    code: Uint32Array.from(instructions.items.flat()),
    columnIndexes: Uint32Array.from(columns.items, ({ by }) => indexNames.indexOf(by)),
    outputs,
  }
  return {
    program,
    inputsOf: (inputs) => ({
      rowCount: inputs.count,
      columns: columns.items.map((column) => column.values(inputs)),
      indexes: indexNames.map((name) => inputs[name]),
      constants: Float64Array.from(constants.items, (constant) => constant.value(inputs)),
    }),
  }
}

/** Operation, and the positions of its operands. */
type Instruction = readonly [operation: number, a: number, b: number]

/** Entries with different keys. */
class DistinctList<T> {
  readonly items: T[] = []
  readonly #positions = new Map<string, number>()

  /** The position of the entry with this key, which is added unless the list has it. */
  add(key: string, item: T): number {
    const known = this.#positions.get(key)
    if (known !== undefined) return known
    this.#positions.set(key, this.items.length)
    return this.items.push(item) - 1
  }
}

function constantsOf(expression: Expression): ConstantExpression[] {
  if (expression.kind !== 'operation') return expression.kind === 'constant' ? [expression] : []
  return [...constantsOf(expression.a), ...(expression.b === null ? [] : constantsOf(expression.b))]
}
