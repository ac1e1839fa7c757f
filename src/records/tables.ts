/**
 * The tables of a cycle on disk. A column is declared here and nowhere else: the cycle writes it, the history reads it, by
 * name, and the export takes type and meaning from here.
 */
import {
  assert,
  galleryTypeCodes,
  headNames,
  outcomeCodes,
  removalReasonCodes,
  sourceCodes,
  tierCodes,
} from '../contract/index.js'
import type { ColumnDeclaration, TableDeclaration } from './table.js'

const key = [
  { name: 'gall_id', type: 'text', meaning: 'Key of the post.' },
  { name: 'post_no', type: 'number', meaning: 'Key of the post.' },
] as const

/** Where a post entered: both together name its visit. */
const entry = <Type extends 'number' | 'sequence'>(type: Type) =>
  [
    { name: 'entered_position', type, meaning: 'Position of the cycle that brought the post.' },
    { name: 'entered_row', type, meaning: 'Its row among the candidates of that cycle.' },
  ] as const

const code = <Name extends string>(name: Name, values: readonly string[], meaning: string) => {
  const list = values.map((value) => `\`${value}\``).join(', ')
  return { name, type: 'code', values, meaning: `${meaning}: ${list}.` } as const
}

export const cycleTables = {
  candidates: {
    row: 'A distinct candidate of the request: first those that entered, in order, then those that were sent again while they were pending, or removed by the same call.',
    columns: [
      ...key,
      { name: 'title', type: 'text', meaning: 'As received, if the post entered.' },
      { name: 'row_start', type: 'number', meaning: 'First byte of the candidate in the request.' },
      { name: 'row_end', type: 'number', meaning: 'The byte after its last one.' },
      { name: 'created_at', type: 'instant', meaning: 'As received.' },
      { name: 'extracted_at', type: 'instant', meaning: 'As received.' },
      code('source', sourceCodes, 'As received'),
      code('gallery_type', galleryTypeCodes, 'As received'),
    ],
  },
  removals: {
    row: 'A removal of the request.',
    columns: [
      ...key,
      code('reason', removalReasonCodes, 'Why the post left'),
      code('tier', tierCodes, 'Board of a saved post'),
      { name: 'decided_at', type: 'instant', meaning: 'When the operators decided.' },
      // Null for a removal without effect: the post was not pending.
      ...entry('number'),
    ],
  },
  results: {
    row: 'A pending post, in the order of the results.',
    columns: [
      ...entry('sequence'),
      code(
        'outcome',
        outcomeCodes.map(({ status, reason }) => reason ?? status),
        'Status, or why the post is not scored',
      ),
    ],
  },
  scored: {
    row: 'A scored post, in the order of the results: the reading that was scored, and what the model had.',
    columns: [
      { name: 'views', type: 'number', meaning: 'Counter; null if unknown.' },
      { name: 'up', type: 'number', meaning: 'Counter; null if unknown.' },
      { name: 'comment_cnt', type: 'number', meaning: 'Counter; null if unknown.' },
      { name: 'rtb_vote', type: 'number', meaning: 'Counter; null if unknown.' },
      { name: 'text_encoded', type: 'number', meaning: '1 if the model had a vector of the text.' },
    ],
  },
  images: {
    row: 'A stored image of a scored post, by post and position.',
    columns: [
      { name: 'row', type: 'sequence', meaning: 'Row of the post among the scored ones.' },
      { name: 'position', type: 'number', meaning: 'Position of the image in the body of the post.' },
      { name: 'encoded', type: 'number', meaning: '1 if the model had a vector of the image.' },
    ],
  },
  heads: {
    row: 'A scored post. The score is the weighted sum of the heads, as float32, with the weights of the record.',
    columns: headNames.map(
      (name) => ({ name, type: 'float32', meaning: 'Head of the model; null if it has none.' }) as const,
    ),
  },
} as const satisfies Readonly<Record<string, TableDeclaration>>

export type CycleTableName = keyof typeof cycleTables
export const cycleTableNames = Object.keys(cycleTables) as CycleTableName[]

export type CycleColumnName<Table extends CycleTableName> =
  (typeof cycleTables)[Table]['columns'][number]['name']

/** The declaration of a column. */
export function cycleColumn<Table extends CycleTableName>(
  table: Table,
  name: CycleColumnName<Table>,
): ColumnDeclaration {
  const columns: readonly ColumnDeclaration[] = cycleTables[table].columns
  const column = columns.find((each) => each.name === name)
  assert(column !== undefined, 'the name of a column is one of its table')
  return column
}
