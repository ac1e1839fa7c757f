/**
 * The tables of an export: names, types and meaning of their columns, and how each is computed from the staged columns, which
 * are numbers where possible. Names and types are stable; docs/export.md lists them, and a test compares the two.
 */
import {
  counterNames,
  engagementStatusCodes,
  galleryTypeCodes,
  headNames,
  outcomeCodes,
  removalReasonCodes,
  snapshotNames,
  sourceCodes,
  tierCodes,
} from '../../contract/index.js'

/** Raised when a column of an existing name changes its type or meaning, or disappears. */
export const exportSchemaVersion = 1

export type ColumnType =
  'VARCHAR' | 'VARCHAR[]' | 'BOOLEAN' | 'INTEGER' | 'BIGINT' | 'FLOAT' | 'DOUBLE' | 'TIMESTAMP WITH TIME ZONE'

export interface ExportColumn {
  readonly name: string
  readonly type: ColumnType
  readonly meaning: string
  /** From the staged row `s`, its post `p`, its cycle `c` and the cycle `e` with which its post entered. */
  readonly sql: string
}

/** Staged columns by name. A number is NaN where it is missing. `position` and `entered` are positions of cycles, -1 for none. */
type StagedColumns = Readonly<Record<string, 'DOUBLE' | 'FLOAT' | 'INTEGER' | 'VARCHAR'>>

export interface ExportTable {
  readonly meaning: string
  /** Milliseconds since 1970 in the day of a row, in KST; from `s`, `p`, `c` and `e` as for a column. */
  readonly dayMs: string
  readonly columns: readonly ExportColumn[]
  readonly staged: StagedColumns
}

/** A whole number of a staged double. */
function integer(name: string, type: 'INTEGER' | 'BIGINT', meaning: string): ExportColumn {
  return { name, type, meaning, sql: `cast(nullif(s.${name}, 'nan') as ${type})` }
}

function real(name: string, type: 'FLOAT' | 'DOUBLE', meaning: string): ExportColumn {
  return { name, type, meaning, sql: `nullif(s.${name}, 'nan')` }
}

/** An instant of staged milliseconds since 1970 with a fraction, to the microsecond. */
function time(name: string, meaning: string, from = `s.${name}`): ExportColumn {
  const micros = `cast(floor(${from}) as bigint) * 1000 + cast(round((${from} - floor(${from})) * 1000) as bigint)`
  const sql = `case when isnan(${from}) then null else make_timestamptz(${micros}) end`
  return { name, type: 'TIMESTAMP WITH TIME ZONE', meaning, sql }
}

/** A name of a staged code; null for a code beyond the list. */
function code(name: string, names: readonly (string | null)[], meaning: string, from = name): ExportColumn {
  const list = names.map((each) => (each === null ? 'null' : `'${each}'`)).join(', ')
  return {
    ...{ name, type: 'VARCHAR', meaning },
    sql: `list_extract(cast([${list}] as varchar[]), cast(nullif(s.${from}, 'nan') as integer) + 1)`,
  }
}

function text(name: string, meaning: string): ExportColumn {
  return { name, type: 'VARCHAR', meaning, sql: `s.${name}` }
}

function flag(name: string, meaning: string): ExportColumn {
  return { name, type: 'BOOLEAN', meaning, sql: `cast(nullif(s.${name}, 'nan') as boolean)` }
}

const postColumns: readonly ExportColumn[] = [
  { name: 'gall_id', type: 'VARCHAR', meaning: 'Key of the post.', sql: 'p.gall_id' },
  { name: 'post_no', type: 'BIGINT', meaning: 'Key of the post.', sql: 'p.post_no' },
]
const cycleColumns: readonly ExportColumn[] = [
  { name: 'cycle_id', type: 'VARCHAR', meaning: 'The cycle.', sql: 'c.cycle_id' },
  time('cycle_time', 'Its `cycle_time`.', 'c.cycle_ms'),
]
const enteredColumn: ExportColumn = {
  ...{ name: 'entered_cycle_id', type: 'VARCHAR', sql: 'e.cycle_id' },
  meaning:
    'The cycle that brought the post: with its key, the key of the visit. Null where that cycle has expired, and for posts that are unknown.',
}
const rowKeys = { position: 'INTEGER', post: 'INTEGER' } as const

function doubles(names: readonly string[]): Record<string, 'DOUBLE'> {
  return Object.fromEntries(names.map((name) => [name, 'DOUBLE']))
}

const weightColumns = ['weight_views', 'weight_comments', 'weight_up', 'weight_downvote_share']
const countColumns = [
  'candidates',
  'engagement',
  'candidate_scores',
  'removals',
  'scored',
  'waiting',
  'not_scored',
  'results',
]

const cycles: ExportTable = {
  meaning: 'One row per cycle.',
  dayMs: 'c.cycle_ms',
  columns: [
    { name: 'cycle_id', type: 'VARCHAR', meaning: 'Its id, in KST.', sql: 'c.cycle_id' },
    time('cycle_time', 'Its `cycle_time`.', 'c.cycle_ms'),
    { name: 'position', type: 'INTEGER', meaning: 'Place in the order of arrival.', sql: 's.position' },
    time('received_at', "Arrival, by the service's clock.", 'c.received_ms'),
    time('scored_at', '`scored_at` of the response.'),
    text('model_version', 'The model that scored.'),
    text('weights_version', 'The weights in force.'),
    ...weightColumns.map((name) => real(name, 'DOUBLE', 'One of these weights.')),
    ...countColumns.map((name) => integer(name, 'INTEGER', '`counts` of the response.')),
    real('missing_feature_share', 'DOUBLE', 'As in the response.'),
    flag('late', 'Whether a cycle with a later `cycle_time` had arrived before it.'),
    {
      ...{ name: 'warnings', type: 'VARCHAR[]', meaning: '`warnings` of the response.' },
      sql: 'cast(cast(s.warnings as json) as varchar[])',
    },
  ],
  staged: {
    position: 'INTEGER',
    ...doubles(['scored_at', ...weightColumns, ...countColumns, 'missing_feature_share', 'late']),
    ...{ model_version: 'VARCHAR', weights_version: 'VARCHAR', warnings: 'VARCHAR' },
  },
}

const visits: ExportTable = {
  meaning:
    'One row per stay of a post in the pool. The columns from `fate` on are labels: they were not known before `fate_known_at`.',
  dayMs: 'coalesce(e.cycle_ms, c.cycle_ms, 0)',
  columns: [
    ...postColumns,
    enteredColumn,
    time('entered_cycle_time', 'Its `cycle_time`.', 'e.cycle_ms'),
    text('title', 'As received.'),
    time('created_at', 'As received.'),
    time('extracted_at', 'As received.'),
    code('source', sourceCodes, 'As received.'),
    integer('manual_flag', 'INTEGER', 'As received.'),
    code('gallery_type', galleryTypeCodes, 'As received.'),
    integer('category_id', 'BIGINT', 'As received.'),
    integer('images_in_post', 'BIGINT', 'As received.'),
    integer('images_expected', 'INTEGER', 'Length of `image_positions`.'),
    text('body_html', 'As received; only with `--texts`.'),
    code('fate', removalReasonCodes, 'Reason of the removal; null while the post is pending.'),
    code('tier', tierCodes, 'Board of a saved post.'),
    time('decided_at', 'When the operators decided.'),
    { name: 'left_cycle_id', type: 'VARCHAR', meaning: 'The cycle with the removal.', sql: 'c.cycle_id' },
    time('fate_known_at', 'When that cycle arrived.', 'c.received_ms'),
  ],
  staged: {
    // The position of the removal.
    ...rowKeys,
    entered: 'INTEGER',
    ...{ title: 'VARCHAR', body_html: 'VARCHAR' },
    ...doubles(['created_at', 'extracted_at', 'source', 'manual_flag', 'gallery_type', 'category_id']),
    ...doubles(['images_in_post', 'images_expected', 'fate', 'tier', 'decided_at']),
  },
}

const headColumns = headNames.map((name) => real(name, 'FLOAT', 'Head of the model; null where it has none.'))
const stagedHeads = Object.fromEntries(headNames.map((name) => [name, 'FLOAT' as const]))
const weightsVersionColumn: ExportColumn = {
  ...{ name: 'weights_version', type: 'VARCHAR', sql: 'c.weights_version' },
  meaning: 'The weights in force.',
}

/** Average rank of `score` among the rows with the same `key`; all rows of a cycle are staged together. */
function rank(key: string): ExportColumn {
  const above = `rank() over (partition by ${key}, isnan(s.score) order by s.score desc)`
  const tied = `count(*) over (partition by ${key}, s.score)`
  return {
    ...{ name: 'rank', type: 'DOUBLE' },
    meaning: 'Place among the scored posts, 1 for the highest; ties share their average.',
    sql: `case when isnan(s.score) then null else ${above} + (${tied} - 1) / 2 end`,
  }
}

const scores: ExportTable = {
  meaning: 'One row per result of a cycle: pending posts and unknown ones.',
  dayMs: 'c.cycle_ms',
  columns: [
    ...cycleColumns,
    ...postColumns,
    enteredColumn,
    code(
      'status',
      outcomeCodes.map(({ status }) => status),
      '`scored`, `waiting` or `not_scored`.',
      'outcome',
    ),
    code(
      'reason',
      outcomeCodes.map(({ reason }) => reason),
      'Why the post is not scored.',
      'outcome',
    ),
    real('score', 'FLOAT', 'The float32 of the response; null unless scored.'),
    rank('s.position'),
    ...headColumns,
    { name: 'model_version', type: 'VARCHAR', meaning: 'The model that scored.', sql: 'c.model_version' },
    weightsVersionColumn,
  ],
  staged: {
    ...rowKeys,
    ...{ entered: 'INTEGER', outcome: 'DOUBLE', score: 'FLOAT' },
    ...stagedHeads,
  },
}

const shadowScores: ExportTable = {
  meaning: 'One row per scored post of a cycle and version that scored it as a shadow.',
  dayMs: 'c.cycle_ms',
  columns: [
    ...cycleColumns,
    ...postColumns,
    enteredColumn,
    text('model_version', 'The shadow.'),
    real('score', 'FLOAT', 'Its heads, weighted with the weights of the cycle.'),
    rank('s.position, s.model_version'),
    ...headColumns,
    weightsVersionColumn,
  ],
  staged: { ...rowKeys, ...{ entered: 'INTEGER', model_version: 'VARCHAR', score: 'FLOAT' }, ...stagedHeads },
}

const readings: ExportTable = {
  meaning: 'One row per engagement row, as received.',
  dayMs: 'c.cycle_ms',
  columns: [
    ...cycleColumns,
    ...postColumns,
    time('observed_at', 'When the counters were observed.'),
    code('status', engagementStatusCodes, '`ok`, `missing` or `nomap`.'),
    ...counterNames.map((name) => integer(name, 'BIGINT', 'Counter; null for unknown.')),
  ],
  staged: { ...rowKeys, ...doubles(['observed_at', 'status', ...counterNames]) },
}

const snapshots: ExportTable = {
  meaning: 'One row per admin snapshot (`candidate_scores`), as received.',
  dayMs: 'c.cycle_ms',
  columns: [
    ...cycleColumns,
    ...postColumns,
    time('snapshot_at', 'When the row was taken.'),
    ...snapshotNames.map((name) => integer(name, 'BIGINT', 'As received.')),
  ],
  staged: { ...rowKeys, ...doubles(['snapshot_at', ...snapshotNames]) },
}

const removals: ExportTable = {
  meaning: 'One row per removal, as received, even of posts that were not pending. A label: see `known_at`.',
  dayMs: 'c.cycle_ms',
  columns: [
    ...cycleColumns,
    ...postColumns,
    enteredColumn,
    code('reason', removalReasonCodes, '`saved`, `hidden`, `deleted` or `aged_out`.'),
    code('tier', tierCodes, 'Board of a saved post.'),
    text('reason_code', "The operator's reason."),
    time('decided_at', 'When the operators decided.'),
    time('known_at', 'When the cycle arrived.', 'c.received_ms'),
  ],
  staged: {
    ...rowKeys,
    ...{ entered: 'INTEGER', reason_code: 'VARCHAR' },
    ...doubles(['reason', 'tier', 'decided_at']),
  },
}

const atPlacement = ['views_at_placement', 'up_at_placement', 'down_at_placement', 'comment_at_placement']

const outcomes: ExportTable = {
  meaning: 'One row per placement, as last reported. A label: see `known_at`.',
  dayMs: 's.placed_at',
  columns: [
    text('placement_id', 'Its id.'),
    ...postColumns,
    text('tier', 'Board.'),
    time('placed_at', 'When the post was placed.'),
    text('picked_by', '`operator` or `model`.'),
    text('picked_model_version', 'Of a pick of the model.'),
    text('picked_weights_version', 'Of a pick of the model.'),
    text('picked_cycle_id', 'Of a pick of the model.'),
    real('score_at_placement', 'DOUBLE', 'As received.'),
    ...atPlacement.map((name) => integer(name, 'BIGINT', 'Counter when the post was placed.')),
    time('hidden_at', 'When the placement was hidden.'),
    time('deleted_at', 'When the placement was deleted.'),
    text('deleted_by', 'As received; JSON unless a text.'),
    time('known_at', 'Arrival of the last report, to the second; null for reports to early versions.'),
  ],
  staged: {
    post: 'INTEGER',
    placement_id: 'VARCHAR',
    tier: 'VARCHAR',
    picked_by: 'VARCHAR',
    picked_model_version: 'VARCHAR',
    picked_weights_version: 'VARCHAR',
    picked_cycle_id: 'VARCHAR',
    deleted_by: 'VARCHAR',
    ...doubles(['placed_at', 'score_at_placement', ...atPlacement, 'hidden_at', 'deleted_at', 'known_at']),
  },
}

const outcomeCounters = ['views', 'up', 'down', 'comment_cnt']

const outcomeReadings: ExportTable = {
  meaning: 'One row per reading of a placement. A label: see `known_at`.',
  dayMs: 's.placed_at',
  columns: [
    text('placement_id', 'The placement.'),
    ...postColumns,
    integer('age_h', 'INTEGER', 'Hours since the placement: 1, 6, 24 or 48.'),
    time('observed_at', 'When the counters were observed.'),
    ...outcomeCounters.map((name) => integer(name, 'BIGINT', 'Counter of the board copy; null for unknown.')),
    time(
      'known_at',
      'Arrival of the last report of the placement: the reading was known by then, and maybe earlier.',
    ),
  ],
  staged: {
    post: 'INTEGER',
    placement_id: 'VARCHAR',
    ...doubles(['age_h', 'placed_at', 'observed_at', ...outcomeCounters, 'known_at']),
  },
}

export const exportTables = {
  cycles,
  visits,
  scores,
  shadow_scores: shadowScores,
  readings,
  snapshots,
  removals,
  outcomes,
  outcome_readings: outcomeReadings,
} satisfies Record<string, ExportTable>

export type TableName = keyof typeof exportTables
export const tableNames = Object.keys(exportTables) as TableName[]

/** A table with a column for each of some features. */
export function tableWith(name: TableName, features: readonly string[]): ExportTable {
  const table: ExportTable = exportTables[name]
  if (name !== 'scores') return table
  const columns = features.map((feature): ExportColumn => {
    const quoted = `"${feature}"`
    const meaning = 'The float32 that the model had; null where missing.'
    return { name: feature, type: 'FLOAT', meaning, sql: `nullif(s.${quoted}, 'nan')` }
  })
  return {
    ...table,
    columns: [...table.columns, ...columns],
    staged: {
      ...table.staged,
      ...Object.fromEntries(features.map((feature) => [feature, 'FLOAT' as const])),
    },
  }
}
