/**
 * Compiles features into a column program. Expressions that several features share are computed once.
 */
import { columnOperations, type Codec, type ColumnOperation } from '../../codec/index.js'
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

export interface CompileOptions {
  /** Evaluates the program. */
  readonly codec: Pick<Codec, 'runColumns'>
  /** Default: imputed. */
  readonly missing?: MissingValues
}

const indexNames = ['slots', 'readings'] as const

/** Compiles features, in the order of the matrix's columns. */
export function compileFeatures(
  features: readonly Feature[],
  { codec, missing: missingValues = 'imputed' }: CompileOptions,
): FillFeatures {
  const values = new Values()
  const outputs = features.map(({ value, missing }) =>
    values.add(missingValues === 'nan' || missing === null ? value : coalesce(value, missing)),
  )
  const { columns, constants, instructions } = values
  const program = {
    code: Uint32Array.from(
      instructions.flatMap(({ operation, a, b }) => [
        columnOperations.indexOf(operation),
        values.positionOf(a),
        values.positionOf(b),
      ]),
    ),
    columnIndexes: Uint32Array.from(columns, ({ by }) => indexNames.indexOf(by)),
    outputs: Uint32Array.from(outputs, (value) => values.positionOf(value)),
  }
  return (inputs, matrix) => {
    codec.runColumns(
      program,
      {
        rowCount: inputs.count,
        columns: columns.map((column) => column.values(inputs)),
        indexes: indexNames.map((name) => inputs[name]),
        constants: Float64Array.from(constants, (constant) => constant.value(inputs)),
      },
      matrix,
    )
  }
}

/** An operand of an instruction: an entry of the list of its kind. */
interface Value {
  readonly kind: 'constants' | 'columns' | 'instructions'
  readonly position: number
}

interface Instruction {
  readonly operation: ColumnOperation | 'load'
  readonly a: Value
  /** Of an operation on one number: the same as `a`. */
  readonly b: Value
}

/** All values of a program. Equal expressions have one value, and operands come before the instructions that read them. */
class Values {
  readonly constants: ConstantExpression[] = []
  readonly columns: ColumnExpression[] = []
  readonly instructions: Instruction[] = []
  readonly #byKey = new Map<string, Value>()

  add(expression: Expression): Value {
    switch (expression.kind) {
      case 'constant':
        return this.#once(`constant ${expression.name}`, 'constants', expression)
      case 'column': {
        const column = this.#once(`column ${expression.name}`, 'columns', expression)
        return this.#instruction('load', column, column)
      }
      case 'operation': {
        const a = this.add(expression.a)
        return this.#instruction(expression.operation, a, expression.b === null ? a : this.add(expression.b))
      }
    }
  }

  /** In the program; instructions follow the constants there. */
  positionOf({ kind, position }: Value): number {
    return kind === 'instructions' ? this.constants.length + position : position
  }

  #instruction(operation: Instruction['operation'], a: Value, b: Value): Value {
    const key = `${operation} ${a.kind} ${a.position} ${b.kind} ${b.position}`
    return this.#once(key, 'instructions', { operation, a, b })
  }

  #once<Kind extends Value['kind']>(key: string, kind: Kind, entry: Values[Kind][number]): Value {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const list: Values[Kind][number][] = this[kind]
    const value = { kind, position: list.push(entry) - 1 }
    this.#byKey.set(key, value)
    return value
  }
}
