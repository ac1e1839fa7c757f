/**
 * Groups of columns as one thing: allocate, gather rows, copy a row. What a group holds is said once, by a list of
 * names and how wide each is.
 */
import {
  counterNames,
  snapshotNames,
  textMeasureNames,
  type PostColumns,
  type ReadingColumns,
  type SnapshotColumns,
} from '../contract/index.js'

export type Column = Float64Array | Uint32Array | Uint8Array

/** A flat group of columns, such as a reading. */
type Group = Readonly<Record<string, Column>>

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
  const group = <Name extends string, Kind extends Column>(
    names: readonly Name[],
    make: (c: Column) => Kind,
  ) => Object.fromEntries(names.map((name) => [name, make(next())])) as Record<Name, Kind>
  return {
    ...group(postFloatNames, (column) => Float64Array.from(column)),
    ...group(postByteNames, (column) => Uint8Array.from(column)),
    imagePositionsFingerprint: Uint32Array.from(next()),
    title: group(textMeasureNames, (column) => Uint32Array.from(column)),
    body: group(textMeasureNames, (column) => Uint32Array.from(column)),
  }
}

/** Rows `keptRows` of `kept`, then rows `addedRows` of `added`, as columns of their own. */
export function gatherPosts(
  kept: PostColumns,
  keptRows: Uint32Array,
  added: PostColumns,
  addedRows: Uint32Array,
): PostColumns {
  const join = <Kind extends Column>(a: Kind, b: Kind): Kind => gatherColumn(a, keptRows, b, addedRows)
  const joinAll = <Name extends string, Kind extends Column>(
    names: readonly Name[],
    a: Readonly<Record<Name, Kind>>,
    b: Readonly<Record<Name, Kind>>,
  ): Record<Name, Kind> =>
    Object.fromEntries(names.map((name) => [name, join(a[name], b[name])])) as Record<Name, Kind>
  return {
    ...joinAll<(typeof postFloatNames)[number], Float64Array>(postFloatNames, kept, added),
    ...joinAll<(typeof postByteNames)[number], Uint8Array>(postByteNames, kept, added),
    imagePositionsFingerprint: join(kept.imagePositionsFingerprint, added.imagePositionsFingerprint),
    title: joinAll(textMeasureNames, kept.title, added.title),
    body: joinAll(textMeasureNames, kept.body, added.body),
  }
}

/** Rows `keptRows` of `kept` in a column of `count` rows; the rows after them are NaN, or 0 in integer columns. */
export function gatherGroup<Kind extends Group>(kept: Kind, keptRows: Uint32Array, count: number): Kind {
  return Object.fromEntries(
    Object.entries(kept).map(([name, column]) => {
      const gathered = allocateLike(column, count)
      for (let row = 0; row < keptRows.length; row++)
        gathered[row] = column[keptRows[row] as number] as number
      if (gathered instanceof Float64Array) gathered.fill(NaN, keptRows.length)
      return [name, gathered]
    }),
  ) as Kind
}

export function gatherColumn<Kind extends Column>(
  kept: Kind,
  keptRows: Uint32Array,
  added: Kind,
  addedRows: Uint32Array,
): Kind {
  const column = allocateLike(kept, keptRows.length + addedRows.length)
  for (let row = 0; row < keptRows.length; row++) column[row] = kept[keptRows[row] as number] as number
  for (let row = 0; row < addedRows.length; row++)
    column[keptRows.length + row] = added[addedRows[row] as number] as number
  return column
}

/** Copies row `from` of `source` over row `to` of `target`, for the columns named. */
export function copyRow<Name extends string>(
  names: readonly Name[],
  source: Readonly<Record<Name, Column>>,
  from: number,
  target: Readonly<Record<Name, Column>>,
  to: number,
): void {
  for (const name of names) target[name][to] = source[name][from] as number
}

/** A group with copies of all columns. */
export function copyGroup<Kind extends Group>(group: Kind): Kind {
  return Object.fromEntries(
    Object.entries(group).map(([name, column]) => [name, column.slice()]),
  ) as unknown as Kind
}

function floatGroup<Name extends string>(names: readonly Name[], count: number): Record<Name, Float64Array> {
  return Object.fromEntries(names.map((name) => [name, new Float64Array(count).fill(NaN)])) as Record<
    Name,
    Float64Array
  >
}

function allocateLike<Kind extends Column>(column: Kind, count: number): Kind {
  const like: Column =
    column instanceof Float64Array
      ? new Float64Array(count)
      : column instanceof Uint32Array
        ? new Uint32Array(count)
        : new Uint8Array(count)
  return like as Kind
}
