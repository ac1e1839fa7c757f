/**
 * The tables of an export: names, types and meaning of their columns, and how each is computed from the staged columns, which
 * are numbers where possible. A column that the record of a cycle has too is declared in src/records. Names and types are
 * stable; docs/export.md lists them, and a test compares the two.
 */
import {
  counterNames,
  engagementStatusCodes,
  headNames,
  outcomeCodes,
  snapshotNames,
} from '../../contract/index.js'
import { cycleColumn, type CycleColumnName, type CycleTableName } from '../../records/index.js'

/** Raised when a column of an existing name changes its type or meaning, or disappears. */
export const exportSchemaVersion = 1

const timestamp = 'TIMESTAMP WITH TIME ZONE'
export type ColumnType =
  'VARCHAR' | 'VARCHAR[]' | 'BOOLEAN' | 'INTEGER' | 'BIGINT' | 'FLOAT' | 'DOUBLE' | typeof timestamp

export interface ExportColumn {
  readonly name: string
  readonly type: ColumnType
  readonly meaning: string
  /** Reads the staged row `s`, its post `p`, its cycle `c` and the cycle `e` with which its post entered. */
  readonly sql: string
  /** The staged columns that `sql` reads, itself or through `p`, `c` and `e`. */
  readonly staged: StagedColumns
}

/** Staged columns by name. A number is NaN if it is missing. `position` and `entered` are positions of cycles, -1 for none. */
export type StagedColumns = Readonly<Record<string, 'DOUBLE' | 'FLOAT' | 'INTEGER' | 'VARCHAR'>>

export interface ExportTable {
  readonly meaning: string
  /** Milliseconds since 1970 in the day of a row, in KST; from `s`, `p`, `c` and `e` as for a column. */
  readonly timestampSql: string
  readonly columns: readonly ExportColumn[]
  readonly staged: StagedColumns
}

/** `alsoStaged`: for `timestampSql`. */
function table(
  meaning: string,
  timestampSql: string,
  columns: readonly ExportColumn[],
  alsoStaged: StagedColumns = {},
): ExportTable {
  const staged = Object.fromEntries(columns.flatMap((column) => Object.entries(column.staged)))
  return { meaning, timestampSql, columns, staged: { ...staged, ...alsoStaged } }
}

/** An integer from a staged double. */
function integer(name: string, type: 'INTEGER' | 'BIGINT', meaning: string): ExportColumn {
  const sql = `cast(nullif(s.${name}, 'nan') as ${type})`
  return { name, type, meaning, sql, staged: { [name]: 'DOUBLE' } }
}

/** The name of a feature may need quotes. */
function real(name: string, type: 'FLOAT' | 'DOUBLE', meaning: string): ExportColumn {
  return { name, type, meaning, sql: `nullif(s."${name}", 'nan')`, staged: { [name]: type } }
}

/** An instant of staged milliseconds since 1970 with a fraction, to the microsecond. */
function time(name: string, meaning: string): ExportColumn {
  return { name, type: timestamp, meaning, sql: timeSql(`s.${name}`), staged: { [name]: 'DOUBLE' } }
}

function timeSql(ms: string): string {
  const micros = `cast(floor(${ms}) as bigint) * 1000 + cast(round((${ms} - floor(${ms})) * 1000) as bigint)`
  return `case when isnan(${ms}) then null else make_timestamptz(${micros}) end`
}

/** A name of a staged code; null for a code beyond the list. */
function code(name: string, names: readonly (string | null)[], meaning: string, from = name): ExportColumn {
  const list = names.map((each) => (each === null ? 'null' : `'${each}'`)).join(', ')
  const sql = `list_extract(cast([${list}] as varchar[]), cast(nullif(s.${from}, 'nan') as integer) + 1)`
  return { name, type: 'VARCHAR', meaning, sql, staged: { [from]: 'DOUBLE' } }
}

function text(name: string, meaning: string): ExportColumn {
  return { name, type: 'VARCHAR', meaning, sql: `s.${name}`, staged: { [name]: 'VARCHAR' } }
}

/** A column of the record of a cycle, as it is declared there, or under another name with another meaning. */
function recorded<Table extends CycleTableName>(
  table: Table,
  column: CycleColumnName<Table>,
  renamed: { readonly name?: string; readonly meaning?: string } = {},
): ExportColumn {
  const declared = cycleColumn(table, column)
  const { name, meaning } = { ...declared, ...renamed }
  switch (declared.type) {
    case 'text':
      return text(name, meaning)
    case 'instant':
      return time(name, meaning)
    case 'code':
      return code(name, declared.values, meaning)
    case 'float32':
      return real(name, 'FLOAT', meaning)
    case 'number':
    case 'sequence':
      return integer(name, 'BIGINT', meaning)
  }
}

/** Staged columns that name the post of a row, its cycle, and the cycle with which its post entered. */
const namedBy = { p: 'post', c: 'position', e: 'entered' } as const

/** A column of the post, of the cycle, or of the cycle with which the post entered. */
function joinedColumn(
  name: string,
  type: ColumnType,
  from: `${keyof typeof namedBy}.${string}`,
  meaning: string,
): ExportColumn {
  const sql = type === timestamp ? timeSql(from) : from
  return { name, type, meaning, sql, staged: { [namedBy[from[0] as keyof typeof namedBy]]: 'INTEGER' } }
}

const postColumns = (['gall_id', 'post_no'] as const).map((name) => {
  const { type, meaning } = recorded('candidates', name)
  return joinedColumn(name, type, `p.${name}`, meaning)
})
const cycleColumns = [
  joinedColumn('cycle_id', 'VARCHAR', 'c.cycle_id', 'The cycle, in KST.'),
  joinedColumn('cycle_time', timestamp, 'c.cycle_ms', 'Its `cycle_time`.'),
]
const enteredColumn = joinedColumn(
  'entered_cycle_id',
  'VARCHAR',
  'e.cycle_id',
  'The cycle that brought the post: with its key, the key of the visit. Null if that cycle has expired or the post is unknown.',
)

const cycles = table('One row per cycle.', 'c.cycle_ms', [
  ...cycleColumns,
  joinedColumn('position', 'INTEGER', 'c.id', 'Place in the order of arrival.'),
  joinedColumn('received_at', timestamp, 'c.received_ms', "Arrival, by the service's clock."),
  time('scored_at', '`scored_at` of the response.'),
  joinedColumn('model_version', 'VARCHAR', 'c.model_version', 'The model that scored.'),
  joinedColumn('weights_version', 'VARCHAR', 'c.weights_version', 'The weights in force.'),
  ...['weight_views', 'weight_comments', 'weight_up', 'weight_downvote_share'].map((name) =>
    real(name, 'DOUBLE', 'One of these weights.'),
  ),
  ...['candidates', 'engagement', 'candidate_scores', 'removals'].map(countColumn),
  ...['scored', 'waiting', 'not_scored', 'results'].map(countColumn),
  real('missing_feature_share', 'DOUBLE', 'As in the response.'),
  {
    name: 'late',
    type: 'BOOLEAN',
    sql: 's.late = 1',
    staged: { late: 'DOUBLE' },
    meaning: 'Whether a cycle with a later `cycle_time` had arrived before it.',
  },
  {
    name: 'warnings',
    type: 'VARCHAR[]',
    meaning: '`warnings` of the response.',
    sql: 'cast(cast(s.warnings as json) as varchar[])',
    staged: { warnings: 'VARCHAR' },
  },
])

function countColumn(name: string): ExportColumn {
  return integer(name, 'INTEGER', '`counts` of the response.')
}

/** The cycle of a row is the one with the removal. */
const visits = table(
  'One row per stay of a post in the pool. The columns from `fate` on are labels: they were not known before `fate_known_at`.',
  'coalesce(e.cycle_ms, c.cycle_ms, 0)',
  [
    ...postColumns,
    enteredColumn,
    joinedColumn('entered_cycle_time', timestamp, 'e.cycle_ms', 'Its `cycle_time`.'),
    recorded('candidates', 'title', { meaning: 'As received.' }),
    recorded('candidates', 'created_at'),
    recorded('candidates', 'extracted_at'),
    recorded('candidates', 'source'),
    integer('manual_flag', 'INTEGER', 'As received.'),
    recorded('candidates', 'gallery_type'),
    integer('category_id', 'BIGINT', 'As received.'),
    integer('images_in_post', 'BIGINT', 'As received.'),
    integer('images_expected', 'INTEGER', 'Length of `image_positions`.'),
    text('body_html', 'As received; only with `--texts`.'),
    recorded('removals', 'reason', {
      name: 'fate',
      meaning: '`reason` of the removal; null while the post is pending.',
    }),
    recorded('removals', 'tier'),
    recorded('removals', 'decided_at'),
    joinedColumn('left_cycle_id', 'VARCHAR', 'c.cycle_id', 'The cycle with the removal.'),
    joinedColumn('fate_known_at', timestamp, 'c.received_ms', 'When that cycle arrived.'),
  ],
)

/** `score`, its average rank among the rows with the same `key`, and the heads. All rows of a cycle are staged together. */
function scoreColumns(meaning: string, key: string): ExportColumn[] {
  const above = `rank() over (partition by ${key}, isnan(s.score) order by s.score desc)`
  const tied = `count(*) over (partition by ${key}, s.score)`
  return [
    real('score', 'FLOAT', meaning),
    {
      name: 'rank',
      type: 'DOUBLE',
      staged: {},
      meaning: 'Place among the scored posts, 1 for the highest; ties share their average.',
      sql: `case when isnan(s.score) then null else ${above} + (${tied} - 1) / 2 end`,
    },
    ...headNames.map((name) => recorded('heads', name)),
  ]
}

const scores = table('One row per result of a cycle: pending posts and unknown ones.', 'c.cycle_ms', [
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
  ...scoreColumns('The float32 of the response; null unless scored.', 's.position'),
  joinedColumn('model_version', 'VARCHAR', 'c.model_version', 'The model that scored.'),
  joinedColumn('weights_version', 'VARCHAR', 'c.weights_version', 'The weights in force.'),
])

const shadowScores = table(
  'One row per scored post of a cycle and version that scored it as a shadow.',
  'c.cycle_ms',
  [
    ...cycleColumns,
    ...postColumns,
    enteredColumn,
    text('model_version', 'The shadow.'),
    ...scoreColumns('Its heads, weighted with the weights of the cycle.', 's.position, s.model_version'),
    joinedColumn('weights_version', 'VARCHAR', 'c.weights_version', 'The weights in force.'),
  ],
)

const readings = table('One row per engagement row, as received.', 'c.cycle_ms', [
  ...cycleColumns,
  ...postColumns,
  time('observed_at', 'When the counters were observed.'),
  code('status', engagementStatusCodes, '`ok`, `missing` or `nomap`.'),
  ...counterNames.map((name) => integer(name, 'BIGINT', 'Counter; null if unknown.')),
])

const snapshots = table('One row per admin snapshot (`candidate_scores`), as received.', 'c.cycle_ms', [
  ...cycleColumns,
  ...postColumns,
  time('snapshot_at', 'When the row was taken.'),
  ...snapshotNames.map((name) => integer(name, 'BIGINT', 'As received.')),
])

const removals = table(
  'One row per removal, as received, even of posts that were not pending. A label: see `known_at`.',
  'c.cycle_ms',
  [
    ...cycleColumns,
    ...postColumns,
    enteredColumn,
    recorded('removals', 'reason'),
    recorded('removals', 'tier'),
    text('reason_code', "The operator's reason."),
    recorded('removals', 'decided_at'),
    joinedColumn('known_at', timestamp, 'c.received_ms', 'When the cycle arrived.'),
  ],
)

const outcomes = table('One row per placement, as last reported. A label: see `known_at`.', 's.placed_at', [
  text('placement_id', 'Its id.'),
  ...postColumns,
  text('tier', 'Board.'),
  time('placed_at', 'When the post was placed.'),
  text('picked_by', '`operator` or `model`.'),
  text('picked_model_version', 'Of a pick of the model.'),
  text('picked_weights_version', 'Of a pick of the model.'),
  text('picked_cycle_id', 'Of a pick of the model.'),
  real('score_at_placement', 'DOUBLE', 'As received.'),
  ...['views_at_placement', 'up_at_placement', 'down_at_placement', 'comment_at_placement'].map((name) =>
    integer(name, 'BIGINT', 'Counter when the post was placed.'),
  ),
  time('hidden_at', 'When the placement was hidden.'),
  time('deleted_at', 'When the placement was deleted.'),
  text('deleted_by', 'As received; JSON unless it is a string.'),
  time('known_at', 'Arrival of the last report, to the second; null for reports to early versions.'),
])

const outcomeReadings = table(
  'One row per reading of a placement. A label: see `known_at`.',
  's.placed_at',
  [
    text('placement_id', 'The placement.'),
    ...postColumns,
    integer('age_h', 'INTEGER', 'Hours since the placement: 1, 6, 24 or 48.'),
    time('observed_at', 'When the counters were observed.'),
    ...['views', 'up', 'down', 'comment_cnt'].map((name) =>
      integer(name, 'BIGINT', 'Counter of the board copy; null if unknown.'),
    ),
    time(
      'known_at',
      'Arrival of the last report of the placement: the reading was known by then, and maybe earlier.',
    ),
  ],
  { placed_at: 'DOUBLE' },
)

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
  if (name !== 'scores') return exportTables[name]
  const { meaning, timestampSql, columns } = scores
  const values = features.map((feature) =>
    real(feature, 'FLOAT', 'The float32 that the model had; null if missing.'),
  )
  return table(meaning, timestampSql, [...columns, ...values])
}
