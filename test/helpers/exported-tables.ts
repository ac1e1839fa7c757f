/**
 * Exports of recorded directories, read back with DuckDB.
 */
import type { CycleRequest } from '../../src/contract/index.js'
import {
  exportStore,
  exportTables,
  queryExport,
  type QueryResult,
  type TableName,
} from '../../src/history/index.js'
import type { Feature, MissingValues } from '../../src/model/index.js'
import { FakeModel } from './fake-model.js'
import type { RecordedCycle } from './naive-export.js'
import { RecordedDirectory } from './recorded-directory.js'
import { scratchDir } from './servers.js'

type Row = Readonly<Record<string, QueryResult['rows'][number][number]>>
const weights = { views: 1, comments: 2, up: 0, downvote_share: 0 }

/** The directory of an export. */
export async function exported(
  { store }: Pick<RecordedDirectory, 'store'>,
  {
    features = [],
    missing = 'nan',
    fromMs = -Infinity,
    toMs = Infinity,
    texts = false,
  }: {
    features?: readonly Feature[]
    missing?: MissingValues
    fromMs?: number
    toMs?: number
    texts?: boolean
  } = {},
): Promise<string> {
  const directory = scratchDir()
  await exportStore(store, { directory, fromMs, toMs, features, missing, texts })
  return directory
}

/** The result of a statement over an export. */
export function queried(directory: string, sql: string, rowsMax = 1_000_000): Promise<QueryResult> {
  return queryExport(directory, sql, { rowsMax, scratch: scratchDir() })
}

/** All rows of a table, with times in microseconds since 1970. */
export async function rowsOf(directory: string, name: TableName): Promise<Row[]> {
  const columns = exportTables[name].columns.map(({ name: column, type }) =>
    type.startsWith('TIMESTAMP') ? `epoch_us("${column}") as "${column}"` : `"${column}"`,
  )
  const sql = `select ${columns.join(', ')}, cast(day as varchar) as day from ${name}`
  const { names, rows } = await queried(directory, sql)
  return rows.map((row) => Object.fromEntries(names.map((column, index) => [column, row[index] ?? null])))
}

/** Rows as texts, in an order that depends on their values alone. */
export function sorted(rows: readonly object[]): string[] {
  return rows
    .map((row) =>
      JSON.stringify(Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))),
    )
    .sort()
}

/** A directory with these cycles, and what the model was given. */
export async function record(bodies: readonly CycleRequest[]): Promise<{
  readonly recorded: RecordedCycle[]
  readonly directory: RecordedDirectory
  readonly model: FakeModel
}> {
  const model = new FakeModel()
  const directory = await RecordedDirectory.open({ model, weights })
  const recorded: RecordedCycle[] = []
  for (const body of bodies) {
    const lateByMs = recorded.length * 1000
    const receivedAtMs = Math.max(...bodies.map(({ cycle_time }) => Date.parse(cycle_time))) + lateByMs
    recorded.push({ body, response: await directory.submit(body, receivedAtMs) })
  }
  return { recorded, directory, model }
}
