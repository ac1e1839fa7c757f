/**
 * Groups of columns as one thing: allocate, join, copy. What a group holds is said once, by a list of names and how
 * wide each is.
 */
import {
  counterNames,
  snapshotNames,
  textMeasureNames,
  type PostColumns,
  type ReadingColumns,
  type SnapshotColumns,
} from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import type { Stretches } from './stretches.js'

export type Column = Float64Array | Uint32Array | Uint8Array

/** A flat group of columns, such as a reading. */
type FloatGroup<Name extends string> = Readonly<Record<Name, Float64Array>>

export const readingNames = ['observedAtMs', 'observedAtFraction', ...counterNames] as const
export const snapshotColumnNames = ['snapshotAtMs', 'snapshotAtFraction', ...snapshotNames] as const

const postFloatNames = [
  'createdAtMs',
  'createdAtFraction',
  'extractedAtMs',
  'extractedAtFraction',
  'imagesInPost',
  'imagesExpected',
  'categoryId',
] as const
const postByteNames = ['source', 'manualFlag', 'galleryType', 'bodyPresent'] as const

/** `count` readings, none of them taken yet. */
export function noReadings(count: number): ReadingColumns {
  return floatGroup(readingNames, count)
}

export function noSnapshots(count: number): SnapshotColumns {
  return floatGroup(snapshotColumnNames, count)
}

/** The columns of posts in a fixed order, for the disk and for whole-group work. */
export function listPostColumns(posts: PostColumns): Column[] {
  return [
    ...postFloatNames.map((name) => posts[name]),
    ...postByteNames.map((name) => posts[name]),
    posts.imagePositionsFingerprint,
    ...textMeasureNames.map((name) => posts.title[name]),
    ...textMeasureNames.map((name) => posts.body[name]),
  ]
}

/** The inverse of `listPostColumns`; doubles become columns of the right width. */
export function postColumnsOf(list: readonly Column[]): PostColumns {
  const queue = [...list]
  const next = (): Column => {
    const column = queue.shift()
    if (column === undefined) throw new Error('too few columns of posts')
    return column
  }
  return {
    ...group(postFloatNames, () => Float64Array.from(next())),
    ...group(postByteNames, () => Uint8Array.from(next())),
    imagePositionsFingerprint: Uint32Array.from(next()),
    title: group(textMeasureNames, () => Uint32Array.from(next())),
    body: group(textMeasureNames, () => Uint32Array.from(next())),
  }
}

/** Both groups of post columns joined as `stretches` say. */
export function joinPosts(
  first: PostColumns,
  second: PostColumns,
  stretches: Stretches,
  memory: ColumnMemory,
): PostColumns {
  return {
    ...joinGroup(postFloatNames, first, second, float64, stretches, memory),
    ...joinGroup(postByteNames, first, second, uint8, stretches, memory),
    imagePositionsFingerprint: stretches.uint32(
      first.imagePositionsFingerprint,
      second.imagePositionsFingerprint,
      memory,
    ),
    title: joinGroup(textMeasureNames, first.title, second.title, uint32, stretches, memory),
    body: joinGroup(textMeasureNames, first.body, second.body, uint32, stretches, memory),
  }
}

/**
 * Both groups of columns of doubles joined as `stretches` say. Without a row of either, all columns are one: a pool
 * without snapshots need not touch as much memory as one with them.
 */
export function joinFloats<Name extends string>(
  names: readonly Name[],
  first: FloatGroup<Name>,
  second: FloatGroup<Name>,
  stretches: Stretches,
  memory: ColumnMemory,
): Record<Name, Float64Array> {
  if (stretches.isBlank) {
    const blank = memory.float64(stretches.count).fill(NaN)
    return group(names, () => blank)
  }
  return joinGroup(names, first, second, float64, stretches, memory)
}

type Join<Kind> = (first: Kind, second: Kind, stretches: Stretches, memory: ColumnMemory) => Kind

// No closures: what V8 compiles for one is gone with its cycle.
const float64: Join<Float64Array> = (first, second, stretches, memory) =>
  stretches.float64(first, second, memory)
const uint32: Join<Uint32Array> = (first, second, stretches, memory) =>
  stretches.uint32(first, second, memory)
const uint8: Join<Uint8Array> = (first, second, stretches, memory) => stretches.uint8(first, second, memory)

function joinGroup<Name extends string, Kind>(
  names: readonly Name[],
  first: Readonly<Record<Name, NoInfer<Kind>>>,
  second: Readonly<Record<Name, NoInfer<Kind>>>,
  join: Join<Kind>,
  stretches: Stretches,
  memory: ColumnMemory,
): Record<Name, Kind> {
  const columns: Partial<Record<Name, Kind>> = {}
  for (const name of names) columns[name] = join(first[name], second[name], stretches, memory)
  return columns as Record<Name, Kind>
}

/** A group with copies of all columns. */
export function copyFloats<Name extends string>(
  names: readonly Name[],
  columns: FloatGroup<Name>,
): Record<Name, Float64Array> {
  return group(names, (name) => columns[name].slice())
}

function floatGroup<Name extends string>(names: readonly Name[], count: number): Record<Name, Float64Array> {
  return group(names, () => new Float64Array(count).fill(NaN))
}

function group<Name extends string, Kind>(
  names: readonly Name[],
  columnOf: (name: Name) => Kind,
): Record<Name, Kind> {
  const columns: Partial<Record<Name, Kind>> = {}
  for (const name of names) columns[name] = columnOf(name)
  return columns as Record<Name, Kind>
}
