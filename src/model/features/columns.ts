/**
 * The inputs of features: columns of `ScoringInputs`, each with the index from a row to its entry in the column.
 */
import type { CounterName, SnapshotName, TextMeasureName } from '../../contract/index.js'
import type { ScoringInputs } from '../../pool/index.js'
import {
  present,
  where,
  type ColumnExpression,
  type ConstantExpression,
  type Expression,
} from './expression.js'

/** Columns with one number per post. */
type PostColumnName = Exclude<keyof ScoringInputs['posts'], 'title' | 'body'>

/** A counter of the scored reading. */
export function counter(name: CounterName): Expression {
  return column('readings', `engagement.${name}`, (inputs) => inputs.engagement[name])
}

/** A counter of the previous reading; missing without one, since the slot may hold values of an earlier post. */
export function previousCounter(name: CounterName): Expression {
  const values = column('slots', `previous.${name}`, (inputs) => inputs.previous[name])
  return where(values, present(previousAt))
}

export function post(name: PostColumnName): Expression {
  return column('slots', `posts.${name}`, (inputs) => inputs.posts[name])
}

export function titleMeasure(name: TextMeasureName): Expression {
  return column('slots', `posts.title.${name}`, (inputs) => inputs.posts.title[name])
}

/** Missing without a body. */
export function bodyMeasure(name: TextMeasureName): Expression {
  const values = column('slots', `posts.body.${name}`, (inputs) => inputs.posts.body[name])
  return where(values, post('bodyPresent'))
}

/** Missing without a snapshot, since the slot may hold values of an earlier post. */
export function snapshotCounter(name: SnapshotName): Expression {
  const values = column('slots', `snapshot.${name}`, (inputs) => inputs.snapshot[name])
  return where(values, present(snapshotAt))
}

export const observedAt = column('readings', 'engagement.observedAtMs', (i) => i.engagement.observedAtMs)
export const previousAt = column('slots', 'previous.observedAtMs', (inputs) => inputs.previous.observedAtMs)
export const snapshotAt = column('slots', 'snapshot.snapshotAtMs', (inputs) => inputs.snapshot.snapshotAtMs)
export const imagesEncoded = column('slots', 'imagesEncoded', (inputs) => inputs.imagesEncoded)
export const textEncoded = column('slots', 'textEncoded', (inputs) => inputs.textEncoded)
export const imagesStored = column('slots', 'imagesStored', (inputs) => inputs.imagesStored)

export const cycleAt = cycleNumber('cycleAtMs', (inputs) => inputs.cycleAtMs)

/** A number that all rows share. */
export function cycleNumber(name: string, value: ConstantExpression['value']): ConstantExpression {
  return { kind: 'constant', name, value }
}

function column(
  by: ColumnExpression['by'],
  name: string,
  values: ColumnExpression['values'],
): ColumnExpression {
  return { kind: 'column', name, by, values }
}
