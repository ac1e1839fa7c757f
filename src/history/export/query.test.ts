/** `understudy sql`: one read-only statement over an export. */
import { describe, expect, test } from 'vitest'
import { cycleBody } from '../../../test/helpers/bodies.js'
import { exported, record } from '../../../test/helpers/exported-tables.js'
import { queryExport, QueryError, tablesIn } from './query.js'

describe('a query', () => {
  test.each([
    [
      'copy (select 1) to',
      "copy (select 1) to 'x.csv'",
      /Permission Error: Cannot access file|only statements that read/,
    ],
    ['create', 'create table x (a int)', /only read-only statements are allowed, not CREATE/],
    ['set', 'set threads = 1', /only read-only statements are allowed, not SET/],
    ['two statements', 'select 1; select 2', /expected one statement, got 2/],
    ['another file', "select * from read_text('/etc/hostname')", /Permission Error/],
    ['an extension', 'install httpfs', /only read-only statements are allowed/],
    ['a wrong name', 'select nothing from cycles', /Binder Error: Referenced column "nothing" not found/],
  ])('refuses %s', async (_, sql, message) => {
    const { directory } = await record([cycleBody(0)])
    const failure = queryExport(await exported(directory), sql, 10)
    await expect(failure).rejects.toThrow(message)
    await expect(failure).rejects.toBeInstanceOf(QueryError)
  })

  test('returns at most the requested rows, integers as numbers, times in KST', async () => {
    const { directory } = await record([cycleBody(0), cycleBody(1)])
    const out = await exported(directory)
    const sql = 'select position, cycle_time, [1::bigint, 2] as list from cycles order by position'
    expect(await queryExport(out, sql, 1)).toEqual({
      names: ['position', 'cycle_time', 'list'],
      rows: [[1, '2024-03-01 00:00:00+09', [1, 2]]],
      truncated: true,
    })
    const { rows, truncated } = await queryExport(out, sql, 2)
    expect([rows.length, truncated]).toEqual([2, false])
  })

  test('names the tables that it reads', () => {
    expect(tablesIn('SELECT * FROM Scores JOIN cycles USING (cycle_id)')).toEqual(['cycles', 'scores'])
  })
})
