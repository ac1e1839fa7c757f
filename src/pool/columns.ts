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
import type { ColumnMemory } from './column-memory.js'

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

/** Rows of a column, in order. Knows where they follow each other, so that runs are copied and not rows. */
export class Selection {
  readonly count: number
  readonly #rows: Uint32Array
  /** First row and length of each run; null when runs are too short to be worth it. */
  readonly #runs: readonly (readonly [start: number, length: number])[] | null

  constructor(rows: Uint32Array) {
    this.count = rows.length
    this.#rows = rows
    this.#runs = findRuns(rows)
  }

  /** Copies the selected rows of `source` to `target`, from row `at` on. */
  copy<Kind extends Column>(source: Kind, target: Kind, at: number): void {
    if (this.#runs === null) {
      for (let row = 0; row < this.count; row++)
        target[at + row] = source[this.#rows[row] as number] as number
      return
    }
    let to = at
    for (const [start, length] of this.#runs) {
      target.set(source.subarray(start, start + length), to)
      to += length
    }
  }
}

/** A `set` costs about as much as copying this many rows one by one. */
const runLengthMin = 64

function findRuns(rows: Uint32Array): [number, number][] | null {
  const runs: [number, number][] = []
  for (let at = 0; at < rows.length;) {
    const start = rows[at] as number
    let length = 1
    while (at + length < rows.length && rows[at + length] === start + length) length++
    runs.push([start, length])
    at += length
    if (runs.length * runLengthMin > rows.length + runLengthMin) return null
  }
  return runs
}

/** The rows selected of `kept`, then those of `added`, as columns of their own. */
export function gatherPosts(
  kept: PostColumns,
  keptRows: Selection,
  added: PostColumns,
  addedRows: Selection,
  memory: ColumnMemory,
): PostColumns {
  const join = <Kind extends Column>(a: Kind, b: Kind): Kind =>
    gatherColumn(a, keptRows, b, addedRows, memory)
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

/** The rows selected of `kept` in columns of `count` rows; the rows after them are NaN, or 0 in integer columns. */
export function gatherGroup<Kind extends Group>(
  kept: Kind,
  keptRows: Selection,
  count: number,
  memory: ColumnMemory,
): Kind {
  return Object.fromEntries(
    Object.entries(kept).map(([name, column]) => {
      const gathered = memory.allocateLike(column, count)
      keptRows.copy(column, gathered, 0)
      gathered.fill(gathered instanceof Float64Array ? NaN : 0, keptRows.count)
      return [name, gathered]
    }),
  ) as Kind
}

export function gatherColumn<Kind extends Column>(
  kept: Kind,
  keptRows: Selection,
  added: Kind,
  addedRows: Selection,
  memory: ColumnMemory,
): Kind {
  const column = memory.allocateLike(kept, keptRows.count + addedRows.count)
  keptRows.copy(kept, column, 0)
  addedRows.copy(added, column, keptRows.count)
  return column
}

/** Pairs of rows: from, to. */
export class RowPairs {
  readonly #rows: Uint32Array
  readonly #slots: Uint32Array
  #count = 0

  constructor(countMax: number) {
    this.#rows = new Uint32Array(countMax)
    this.#slots = new Uint32Array(countMax)
  }

  add(row: number, slot: number): void {
    this.#rows[this.#count] = row
    this.#slots[this.#count++] = slot
  }

  rows(): Uint32Array {
    return this.#rows.subarray(0, this.#count)
  }

  slots(): Uint32Array {
    return this.#slots.subarray(0, this.#count)
  }
}

/** Copies rows `from` of `source` over rows `to` of `target`, column by column, for the columns named. */
export function moveRows<Name extends string>(
  names: readonly Name[],
  source: Readonly<Record<Name, Float64Array>>,
  from: Uint32Array,
  target: Readonly<Record<Name, Float64Array>>,
  to: Uint32Array,
): void {
  for (const name of names) moveColumnRows(source[name], from, target[name], to)
}

function moveColumnRows(
  source: Float64Array,
  from: Uint32Array,
  target: Float64Array,
  to: Uint32Array,
): void {
  for (let i = 0; i < from.length; i++) target[to[i] as number] = source[from[i] as number] as number
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
