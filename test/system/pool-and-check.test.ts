/**
 * `understudy pool` and `understudy check` as processes, on recorded data directories; and the code for the pool digest that
 * docs/examples gives to clients.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { poolDigest, type PendingPostRow } from '../../src/history/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { modelsEnvironment, understudy } from '../helpers/models-command.js'
import { RecordedDirectory } from '../helpers/recorded-directory.js'
import { projectDir } from '../helpers/project.js'
import { scratchDir } from '../helpers/servers.js'

let recorded: RecordedDirectory
const [first, second] = [cycleBody(0), cycleBody(1)].map(({ cycle_id }) => cycle_id) as [string, string]

beforeEach(async () => {
  recorded = await RecordedDirectory.open()
  await recorded.submit(
    cycleBody(0, {
      candidates: [1, 2, 3].map((post) => candidate('갤러리', post)),
      engagement: [1, 2].map((post) => reading('갤러리', post, cycleMs(0), { views: 10 * post })),
    }),
  )
  await recorded.submit(
    cycleBody(1, {
      candidates: [candidate('h', 7, { title: '' })],
      engagement: [
        ...[2, 3].map((post) => reading('갤러리', post, cycleMs(1), { views: 10 * post, up: null })),
        reading('h', 7, cycleMs(1)),
        reading('nobody', 1, cycleMs(1)),
      ],
      removals: [removal('갤러리', 1)],
    }),
  )
})

function run(...args: string[]): SpawnSyncReturns<string> {
  // An empty variable counts as absent.
  const env = { ...modelsEnvironment(), UNDERSTUDY_DATA_DIR: '' }
  return spawnSync(understudy, args, { encoding: 'utf8', env, cwd: scratchDir() })
}

describe('pool', () => {
  const pool = (...flags: string[]): string => {
    const { stdout, stderr, status } = run('pool', '--data-dir', recorded.dataDir, ...flags)
    expect(status, stderr).toBe(0)
    return stdout
  }

  test('prints the digest of the pending posts, after the last cycle or after an earlier one', () => {
    const now = poolDigest([
      { gall_id: 'h', post_no: 7 },
      { gall_id: '갤러리', post_no: 3 },
      { gall_id: '갤러리', post_no: 2 },
    ])
    expect(pool('--digest')).toBe(`${second}  3 pending  ${now}\n`)
    const before = poolDigest([1, 2, 3].map((post_no) => ({ gall_id: '갤러리', post_no })))
    const json = JSON.parse(pool('--digest', '--json', '--cycle', first)) as object
    expect(json).toEqual({ cycle_id: first, pending: 3, digest: before })
  })

  test('prints one line of JSON per post, with its result', () => {
    const rows = pool('--json')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as PendingPostRow)
    expect(rows.map(({ gall_id, post_no, status }) => [gall_id, post_no, status])).toEqual([
      ['갤러리', 2, 'scored'],
      ['갤러리', 3, 'scored'],
      ['h', 7, 'not_scored'],
    ])
    expect(rows[0]?.reason).toBeNull()
    expect(rows[0]?.score).toBeCloseTo(0.2)
    expect(rows[2]).toMatchObject({ reason: 'missing_title', score: null })
  })

  test('prints a table, and an empty pool', () => {
    expect(pool()).toMatch(/\n갤러리 +2 +scored +0\.2000\n/)
    expect(pool('--cycle', first)).toMatch(/\n갤러리 +3 +waiting\n/)
  })

  test('prints more than a pipe holds', async () => {
    const candidates = Array.from({ length: 1000 }, (_, index) => candidate('many', index + 1))
    await recorded.submit(cycleBody(2, { candidates }))
    expect(pool('--json').trimEnd().split('\n')).toHaveLength(1003)
  })

  test('refuses a cycle that is not stored', () => {
    const { stderr, status } = run('pool', '--data-dir', recorded.dataDir, '--cycle', '20200101T0000')
    expect(stderr).toContain('the data directory has no cycle 20200101T0000')
    expect(status).toBe(1)
  })

  test('has the digest that the code in docs/examples computes', () => {
    const examples = join(projectDir, 'docs/examples')
    const keys = '[["h", 7], ["갤러리", 3], ["갤러리", 2]]'
    const digest = pool('--digest').trimEnd().split('  ').at(-1)
    const script = `import { poolDigest } from './pool-digest.js'\nconsole.log(poolDigest(${keys}))`
    const node = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: examples,
      encoding: 'utf8',
    })
    expect(node.stdout.trimEnd(), node.stderr).toBe(digest)
    const python = spawnSync('python3', ['-c', `from pool_digest import *\nprint(pool_digest(${keys}))`], {
      cwd: examples,
      encoding: 'utf8',
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    })
    if (python.error === undefined) expect(python.stdout.trimEnd(), python.stderr).toBe(digest)
  })
})

describe('check', () => {
  const file = (name: string, value: unknown): string => {
    const path = join(scratchDir(), name)
    writeFileSync(path, Buffer.isBuffer(value) ? value : bytesOf(value))
    return path
  }

  test('prints the status, code, paths and problems of an invalid body', () => {
    const body = cycleBody(2, { engagement: [{ ...reading('g', 1, cycleMs(2)), views: -1 }] })
    const path = file('cycle.json', body)
    const { stdout, stderr, status } = run('check', path)
    expect(stdout).toMatch(
      /^\S+: 400 bad_request: the body is not a valid cycle\n {2}engagement\[0\]\.views: must be .+\n$/,
    )
    expect(stderr).toBe('understudy: the server would refuse 1 of 1 files\n')
    expect(status).toBe(1)
  })

  test('applies the rules on times with the clock of --now and the difference of the settings', () => {
    const path = file('cycle.json.gz', gzipSync(bytesOf(cycleBody(2))))
    expect(run('check', path).stdout).toMatch(/cycle \d{8}T\d{4} is valid: 0 candidates, 0 readings/)
    const early = ['check', path, '--now', cycleBody(1).cycle_time]
    expect(run(...early, '--clock-skew-ms', '300000').status).toBe(0)
    const { stdout } = run(...early, '--clock-skew-ms', '299999', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      status: 422,
      error: {
        code: 'unprocessable',
        fields: [{ path: 'cycle_time', problem: 'must not be in the future' }],
      },
    })
  })

  test('shows what each cycle would change after those before it, and stores nothing', () => {
    const third = cycleBody(2, {
      candidates: [candidate('new', 1), candidate('new', 2, { created_at: null })],
      engagement: [2, 3].map((post) => reading('갤러리', post, cycleMs(2), { status: 'missing' })),
      removals: [
        removal('h', 7, { reason: 'saved', tier: 'main' }),
        removal('갤러리', 3, { reason: 'aged_out' }),
      ],
    })
    const fourth = cycleBody(3, {
      engagement: [reading('new', 1, cycleMs(3)), reading('new', 2, cycleMs(3)), reading('x', 9, cycleMs(3))],
    })
    const before = run('pool', '--data-dir', recorded.dataDir, '--digest').stdout
    const paths = [file('3.json', third), file('4.json', fourth)]
    const { stdout, stderr, status } = run('check', ...paths, '--data-dir', recorded.dataDir)
    expect(status, stderr).toBe(0)
    expect(stdout.replaceAll(/^\S+(?=: cycle)/gm, 'FILE')).toBe(
      [
        `FILE: cycle ${third.cycle_id} is valid: 2 candidates, 2 readings, 0 snapshots, 2 removals`,
        '  a new cycle: 3 pending posts before it, 3 after it; weights initial',
        '  2 entering: new/1, new/2',
        '  1 leaving, saved (main): h/7',
        '  1 leaving, aged_out: 갤러리/3',
        '  2 waiting, no reading in this call: new/1, new/2',
        '  1 not scored, post_unavailable: 갤러리/2',
        '  warning: engagement of a removed post, left out (1): 갤러리/3',
        `FILE: cycle ${fourth.cycle_id} is valid: 0 candidates, 3 readings, 0 snapshots, 0 removals`,
        '  a new cycle: 3 pending posts before it, 3 after it; weights initial',
        '  1 scored: new/1',
        '  1 waiting, no reading in this call: 갤러리/2',
        '  1 not scored, missing_clock: new/2',
        '  1 not scored, unknown_post: x/9',
        '',
      ].join('\n'),
    )
    expect(run('pool', '--data-dir', recorded.dataDir, '--digest').stdout).toBe(before)
  })

  test('shows no control characters of names', () => {
    const gallery = 'g\n\x1b[2J\u009b'
    const rows = { candidates: [candidate(gallery, 1)], removals: [removal(gallery, 2)] }
    const path = file('cycle.json', cycleBody(2, { ...rows, engagement: [reading(gallery, 3, cycleMs(2))] }))
    const { stdout } = run('check', path, '--data-dir', recorded.dataDir)
    expect(stdout).toContain('1 entering: g  [2J /1\n')
    expect(stdout).toContain('1 not scored, unknown_post: g  [2J /3\n')
    expect(stdout).toMatch(/warning: .*: g {2}\[2J \/2\n/)
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })

  test('gives the rows that the service would give', async () => {
    const body = cycleBody(2, {
      candidates: [candidate('new', 1)],
      engagement: [reading('new', 1, cycleMs(2)), reading('h', 7, cycleMs(2))],
      removals: [removal('갤러리', 2)],
    })
    const path = file('cycle.json', body)
    const { stdout } = run('check', path, '--data-dir', recorded.dataDir, '--json')
    const { effect } = JSON.parse(stdout) as {
      effect: { change: Record<'scored' | 'waiting' | 'not_scored' | 'warnings', object[]> }
    }
    const { counts, warnings } = await recorded.submit(body)
    const { change } = effect
    expect(change.warnings).toEqual(warnings)
    expect([change.scored.length, change.waiting.length, change.not_scored.length]).toEqual([
      counts.scored_now,
      counts.waiting,
      counts.not_scored,
    ])
  })

  test('detects repeats, conflicts and late cycles, of stored cycles and of earlier files', () => {
    const repeat = cycleBody(3)
    const conflicting = cycleBody(1, { removals: [removal('h', 7)] })
    const bodies = [repeat, repeat, { ...repeat, engagement: [reading('g', 1, cycleMs(2))] }, conflicting]
    const paths = [...bodies, cycleBody(2)].map((body, index) => file(`${index}.json`, body))
    const { stdout, status } = run('check', ...paths, '--data-dir', recorded.dataDir, '--json')
    const checked = stdout
      .trimEnd()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as {
            status: number
            error: { fields: object[] } | null
            effect: { effect: string; change: { late: boolean } | null } | null
          },
      )
    expect(checked.map((each) => [each.status, each.effect?.effect, each.effect?.change?.late])).toEqual([
      [200, 'new', false],
      [200, 'repeat', undefined],
      [409, undefined, undefined],
      [409, undefined, undefined],
      [200, 'new', true],
    ])
    expect(checked[2]?.error?.fields).toEqual([{ path: 'engagement', problem: expect.any(String) as string }])
    expect(status).toBe(1)
  })

  test('validates outcomes and weights', () => {
    const weights = { version: 'w2', weights: { views: 0, comments: 0, up: 0, downvote_share: 1 } }
    const outcomes = { outcomes: [{ placement_id: '' }] }
    const { stdout } = run('check', file('w.json', weights), file('o.json', outcomes))
    expect(stdout).toMatch(/: 422 unprocessable: the weights are not usable\n {2}weights: at least one of/)
    expect(stdout).toMatch(/: 400 bad_request: the body does not list valid outcomes\n {2}outcomes\[0\]/)
    const valid = { version: 'w2', weights: { views: 1, comments: 0, up: 0, downvote_share: 1 } }
    const args = ['--data-dir', recorded.dataDir, '--now', cycleBody(4).cycle_time]
    expect(run('check', file('w.json', valid), ...args).stdout).toMatch(
      /: valid weights w2, in force from 2024-/,
    )
  })

  test('refuses a file that cannot be read, and a wrong --now', () => {
    expect(run('check', '/nowhere/x').stderr).toMatch(/^understudy: cannot read \/nowhere\/x: /)
    expect(run('check', 'x', '--now', 'noon').stderr).toContain('--now must be a date-time with an offset')
  })
})
