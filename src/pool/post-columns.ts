/**
 * Groups of columns: what stays the same of a post, a reading, a snapshot. Makes empty groups, copies and gathers them,
 * and lists the columns of posts in a fixed order.
 */
import { uninitializedBuffer } from '../base/index.js'
import {
  postByteNames,
  postFloatNames,
  readingNames,
  snapshotColumnNames,
  textMeasureNames,
  type PostColumns,
  type ReadingColumns,
  type SnapshotColumns,
  type TextColumns,
} from '../contract/index.js'
import { gatherFloat64, gatherUint32, gatherUint8, type Sources } from './gather.js'

export type Column = Float64Array | Uint32Array | Uint8Array

/** A flat group of columns, such as a reading. */
type FloatGroup<Name extends string> = Readonly<Record<Name, Float64Array>>

export const noReadings: ReadingColumns = group(readingNames, () => new Float64Array(0))
export const noSnapshots: SnapshotColumns = group(snapshotColumnNames, () => new Float64Array(0))
export const noPosts: PostColumns = {
  ...group(postFloatNames, () => new Float64Array(0)),
  ...group(postByteNames, () => new Uint8Array(0)),
  imagePositionsFingerprint: new Uint32Array(0),
  title: group(textMeasureNames, () => new Uint32Array(0)),
  body: group(textMeasureNames, () => new Uint32Array(0)),
}

/** The columns of posts in a fixed order. */
export function listPostColumns(posts: PostColumns): Column[] {
  return [
    ...postFloatNames.map((name) => posts[name]),
    ...postByteNames.map((name) => posts[name]),
    posts.imagePositionsFingerprint,
    ...textMeasureNames.map((name) => posts.title[name]),
    ...textMeasureNames.map((name) => posts.body[name]),
  ]
}

/** Columns of posts from rows of two groups; see gather.ts. */
export function gatherPosts(sources: Sources, first: PostColumns, second: PostColumns): PostColumns {
  return {
    ...gatherFloats(postFloatNames, sources, first, second),
    ...group(postByteNames, (name) => gatherUint8(sources, first[name], second[name])),
    imagePositionsFingerprint: gatherUint32(
      sources,
      first.imagePositionsFingerprint,
      second.imagePositionsFingerprint,
    ),
    title: gatherMeasures(sources, first.title, second.title),
    body: gatherMeasures(sources, first.body, second.body),
  }
}

function gatherMeasures(sources: Sources, first: TextColumns, second: TextColumns): TextColumns {
  const { length } = sources.rows
  const block = uninitializedBuffer(textMeasureNames.length * length * 4)
  return group(textMeasureNames, (name, index) =>
    gatherUint32(sources, first[name], second[name], new Uint32Array(block, index * length * 4, length)),
  )
}

/** Columns of doubles from rows of two groups; see gather.ts. */
export function gatherFloats<Name extends string>(
  names: readonly Name[],
  sources: Sources,
  first: FloatGroup<Name>,
  second: FloatGroup<Name>,
): Record<Name, Float64Array> {
  const { length } = sources.rows
  const block = uninitializedBuffer(names.length * length * 8)
  return group(names, (name, index) =>
    gatherFloat64(sources, first[name], second[name], new Float64Array(block, index * length * 8, length)),
  )
}

/** A group with copies of all columns. */
export function copyFloats<Name extends string>(
  names: readonly Name[],
  columns: FloatGroup<Name>,
): Record<Name, Float64Array> {
  return group(names, (name) => columns[name].slice())
}

function group<Name extends string, Kind>(
  names: readonly Name[],
  columnOf: (name: Name, index: number) => Kind,
): Record<Name, Kind> {
  const columns: Partial<Record<Name, Kind>> = {}
  names.forEach((name, index) => (columns[name] = columnOf(name, index)))
  return columns as Record<Name, Kind>
}
