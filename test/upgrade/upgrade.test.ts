/**
 * The promise of upgrade: what a released program has stored, in a data directory and in a journal, is read or upgraded by every later
 * one. The fixtures are of this version, and the later program is a copy of this one with another layout (later-program.ts).
 *
 * `UPDATE_FIXTURES=1 npx vitest run --project system test/upgrade` writes the fixtures of the current version. Those of a released
 * version never change.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Client } from '../../src/client/index.js'
import { Spool } from '../../src/client/spool.js'
import { databasePath } from '../../src/store/index.js'
import { schemaVersion } from '../../src/store/records/index.js'
import { compileShim, shimImpossible } from '../crash/shim.js'
import { photographs, smallJpeg } from '../harness/jpeg.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { cluster, postgresBin } from '../helpers/journals.js'
import { projectDir } from '../helpers/project.js'
import { executable, ServerProcess } from '../harness/server.js'
import { scratchDir } from '../helpers/servers.js'
import { laterVersion, makeLaterProgram } from './later-program.js'

type Program = readonly [string, ...string[]]

const fixtureDir = join(projectDir, 'test', 'upgrade', `schema-${schemaVersion}`)
const fileFixture = join(fixtureDir, 'understudy.mdb.zst')
const journalFixture = join(fixtureDir, 'journal.sql.zst')
const answersFixture = join(fixtureDir, 'answers.json')
const environment = 'rehearsal'
const cycleCount = 12
const isUpdate = process.env['UPDATE_FIXTURES'] === '1'

const current: Program = [executable]
let later: Program
const programDir = mkdtempSync(join(tmpdir(), 'understudy-later-'))

beforeAll(async () => {
  if (isUpdate) await writeFixtures()
  later = makeLaterProgram(programDir)
}, 120_000)
afterAll(() => rmSync(programDir, { recursive: true, force: true }))

interface Result {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function run([program, ...first]: Program, args: readonly string[], env: NodeJS.ProcessEnv = {}): Result {
  const { status, stdout, stderr } = spawnSync(program, [...first, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  return { status, stdout, stderr }
}

/** The output of a call that succeeds. */
function output(program: Program, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr } = run(program, args, env)
  expect({ status, args }, stderr).toEqual({ status: 0, args })
  return stdout
}

function json(program: Program, args: readonly string[]): Record<string, unknown> {
  return JSON.parse(output(program, [...args, '--json'])) as Record<string, unknown>
}

/** What a data directory must answer, whatever its layout is. */
function answersOf(program: Program, dataDir: string): unknown {
  const at = ['--data-dir', dataDir]
  const { sound, last_cycle_id, head } = json(program, ['verify', '--all-images', ...at])
  const queries = [
    'select count(*) as rows, round(sum(score), 6) as score from scores',
    'select count(*) as visits, count(decided_at) as decided from visits',
    'select count(*) as outcomes, min(placement_id) as first from outcomes',
    'select count(*) as cycles, count(distinct weights_version) as weights from cycles',
  ]
  return {
    verify: { sound, last_cycle_id, head },
    pool: output(program, ['pool', '--digest', ...at]),
    queries: queries.map((query) => output(program, ['sql', query, '--json', ...at])),
  }
}

function notedAnswers(): unknown {
  return JSON.parse(readFileSync(answersFixture, 'utf8'))
}

/** A new data directory of the version of the fixture. */
function oldDirectory(): string {
  const dataDir = scratchDir()
  writeFileSync(databasePath(dataDir), zstdDecompressSync(readFileSync(fileFixture)), { mode: 0o600 })
  return dataDir
}

function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function bodyOf(index: number) {
  const posts = [index * 3 + 1, index * 3 + 2, index * 3 + 3]
  return cycleBody(index, {
    candidates: posts.map((postNo) => candidate('g', postNo)),
    engagement: Array.from({ length: index * 3 }, (_, row) => reading('g', row + 1, cycleMs(index)))
      .slice(-9)
      .concat(posts.map((postNo) => reading('g', postNo, cycleMs(index), { views: postNo * 100 }))),
    removals: index < 3 ? [] : [removal('g', (index - 3) * 3 + 1, { reason: 'saved', tier: 'main' })],
  })
}

async function fill(server: ServerProcess): Promise<void> {
  for (let index = 0; index < cycleCount; index++) {
    expect((await server.postCycle(bodyOf(index))).status).toBe(200)
    if (index === 4)
      await server.call({
        method: 'PUT',
        path: '/v1/weights',
        body: JSON.stringify({
          version: 'second',
          weights: { views: 1, comments: 0, up: 0, downvote_share: 0 },
          note: 'fixture',
        }),
      })
  }
  const image = await smallJpeg(1)
  const headers = { 'content-type': 'image/jpeg' }
  const { status } = await server.call({ method: 'PUT', path: '/v1/images/g/30/01', body: image, headers })
  expect(status).toBe(201)
  const placements = [1, 4, 7].map((postNo) => ({
    ...{ placement_id: `placement-${postNo}`, gall_id: 'g', post_no: postNo, tier: 'main' },
    ...{ placed_at: cycleBody(11).cycle_time, picked_by: { type: 'operator' }, score_at_placement: 0.5 },
    ...{ views_at_placement: 1, up_at_placement: 1, down_at_placement: 0, comment_at_placement: 1 },
    ...{ readings: [], hidden_at: null, deleted_at: null, deleted_by: null },
  }))
  const body = JSON.stringify({ outcomes: placements })
  expect((await server.call({ method: 'POST', path: '/v1/outcomes', body })).status).toBe(200)
}

async function writeFixtures(): Promise<void> {
  mkdirSync(fixtureDir, { recursive: true })
  const server = await new ServerProcess().start()
  await fill(server)
  const copy = join(scratchDir(), 'copy')
  output(current, ['backup', copy, '--data-dir', server.dataDir])
  await server.dispose()
  writeFileSync(fileFixture, zstdCompressSync(readFileSync(databasePath(copy))))
  writeFileSync(answersFixture, `${JSON.stringify(answersOf(current, copy), null, 2)}\n`)
  const url = (await cluster()).createDatabase('fixture')
  const env = { UNDERSTUDY_JOURNAL: url }
  output(current, ['journal', 'migrate'], env)
  output(current, ['journal', 'import', '--environment', environment, '--data-dir', copy], env)
  const dump = execFileSync(join(postgresBin!, 'pg_dump'), ['--no-owner', '--no-privileges', url])
  writeFileSync(journalFixture, zstdCompressSync(dump))
}

const readingCommands: readonly (readonly string[])[] = [
  ['verify'],
  ['pool'],
  ['report'],
  ['explain', 'g', '30'],
  ['sql', 'select 1'],
  ['models', 'compare', 'demo-1', 'transport-test-1'],
]

describe('a data directory', () => {
  test('of this version answers what was noted, and so does its restored copy', () => {
    const dataDir = oldDirectory()
    expect(answersOf(current, dataDir)).toEqual(notedAnswers())
    const restored = join(scratchDir(), 'restored')
    output(current, ['restore', dataDir, '--data-dir', restored])
    expect(answersOf(current, restored)).toEqual(notedAnswers())
  })

  test.each(readingCommands)(
    'of an older version: %s says how to upgrade it, and changes nothing',
    (...command) => {
      const dataDir = oldDirectory()
      const before = hashOf(databasePath(dataDir))
      const { status, stdout, stderr } = run(later, [...command, '--data-dir', dataDir])
      expect(status).not.toBe(0)
      expect(stdout + stderr).toContain(
        `has schema version ${schemaVersion}; this program supports ${laterVersion}. Start the service, which upgrades it, or run \`understudy upgrade\``,
      )
      expect(hashOf(databasePath(dataDir))).toBe(before)
    },
  )

  test('is upgraded by a command, which says before what it will do; the old file is kept', () => {
    const dataDir = oldDirectory()
    const path = databasePath(dataDir)
    const before = hashOf(path)
    const plan = json(later, ['upgrade', '--check', '--data-dir', dataDir])
    expect(plan).toMatchObject({
      ...{ needed: true, from: schemaVersion, to: laterVersion },
      changes: ['outcomes have room for a number'],
    })
    expect(hashOf(path)).toBe(before)
    expect(output(later, ['upgrade', '--data-dir', dataDir])).toContain(`.schema-${schemaVersion}\n`)
    expect(answersOf(later, dataDir)).toEqual(notedAnswers())
    const kept = `${path}.schema-${schemaVersion}`
    expect(hashOf(kept)).toBe(before)
    expect(json(later, ['upgrade', '--check', '--data-dir', dataDir])).toEqual({ needed: false })
    expect(output(later, ['upgrade', '--data-dir', dataDir])).toContain('needs no upgrade')

    // The older program refuses the newer file by its number, and names the way back.
    const { status, stderr } = run(current, ['pool', '--data-dir', dataDir])
    expect(status).toBe(1)
    expect(stderr).toContain(`has schema version ${laterVersion}; this program supports ${schemaVersion}`)
    expect(stderr).toContain(`rename ${kept} to ${path}`)
    renameSync(kept, path)
    expect(answersOf(current, dataDir)).toEqual(notedAnswers())
  })

  test('of more than one transaction is upgraded whole', async () => {
    const dataDir = oldDirectory()
    const picture = await photographs()
    const server = await new ServerProcess({}, { dataDir }).start()
    // 12 MB in 60 images of pending posts.
    for (let number = 0; number < 60; number++) {
      const position = String(1 + Math.floor(number / 3)).padStart(2, '0')
      const path = `/v1/images/g/${33 + (number % 3)}/${position}`
      const headers = { 'content-type': 'image/jpeg' }
      expect((await server.call({ method: 'PUT', path, headers, body: picture(number) })).status).toBe(201)
    }
    await server.kill('SIGTERM')
    const { counts } = json(current, ['verify', '--data-dir', dataDir])
    output(later, ['upgrade', '--data-dir', dataDir])
    const upgraded = json(later, ['verify', '--all-images', '--data-dir', dataDir])
    expect(upgraded).toMatchObject({ sound: true })
    const { image_uses: uses, ...others } = counts as Record<string, number>
    expect(upgraded['counts']).toEqual({ ...others, image_links: uses })
  })

  test('is upgraded when a backup is restored', () => {
    const backup = oldDirectory()
    const dataDir = join(scratchDir(), 'restored')
    output(later, ['restore', backup, '--data-dir', dataDir])
    expect(answersOf(later, dataDir)).toEqual(notedAnswers())
    expect(readdirSync(dataDir)).not.toContain(`understudy.mdb.schema-${schemaVersion}`)
  })

  test('is upgraded by serve, which keeps the old file until a cycle is stored', async () => {
    const dataDir = oldDirectory()
    const kept = `${databasePath(dataDir)}.schema-${schemaVersion}`
    const server = new ServerProcess({}, { dataDir, command: later })
    try {
      await server.start()
      expect(server.log).toMatch(/"from":6,"to":7.*"msg":"the database is being upgraded"/)
      expect(server.log).toContain('the old file is kept until a cycle is stored')
      const repeat = await server.postCycle(bodyOf(cycleCount - 1))
      expect(repeat.status).toBe(200)
      expect(existsSync(kept)).toBe(true)
      expect((await server.postCycle(bodyOf(cycleCount))).status).toBe(200)
      expect(existsSync(kept)).toBe(false)
    } finally {
      await server.dispose()
    }
  })

  test('stays as it was when the new file cannot be written', () => {
    const dataDir = oldDirectory()
    const before = hashOf(databasePath(dataDir))
    const limited: Program = ['sh', '-c', 'ulimit -f 400; exec "$0" "$@"', ...later]
    const { status, stderr } = run(limited, ['upgrade', '--data-dir', dataDir])
    expect(status, stderr).toBe(1)
    expect(stderr).toContain('understudy.mdb.upgrade')
    expect(hashOf(databasePath(dataDir))).toBe(before)
    expect(readdirSync(dataDir).filter((name) => name.includes('.upgrade'))).toEqual([])
    output(later, ['upgrade', '--data-dir', dataDir])
    expect(answersOf(later, dataDir)).toEqual(notedAnswers())
  })

  test.skipIf(shimImpossible)(
    'is whole after a kill at any of twenty points, and the next attempt ends well',
    () => {
      const shim = compileShim('upgrade/native/kill_at.cc', scratchDir())
      const counts = join(scratchDir(), 'count')
      const preload = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ LD_PRELOAD: shim, ...env })
      output(later, ['upgrade', '--data-dir', oldDirectory()], preload({ COUNT_FILE: counts }))
      const callCount = Number(readFileSync(counts, 'utf8'))
      expect(callCount).toBeGreaterThan(20)
      // The last calls exchange the files: each of them, and others at equal distances.
      const points = new Set(Array.from({ length: 10 }, (_, index) => callCount - index))
      for (let index = 0; index < 10; index++) points.add(1 + Math.floor((index * (callCount - 10)) / 10))
      expect(points.size).toBe(20)
      const seen = { old: 0, new: 0 }
      const before = hashOf(databasePath(oldDirectory()))
      for (const point of points) {
        const dataDir = oldDirectory()
        const { status } = run(later, ['upgrade', '--data-dir', dataDir], preload({ KILL_AT: String(point) }))
        expect(status, `killed at call ${point} of ${callCount}`).toBeNull()
        const isOld = hashOf(databasePath(dataDir)) === before
        seen[isOld ? 'old' : 'new']++
        if (!isOld) expect(hashOf(`${databasePath(dataDir)}.schema-${schemaVersion}`)).toBe(before)
        output(later, ['upgrade', '--data-dir', dataDir])
        expect(json(later, ['verify', '--data-dir', dataDir])).toMatchObject({ sound: true })
        expect(readdirSync(dataDir).filter((name) => name.includes('.upgrade'))).toEqual([])
      }
      expect(seen.old).toBeGreaterThan(10)
      expect(seen.new).toBeGreaterThan(0)
    },
    300_000,
  )
})

describe.skipIf(postgresBin === null)('a journal', () => {
  /** A database with the fixture, as environment of a process. */
  async function oldJournal(name: string): Promise<{ UNDERSTUDY_JOURNAL: string }> {
    const servers = await cluster()
    const url = servers.createDatabase(name)
    execFileSync(join(postgresBin!, 'psql'), ['-q', '-v', 'ON_ERROR_STOP=1', url], {
      input: zstdDecompressSync(readFileSync(journalFixture)),
    })
    return { UNDERSTUDY_JOURNAL: url }
  }

  function exported(program: Program, env: NodeJS.ProcessEnv): string {
    const dataDir = join(scratchDir(), 'exported')
    output(program, ['journal', 'export', dataDir, '--environment', environment], env)
    return dataDir
  }

  test('of this version answers what was noted', async () => {
    const env = await oldJournal('same')
    expect(answersOf(current, exported(current, env))).toEqual(notedAnswers())
  })

  test('of an older version is migrated with all its records, and the older program refuses it then', async () => {
    const env = await oldJournal('older')
    const refused = run(later, ['journal', 'status'], env)
    expect(refused.status).toBe(1)
    expect(refused.stderr).toContain(
      `has schema version ${schemaVersion}; this program supports ${laterVersion}`,
    )
    expect(refused.stderr).toContain('Run `understudy journal migrate`')
    const servers = await cluster()
    const entries = (): number =>
      Number(servers.sql('select count(*) from understudy.entry', undefined, 'older'))
    expect(entries()).toBeGreaterThan(0)
    expect(output(later, ['journal', 'migrate'], env)).toContain(
      `migrated from schema version ${schemaVersion} to ${laterVersion}`,
    )
    // What was removed is not known any more: a view whose entry is gone reads everything again.
    expect(entries()).toBe(0)
    expect(answersOf(later, exported(later, env))).toEqual(notedAnswers())
    const old = run(current, ['journal', 'status'], env)
    expect(old.stderr).toContain(`has schema version ${laterVersion}; this program supports ${schemaVersion}`)
    expect(output(later, ['journal', 'migrate'], env)).toContain('already')
  })

  test('an owner of the older program stores nothing after the migration, and the newer one goes on in its directory', async () => {
    const env = { ...(await oldJournal('owned')), UNDERSTUDY_ENVIRONMENT: environment }
    const old = new ServerProcess(env)
    const newer = new ServerProcess(env, { dataDir: old.dataDir, command: later })
    try {
      await old.start()
      expect((await old.postCycle(bodyOf(cycleCount))).status).toBe(200)
      output(later, ['journal', 'migrate'], env)
      expect((await old.postCycle(bodyOf(cycleCount + 1))).status).toBe(503)
      await old.logged(`has schema version ${laterVersion}; this program supports ${schemaVersion}`)
      await old.kill('SIGTERM')
      await newer.start()
      // The cycle that the old owner stored, and the one that it could not store.
      expect((await newer.postCycle(bodyOf(cycleCount))).status).toBe(200)
      expect((await newer.postCycle(bodyOf(cycleCount + 1))).status).toBe(200)
    } finally {
      await newer.dispose()
      await old.dispose()
    }
  })
})

test('a spool of schema 1 is delivered: its bytes are sent as they are', async () => {
  const directory = join(scratchDir(), 'spool')
  cpSync(join(projectDir, 'test', 'upgrade', 'spool-1'), directory, { recursive: true })
  const name = '20260302T1200'
  const bytes = readFileSync(join(directory, `${name}.json`))
  const server = await new ServerProcess().start()
  try {
    const client = new Client({ url: `http://127.0.0.1:${server.port}`, apiKey: server.key })
    const answered: string[] = []
    const spool = await Spool.open({
      client,
      directory,
      onResponse: ({ cycle_id }) => void answered.push(cycle_id),
    })
    await spool.deliver()
    await spool.close()
    expect(answered).toEqual([name])
    expect(readdirSync(directory)).not.toContain(`${name}.json`)
    // The service has exactly these bytes: a repeat of them is recognised, and other bytes of this id would be a conflict.
    const repeat = await server.call({ method: 'POST', path: '/v1/cycles', body: bytes })
    expect(repeat.status).toBe(200)
    await server.logged('cycle repeated')
  } finally {
    await server.dispose()
  }
})

describe('a renamed setting', () => {
  const warning = (label: string): string =>
    `warning: ${label}: this setting is called logLevel now; the next version refuses the old name`
  const logLevelOf = ({ stdout }: Result): unknown =>
    (JSON.parse(stdout) as Record<string, { value: unknown }>)['logLevel']?.value

  test('is accepted under its old name in each source, with a warning', () => {
    const file = join(scratchDir(), 'settings.json')
    writeFileSync(file, JSON.stringify({ verbosity: 'debug' }), { mode: 0o600 })
    const calls: [string, string[], NodeJS.ProcessEnv][] = [
      ['--verbosity', ['--verbosity', 'debug'], {}],
      ['UNDERSTUDY_VERBOSITY', [], { UNDERSTUDY_VERBOSITY: 'debug' }],
      [`${file}:verbosity`, ['--config', file], {}],
    ]
    for (const [label, args, env] of calls) {
      const result = run(later, ['config', '--json', ...args], env)
      expect(result.stderr).toContain(warning(label))
      expect(logLevelOf(result)).toBe('debug')
    }
    expect(run(later, ['config', '--log-level', 'debug']).stderr).not.toContain('old name')
    expect(run(current, ['config', '--config', file]).stderr).toContain('unknown setting "verbosity"')
  })

  test('is refused under both names in one source; another source may have the new one', () => {
    const both = run(later, ['config', '--verbosity', 'debug', '--log-level', 'debug'])
    expect(both).toMatchObject({ status: 2 })
    expect(both.stderr).toContain('--verbosity is the old name of --log-level: give only the new one')
    const apart = run(later, ['config', '--json', '--log-level', 'warn'], { UNDERSTUDY_VERBOSITY: 'debug' })
    expect(logLevelOf(apart)).toBe('warn')
  })
})
