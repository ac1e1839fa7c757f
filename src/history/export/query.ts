/**
 * SQL over the files of an export: read-only views with the names of the tables.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api'
import { kstOffsetMs } from '../../contract/index.js'
import { messageOf, minuteMs } from '../../base/index.js'
import { prepareReading, QueryError } from './reading-statement.js'
import { exportTables, tableNames, type TableName } from './schema.js'
import { createDuck, quote } from './staging.js'

export interface QueryResult {
  readonly names: readonly string[]
  readonly rows: readonly (readonly QueryValue[])[]
  /** Whether the result has more rows than requested. */
  readonly truncated: boolean
}

/** Integers beyond 2^53 and values that JSON cannot represent become strings. */
export type QueryValue = number | string | boolean | null | readonly QueryValue[]

export interface QueryOptions {
  readonly rowsMax: number
  /** Directory for intermediate results that exceed the memory limit. The caller removes it. */
  readonly scratch: string
}

/**
 * Runs one statement that reads. Times are in KST. DuckDB may read the files of `directory` and nothing else, and writes
 * to `scratch` only. Rejects with a `QueryError`.
 */
export async function queryExport(
  directory: string,
  sql: string,
  { rowsMax, scratch }: QueryOptions,
): Promise<QueryResult> {
  const duck = await import('@duckdb/node-api')
  duck.DuckDBTimestampTZValue.timezoneOffsetInMinutes = kstOffsetMs / minuteMs
  const instance = await createDuck(duck, scratch)
  const connection = await instance.connect()
  try {
    await prepareViews(connection, directory)
    const statement = await prepareReading(connection, sql)
    const reader = await statement.streamAndReadUntil(rowsMax + 1)
    const names = reader.deduplicatedColumnNames()
    const rows = reader.getRows().slice(0, rowsMax)
    return {
      names,
      rows: rows.map((row) => row.map(toValue)),
      truncated: reader.currentRowCount > rowsMax,
    }
  } catch (error) {
    if (error instanceof QueryError) throw error
    throw new QueryError(messageOf(error), { cause: error })
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

async function prepareViews(connection: DuckDBConnection, directory: string): Promise<void> {
  for (const name of tableNames) await connection.run(viewSql(name, resolve(directory)))
  await connection.run("set TimeZone = 'Asia/Seoul'")
  await connection.run(`set allowed_directories = [${quote(resolve(directory))}]`)
  await connection.run('set enable_external_access = false')
  await connection.run('set lock_configuration = true')
}

/** The statement that makes the view of a table; `directory` may be relative to that of the process. */
export function viewSql(name: TableName, directory: string): string {
  const folder = join(directory, name)
  const files = existsSync(folder) ? readdirSync(folder) : []
  if (files.length > 0)
    return `create view ${name} as select * from read_parquet(${quote(join(folder, '*', '*.parquet'))}, hive_partitioning = true, hive_types = {'day': date});`
  const columns = exportTables[name].columns.map((column) => `null::${column.type} as "${column.name}"`)
  return `create view ${name} as select ${columns.join(', ')}, null::date as day where false;`
}

/** The tables that a statement may read: a word in a string or a comment counts too. */
export function tablesIn(sql: string): TableName[] {
  const words = new Set(sql.toLowerCase().match(/\w+/g))
  return tableNames.filter((name) => words.has(name))
}

function toValue(value: DuckDBValue): QueryValue {
  if (value === null || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string')
    return value
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'object' && 'items' in value && Array.isArray(value.items))
    return (value.items as readonly DuckDBValue[]).map(toValue)
  return String(value)
}
