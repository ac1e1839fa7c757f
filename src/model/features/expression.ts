/**
 * Expressions: formulas over the columns of a row, as values that can be looked at and compiled. A missing number is
 * NaN and makes what is computed from it NaN; only `orElse`, `greater` and the flags turn it into a number.
 */
import type { ColumnOperation, ProgramColumn } from '../../codec/index.js'
import type { ScoringInputs } from '../../pool/index.js'

/** The entry that a row has in a column. */
export interface ColumnExpression {
  readonly kind: 'column'
  /** Unique among columns. */
  readonly name: string
  /** `slots` or `readings`: the member of `ScoringInputs` that gives a row's place in the column. */
  readonly by: 'slots' | 'readings'
  readonly values: (inputs: ScoringInputs) => ProgramColumn
}

/** A number that all rows of a cycle share. */
export interface CycleExpression {
  readonly kind: 'cycle'
  /** Unique among numbers of a cycle. */
  readonly name: string
  readonly value: (inputs: ScoringInputs) => number
}

export interface ConstantExpression {
  readonly kind: 'constant'
  readonly value: number
}

export interface OperationExpression {
  readonly kind: 'operation'
  readonly operation: Exclude<ColumnOperation, 'load' | 'store'>
  readonly a: Expression
  /** Null for an operation on one number. */
  readonly b: Expression | null
}

export type Expression = ColumnExpression | CycleExpression | ConstantExpression | OperationExpression

/** An expression, or a number that stands for itself. */
export type Operand = Expression | number

export const add = binary('add')
export const subtract = binary('subtract')
export const multiply = binary('multiply')
export const divide = binary('divide')
/** The second where the first is less. */
export const atLeast = binary('atLeast')
/** The second where the first is more. */
export const atMost = binary('atMost')
/** 1 where the first is greater, else 0. */
export const greater = binary('greater')
/** 1 where both are the same number, else 0. */
export const equal = binary('equal')
/** The first, or the second where the first is missing. */
export const orElse = binary('orElse')
/** The first where the second is above 0; missing elsewhere. */
export const where = binary('where')
/** To the nearest whole number. */
export const round = unary('round')
/** log(1 + |x|) with the sign of x, so that shrinking counters keep their direction. */
export const log = unary('log')

/** Sine of so many full turns. */
export const sine = unary('sine')

export function cosine(turns: Operand): Expression {
  return sine(add(turns, 0.25))
}

/** 1 where there is a value, else 0. */
export function present(x: Operand): Expression {
  return equal(x, x)
}

/** 1 where the value is missing, else 0. */
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
  return typeof operand === 'number' ? { kind: 'constant', value: operand } : operand
}
