/**
 * The tables of a cycle on disk. A column is declared here and nowhere else: the cycle writes it, the history reads it, by
 * name.
 */
import { headNames } from '../contract/index.js'
import type { TableDeclaration } from './table.js'

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

export const cycleTables = {
  candidates: {
    row: 'A distinct candidate of the request: first those that entered, in order, then those that were sent again while they were pending, or removed by the same call.',
    columns: [
      ...key,
      { name: 'title', type: 'text', meaning: 'As received; null for a post that did not enter.' },
      { name: 'row_start', type: 'number', meaning: 'First byte of the candidate in the request.' },
      { name: 'row_end', type: 'number', meaning: 'The byte after its last one.' },
      { name: 'created_at', type: 'number', meaning: 'Milliseconds since 1970, with a fraction.' },
      { name: 'extracted_at', type: 'number', meaning: 'Milliseconds since 1970, with a fraction.' },
      { name: 'source', type: 'number', meaning: 'Index in the values of the contract.' },
      {
        name: 'gallery_type',
        type: 'number',
        meaning: 'Index in the values of the contract; 255 if absent.',
      },
    ],
  },
  removals: {
    row: 'A removal of the request.',
    columns: [
      ...key,
      { name: 'reason', type: 'number', meaning: 'Index in the values of the contract.' },
      { name: 'tier', type: 'number', meaning: 'Index in the values of the contract; 255 if absent.' },
      { name: 'decided_at', type: 'number', meaning: 'Milliseconds since 1970.' },
      // Null for a removal without effect: the post was not pending.
      ...entry('number'),
    ],
  },
  results: {
    row: 'A pending post, in the order of the results.',
    columns: [
      ...entry('sequence'),
      {
        name: 'outcome',
        type: 'number',
        meaning: 'Index in the list of status and reason (`outcomeCodes`).',
      },
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
    columns: headNames.map((name) => ({ name, type: 'float32', meaning: 'Head of the model.' }) as const),
  },
} as const satisfies Readonly<Record<string, TableDeclaration>>

export type CycleTableName = keyof typeof cycleTables
export const cycleTableNames = Object.keys(cycleTables) as CycleTableName[]
