/**
 * A saved pool: one table, packed without compression, whose header has the rest of the state. Posts that have left
 * are not in it: the records of their cycles name them.
 */
import { packTable, unpackTable } from '../codec/index.js'
import {
  postByteNames,
  postFloatNames,
  readingNames,
  snapshotColumnNames,
  textMeasureNames,
  type GalleryIds,
} from '../contract/index.js'
import { numbersOf, rowsOfNumbers, type Rows, type TableDeclaration } from './table.js'

const numbers = <Name extends string>(names: readonly Name[], meaning: string) =>
  names.map((name) => ({ name, type: 'number', meaning }) as const)

/** A column for each member of a group of the state. */
const group = <Group extends string, Name extends string>(
  groupName: Group,
  names: readonly Name[],
  meaning: string,
) =>
  numbers(
    names.map((name) => `${groupName}.${name}` as const),
    meaning,
  )

/** A column is named as in the state of the pool. The order is that on disk: with any change of columns, `layout` changes. */
export const poolTable = {
  row: 'A pending post, in order of entry.',
  columns: [
    ...numbers(['gallery'], 'Index in the galleries of the header.'),
    ...numbers(['postNo'], 'Key of the post.'),
    ...numbers(['enteredPosition', 'enteredRow'], 'Where it entered, as in the record of a cycle.'),
    ...group('posts', [...postFloatNames, ...postByteNames], 'As received.'),
    ...group('posts', ['imagePositionsFingerprint'], 'Hash of `image_positions`.'),
    ...group('posts.title', textMeasureNames, 'Measure of the title.'),
    ...group('posts.body', textMeasureNames, 'Measure of the body.'),
    ...group('latest', readingNames, 'The latest reading; null if there is none.'),
    ...group('previous', readingNames, 'The reading before it; null if there is none.'),
    ...group('snapshot', snapshotColumnNames, 'The latest admin snapshot; null if there is none.'),
  ],
} as const satisfies TableDeclaration

export type PoolRows = Rows<typeof poolTable>

interface SavedPoolHeader {
  /** Version of the layout. */
  readonly layout: number
  /** Store position of the last cycle in it. */
  readonly position: number
  readonly newestCycleMs: number
  readonly galleries: GalleryIds
}

const layout = 1

export function packSavedPool(header: Omit<SavedPoolHeader, 'layout'>, rows: PoolRows): Uint8Array {
  const { header: texts, rowCount, columns } = numbersOf(poolTable, rows)
  return packTable({ layout, ...header, ...texts }, rowCount, columns)
}

/** Throws for one of another layout, and for bytes that are none. */
export function readSavedPool(packed: Uint8Array): { header: SavedPoolHeader; rows: PoolRows } {
  const unpacked = unpackTable(packed)
  const header = unpacked.header as SavedPoolHeader
  if (header.layout !== layout) throw new Error(`the saved pool has layout ${header.layout}, not ${layout}`)
  return { header, rows: rowsOfNumbers(poolTable, unpacked) }
}
