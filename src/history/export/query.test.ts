/** `understudy sql`: one read-only statement over an export. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cycleBody } from '../../../test/helpers/bodies.js'
import { exported, queried, record } from '../../../test/helpers/exported-tables.js'
import { scratchDir } from '../../../test/helpers/servers.js'
import { queryExport, tablesIn } from './query.js'
import { QueryError } from './reading-statement.js'

/** The files of a directory, with their contents. */
function filesOf(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const paths = files.map(({ parentPath, name }) => join(parentPath, name))
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'latin1')]))
}

describe('a query', () => {
  const readOnly = /only read-only statements are allowed/
  test.each([
    ['copy (select 1) to', "copy (select 1) to 'x.csv'", readOnly],
    ['create', 'create table x (a int)', readOnly],
    ['set', 'set threads = 1', readOnly],
    ['set variable', 'set variable x = 1', readOnly],
    ['pragma', 'pragma enable_profiling', readOnly],
    ['call', "call enable_logging('QueryLog')", readOnly],
    ['attach', "attach 'x.db'", readOnly],
    ['export database', "export database 'x'", readOnly],
    ['load', 'load httpfs', readOnly],
    ['an extension', 'install httpfs', readOnly],
    ['insert', 'insert into cycles select * from cycles', readOnly],
    ['prepare', 'prepare x as select 1', readOnly],
    ['checkpoint', 'checkpoint', readOnly],
    ['two statements', 'select 1; select 2', /expected one statement, got 2/],
    ['two statements, of which one writes', "select 1; copy (select 1) to 'x'", readOnly],
    ['no statement', '-- nothing', /expected one statement, got 0/],
    ['another file', "select * from read_text('/etc/hostname')", readOnly],
    ['another Parquet file', "select * from '/etc/hostname.parquet'", /Permission Error/],
    ['a query in a string', "from query('select 1')", /table function query is not available/],
    ['a wrong name', 'select nothing from cycles', /Binder Error: Referenced column "nothing" not found/],
    ['a syntax error', 'selec 1', /Parser Error: syntax error at or near "selec"/],
  ])('refuses %s', async (_, sql, message) => {
    const { directory } = await record([cycleBody(0)])
    const failure = queried(await exported(directory), sql)
    await expect(failure).rejects.toThrow(message)
    await expect(failure).rejects.toBeInstanceOf(QueryError)
  })

  test.each([
    ['explain', 'explain COPY'],
    ['explain analyze', 'explain analyze COPY'],
    ['explain analyse', 'EXPLAIN ANALYSE COPY'],
    ['explain (analyze)', 'explain (analyze) COPY'],
    ['explain (format, analyze)', 'explain (format json, analyze) COPY'],
    ['a comment before analyze', 'explain /* reads */ analyze COPY'],
    ['a nested comment', '/* /* */ */ explain analyze COPY'],
    ['a comment that ends with a carriage return', '--\rexplain analyze COPY /*\n explain select 1 --*/'],
    ['a semicolon before it', '; explain analyze COPY'],
    ['a second statement', 'explain select 1; COPY'],
    ['an explained function', "explain select * from enable_logging(storage_path = 'FILE')"],
    ['a log file', "select * from enable_logging('QueryLog', storage = 'file', storage_path = 'FILE')"],
    ['a profile', "select * from enable_profiling(save_location = 'FILE', format = 'json')"],
    [
      'a profile with the name that it requires',
      "from enable_profiling(save_location = 'FILE.json', format = 'json')",
    ],
    [
      'a name in two parts',
      "from query('from ena' || 'ble_profiling(save_location = ''FILE.json'', format = ''json'')')",
    ],
    ['a quoted name', `select * from system.main."ENABLE_PROFILING"(save_location = 'FILE')`],
    ['a function in a subquery', "select 1 where 1 in (select 1 from enable_logging(storage_path = 'FILE'))"],
    ['a described function', "describe from enable_logging(storage_path = 'FILE')"],
    ['a query in a query', "from query('from enable_logging(storage_path = ''FILE'')')"],
  ])('leaves the files of the export alone: %s', async (_, sql) => {
    const { directory } = await record([cycleBody(0)])
    const out = await exported(directory)
    const before = filesOf(out)
    const [file = ''] = Object.keys(before)
    const written = join(out, 'written')
    const statement = (target: string): string =>
      sql.replaceAll('FILE', target).replaceAll('COPY', `copy (select 1) to '${target}'`)
    for (const target of [file, written])
      await expect(queried(out, statement(target))).rejects.toBeInstanceOf(QueryError)
    expect(filesOf(out)).toEqual(before)
    expect(existsSync(written)).toBe(false)
  })

  test.each([
    'explain select * from cycles',
    '-- why\nexplain (format json) select * from cycles;',
    'explain(select 1)',
    'with c as (from cycles) select * from c',
    '(select 1) union all values (2);',
    'describe cycles',
    'summarize cycles',
    'show tables',
    'select * from range(3), unnest([1, 2])',
    "from (pivot cycles on model_version in ('fake-1') using count(*))",
    'from duckdb_columns()',
  ])('runs %s', async (sql) => {
    const { directory } = await record([cycleBody(0)])
    const { rows } = await queried(await exported(directory), sql)
    expect(rows.length).toBeGreaterThan(0)
  })

  test('writes intermediate results to the scratch directory only', async () => {
    const { directory } = await record([cycleBody(0)])
    const scratch = scratchDir()
    const sql = "select current_setting('temp_directory')"
    const { rows } = await queryExport(await exported(directory), sql, { rowsMax: 1, scratch })
    expect(rows).toEqual([[scratch]])
  })

  test('returns at most the requested rows, integers as numbers, times in KST', async () => {
    const { directory } = await record([cycleBody(0), cycleBody(1)])
    const out = await exported(directory)
    const sql = 'select position, cycle_time, [1::bigint, 2] as list from cycles order by position'
    expect(await queried(out, sql, 1)).toEqual({
      names: ['position', 'cycle_time', 'list'],
      rows: [[1, '2024-03-01 00:00:00+09', [1, 2]]],
      truncated: true,
    })
    const { rows, truncated } = await queried(out, sql, 2)
    expect([rows.length, truncated]).toEqual([2, false])
  })

  test('names the tables that it reads', () => {
    expect(tablesIn('SELECT * FROM Scores JOIN cycles USING (cycle_id)')).toEqual(['cycles', 'scores'])
  })
})
