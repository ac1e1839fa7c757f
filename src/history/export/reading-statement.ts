/**
 * Decides whether a statement only reads. The parser of DuckDB decides, not the text: EXPLAIN ANALYZE executes what it
 * explains, and some table functions write files from within a SELECT. Read `prepareReading` first.
 */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api'
import { quote } from './staging.js'

/** A wrong statement: the message of DuckDB. */
export class QueryError extends Error {}

/**
 * The only functions that a FROM clause may call. Others write: `enable_logging` and `enable_profiling` take the name of a
 * file. `query` parses its argument later. Views and files are no functions.
 */
const tableFunctions: ReadonlySet<string> = new Set([
  ...['range', 'generate_series', 'unnest', 'repeat', 'repeat_row', 'json_each', 'json_tree', 'histogram'],
  ...['histogram_values', 'read_parquet', 'parquet_scan', 'parquet_metadata', 'parquet_schema'],
  ...['parquet_file_metadata', 'glob', 'duckdb_columns', 'duckdb_functions', 'duckdb_keywords'],
  ...['duckdb_settings', 'duckdb_types', 'duckdb_views', 'pragma_table_info', 'pragma_version'],
])

/** EXPLAIN with an optional output format, after comments and semicolons. */
const explainPattern =
  /^(?:\s|;|--[^\n\r]*[\n\r]|\/\*[^]*?\*\/)*explain\b\s*(?<format>\(\s*format\s+\w+\s*\))?(?<select>[^]*)$/i

/** Prepares one statement. Rejects with a `QueryError` unless it is a SELECT that only reads, or its EXPLAIN. */
export async function prepareReading(
  connection: DuckDBConnection,
  sql: string,
): Promise<DuckDBPreparedStatement> {
  const { format = '', select = null } = explainPattern.exec(sql)?.groups ?? {}
  await checkSelect(connection, select ?? sql)
  // Made of what was checked: the pattern does not know all rules for comments. ANALYZE is not part of a SELECT.
  const statements = await connection.extractStatements(select === null ? sql : `explain ${format} ${select}`)
  if (statements.count !== 1) throw new QueryError(`expected one statement, got ${statements.count}`)
  return statements.prepare(0)
}

async function checkSelect(connection: DuckDBConnection, sql: string): Promise<void> {
  const reader = await connection.runAndReadAll(`select json_serialize_sql(${quote(sql)})`)
  const {
    error,
    error_type,
    error_message,
    statements = [],
  } = JSON.parse(String(reader.getRows()[0]?.[0])) as SerializedSelect
  if (error_type === 'parser') throw new QueryError(`Parser Error: ${error_message}`)
  if (error)
    throw new QueryError(
      'only read-only statements are allowed: SELECT, and EXPLAIN of a SELECT without ANALYZE',
    )
  if (statements.length !== 1) throw new QueryError(`expected one statement, got ${statements.length}`)
  const refused = functionsIn(statements).find((name) => !tableFunctions.has(name))
  if (refused !== undefined)
    throw new QueryError(
      `only read-only statements are allowed: the table function ${refused} is not available`,
    )
}

/** What `json_serialize_sql` returns: a tree of nodes for each statement, if all are SELECT. */
interface SerializedSelect {
  readonly error: boolean
  readonly error_type?: string
  readonly error_message?: string
  readonly statements?: readonly unknown[]
}

/** Names in lower case of the functions that FROM clauses call, at any depth. */
function functionsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return []
  const below = Object.values(node).flatMap(functionsIn)
  return 'type' in node && node.type === 'TABLE_FUNCTION' ? [calledBy(node), ...below] : below
}

function calledBy(node: object): string {
  const called: unknown = 'function' in node ? node.function : null
  const isNamed = typeof called === 'object' && called !== null && 'function_name' in called
  return isNamed ? String(called.function_name).toLowerCase() : 'without a name'
}
