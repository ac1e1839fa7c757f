/**
 * Where features find their inputs: a column of `ScoringInputs` and the index that leads from a row into it.
 */
import type { CounterName, TextMeasureName } from '../../contract/index.js'
import type { ScoringInputs } from '../../pool/index.js'

/** Numbers of a column; NaN where one is missing. */
export type Values = Float64Array | Uint32Array | Uint8Array

export interface Column {
  /** `slots` or `readings`: the member of `ScoringInputs` that gives a row's place in the column. */
  readonly by: 'slots' | 'readings'
  readonly values: (inputs: ScoringInputs) => Values
}

/** Posts' columns that hold one number a post. */
type PostColumnName =
  | 'createdAtMs'
  | 'extractedAtMs'
  | 'source'
  | 'manualFlag'
  | 'imagesInPost'
  | 'imagesExpected'
  | 'galleryType'
  | 'categoryId'
  | 'bodyPresent'

/** A counter of the reading that is scored. */
export function counter(name: CounterName): Column {
  return { by: 'readings', values: (inputs) => inputs.engagement[name] }
}

export function post(name: PostColumnName): Column {
  return { by: 'slots', values: (inputs) => inputs.posts[name] }
}

export function titleMeasure(name: TextMeasureName): Column {
  return { by: 'slots', values: (inputs) => inputs.posts.title[name] }
}

export function bodyMeasure(name: TextMeasureName): Column {
  return { by: 'slots', values: (inputs) => inputs.posts.body[name] }
}

export const observedAt: Column = { by: 'readings', values: (inputs) => inputs.engagement.observedAtMs }
export const previousAt: Column = { by: 'slots', values: (inputs) => inputs.previous.observedAtMs }
export const snapshotAt: Column = { by: 'slots', values: (inputs) => inputs.snapshot.snapshotAtMs }
export const imagesStored: Column = { by: 'slots', values: (inputs) => inputs.imagesStored }
