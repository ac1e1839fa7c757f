/**
 * `understudy export` and `understudy sql` as processes, while the server of the data directory runs.
 */
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { modelsEnvironment, understudy } from '../helpers/models-command.js'
import { RecordedDirectory } from '../helpers/recorded-directory.js'
import { scratchDir } from '../helpers/servers.js'

let recorded: RecordedDirectory
let out: string

beforeEach(async () => {
  out = join(scratchDir(), 'out')
  recorded = await RecordedDirectory.open()
  for (const index of [0, 1, 2])
    await recorded.submit(
      cycleBody(index, {
        candidates: index === 0 ? [1, 2].map((post) => candidate('g', post, { body_html: '본문' })) : [],
        engagement: [1, 2].map((post) => reading('g', post, cycleMs(index), { views: 10 * post })),
      }),
    )
})

function run(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(understudy, [...args, '--data-dir', recorded.dataDir], {
    encoding: 'utf8',
    env: modelsEnvironment(),
    cwd: scratchDir(),
  })
}

function sql(statement: string, ...flags: string[]): unknown[] {
  const { stdout, stderr, status } = run('sql', statement, '--json', ...flags)
  expect(status, stderr).toBe(0)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}

describe('export', () => {
  test('writes files for their owner, the number of rows, and views for the shell of DuckDB', () => {
    const { stdout, stderr, status } = run('export', out)
    expect(status, stderr).toBe(0)
    expect(stdout).toMatch(
      /^3 cycles written to \S+ in [\d.]+ s\nHash of cycle \S+: [0-9a-f]{64}\n\ntable +rows\n/,
    )
    expect(JSON.parse(readFileSync(join(out, 'export.json'), 'utf8'))).toMatchObject({
      schema_version: 1,
      cycles: 3,
      rows: { cycles: 3, visits: 2, scores: 6, readings: 6, snapshots: 0 },
    })
    const file = join(out, 'scores', 'day=2024-03-01', '0-0.parquet')
    expect(statSync(file).mode & 0o077).toBe(0)
    expect(readFileSync(join(out, 'views.sql'), 'utf8')).toContain(
      "create view scores as select * from read_parquet('scores/*/*.parquet'",
    )
  })

  test('writes features, texts and a window of cycles on request', () => {
    const [, second = ''] = [0, 1].map((index) => cycleBody(index).cycle_id)
    const flags = ['--features', 'views,log1p(up)', '--texts', '--from', second, '--to', '2024-03-01']
    const { stderr, status } = run('export', out, ...flags)
    expect(status, stderr).toBe(0)
    const at = ['--export', out]
    expect(sql('select distinct views, "log1p(up)" as up from scores order by views', ...at)).toEqual([
      { views: 10, up: Math.fround(Math.log1p(10)) },
      { views: 20, up: Math.fround(Math.log1p(10)) },
    ])
    expect(sql('select body_html, count(*) as visits from visits group by 1', ...at)).toEqual([
      { body_html: '본문', visits: 2 },
    ])
    expect(sql('select min(position) as first, count(*) as cycles from cycles', ...at)).toEqual([
      { first: 2, cycles: 2 },
    ])
  })

  test('has null for a missing value of a feature, or with --missing imputed what the service serves', () => {
    const statement = 'select views_gain as gain from scores order by cycle_id, post_no limit 3'
    const gains = (name: string, ...flags: string[]): unknown[] => {
      const directory = join(scratchDir(), name)
      const { stderr, status } = run('export', directory, '--features', 'views_gain', ...flags)
      expect(status, stderr).toBe(0)
      return sql(statement, '--export', directory)
    }
    expect(gains('null')).toEqual([{ gain: null }, { gain: null }, { gain: 0 }])
    expect(gains('imputed', '--missing', 'imputed')).toEqual([{ gain: 0 }, { gain: 0 }, { gain: 0 }])
  })

  test('refuses a directory with files, unknown features and a wrong time', () => {
    mkdirSync(out)
    writeFileSync(join(out, 'x'), '')
    expect(run('export', out).stderr).toBe(`understudy: ${out} is not empty\n`)
    const other = join(scratchDir(), 'out')
    expect(run('export', other, '--features', 'luck').stderr).toContain('no feature "luck"')
    expect(run('export', other, '--from', 'monday').stderr).toContain(
      '--from must be a day such as 2026-03-02, a cycle id or an RFC 3339 time, not monday',
    )
    expect(run('export', other, '--from', '2024-03-02', '--to', '2024-03-01').status).toBe(2)
  })
})

describe('sql', () => {
  test('reads a data directory', () => {
    expect(sql('select count(*) as n from scores join cycles using (cycle_id)')).toEqual([{ n: 6 }])
    expect(run('sql', 'select cycle_time, warnings from cycles order by 1').stdout).toMatch(
      /^cycle_time +warnings\n.*\n2024-03-01 00:00:00\+09 +\[\]\n/,
    )
  })

  test('reports when there are more rows', () => {
    const { stdout, stderr } = run('sql', 'select position from cycles', '--rows', '2')
    expect(stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(stderr).toBe('understudy: output limited to 2 rows; use --rows to print more\n')
  })

  test('refuses statements that write, wrong statements and directories without an export', () => {
    const failure = (...args: string[]): [string, number | null] => {
      const { stderr, status } = run('sql', ...args)
      return [stderr, status]
    }
    expect(failure('drop view cycles')).toEqual([
      'understudy: only read-only statements are allowed: SELECT, and EXPLAIN of a SELECT without ANALYZE\n',
      1,
    ])
    expect(failure('select x from cycles')[0]).toMatch(/^understudy: Binder Error: .*"x" not found/)
    expect(failure('select 1', '--export', scratchDir())).toEqual([
      expect.stringMatching(/ is not a complete export: it has no export\.json\n$/),
      2,
    ])
    expect(failure('select 1', '--rows', '0')[1]).toBe(2)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('leaves no files behind after %s', async (signal) => {
    const temporary = scratchDir()
    const cwd = scratchDir()
    const options = { env: { ...modelsEnvironment(), TMPDIR: temporary }, cwd }
    const flags = ['--data-dir', recorded.dataDir]
    const endless = 'select count(*) from range(1000000000) a, range(1000000000) b'
    const child = spawn(understudy, ['sql', endless, ...flags], { ...options, stdio: 'ignore' })
    await vi.waitFor(() => expect(readdirSync(temporary, { recursive: true }).join()).toContain('tables'), {
      timeout: 30_000,
    })
    child.kill(signal)
    expect(await once(child, 'exit')).toEqual([null, signal])
    expect(readdirSync(temporary)).toEqual([])
    expect(readdirSync(cwd)).toEqual([])
  })
})
