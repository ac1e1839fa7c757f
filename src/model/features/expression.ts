/**
 * Expressions: formulas over the columns of a row, as values that `compile.ts` compiles. A missing number is NaN, and so
 * is everything computed from it, except by `coalesce`, `greater`, `equal`, `present` and `missing`.
 */
import type { ColumnOperation, ProgramColumn } from '../../codec/index.js'
import type { ScoringInputs } from '../../pool/index.js'

/** The entry of a row in a column. */
export interface ColumnExpression {
  readonly kind: 'column'
  /** Unique among columns. */
  readonly name: string
  /** The member of `ScoringInputs` that maps a row to its index in the column. */
  readonly by: 'slots' | 'readings'
  readonly values: (inputs: ScoringInputs) => ProgramColumn
}

/** A number that is the same for all rows of a cycle. */
export interface ConstantExpression {
  readonly kind: 'constant'
  /** Unique among constants. */
  readonly name: string
  readonly value: (inputs: ScoringInputs) => number
}

export interface OperationExpression {
  readonly kind: 'operation'
  readonly operation: ColumnOperation
  readonly a: Expression
  /** Null for an operation on one number. */
  readonly b: Expression | null
}

export type Expression = ColumnExpression | ConstantExpression | OperationExpression

/** An expression or a constant. */
export type Operand = Expression | number

export const add = binary('add')
export const subtract = binary('subtract')
export const multiply = binary('multiply')
export const divide = binary('divide')
/** The larger of both; NaN if the first is missing. */
export const atLeast = binary('atLeast')
/** The smaller of both; NaN if the first is missing. */
export const atMost = binary('atMost')
/** 1 if the first is greater, else 0. */
export const greater = binary('greater')
/** 1 if both are the same number, else 0. */
export const equal = binary('equal')
/** The first, or the second if the first is missing. */
export const coalesce = binary('coalesce')
/** The first if the second is above 0, else missing. */
export const where = binary('where')
/** The nearest integer. */
export const round = unary('round')
/** log(1 + |x|) with the sign of x, so that shrinking counters keep their direction. */
export const signedLog1p = unary('signedLog1p')

/** Sine of an angle in full turns. */
export const sine = unary('sine')

export function cosine(turns: Operand): Expression {
  return sine(add(turns, 0.25))
}

/** 1 if there is a value, else 0. */
export function present(x: Operand): Expression {
  return equal(x, x)
}

/** 1 if the value is missing, else 0. */
export function missing(x: Operand): Expression {
  return subtract(1, present(x))
}

function binary(operation: OperationExpression['operation']) {
  return (a: Operand, b: Operand): Expression => ({
    kind: 'operation',
    operation,
    a: expression(a),
    b: expression(b),
  })
}

function unary(operation: OperationExpression['operation']) {
  return (x: Operand): Expression => ({ kind: 'operation', operation, a: expression(x), b: null })
}

function expression(operand: Operand): Expression {
  if (typeof operand !== 'number') return operand
  return { kind: 'constant', name: String(operand), value: () => operand }
}
