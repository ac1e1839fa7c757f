/**
 * `understudy models` as a real process: what is printed, which files are written, exit codes.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../../test/helpers/bodies.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { picture, scratchDir } from '../../../test/helpers/servers.js'
import { referenceCodec } from '../../codec/index.js'
import { CycleService, StageClock } from '../../cycle/index.js'
import { catalogue, manifestSchemaText, type GoldenFile, type Manifest } from '../../model/index.js'
import { databasePath, openLmdbStore } from '../../store/index.js'
import { packageDirectory } from '../package-info.js'

const understudy = join(packageDirectory, 'bin', 'understudy')
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('UNDERSTUDY_')),
)

/** A directory of models with `v1`, a copy of the transport test. */
let modelsDir: string

beforeEach(() => {
  modelsDir = join(scratchDir(), 'models')
  mkdirSync(modelsDir)
  addVersion('v1')
})

describe('list', () => {
  test('shows every package in one line, and which of them score', () => {
    addVersion('v2')
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
    writeFileSync(join(modelsDir, 'SHADOW'), 'v2\n')
    const { status, stdout, stderr } = models('list')
    expect(stderr).toContain('/v1/health of a server says which model scores')
    expect(stdout).toMatch(
      /\nactive {2}v1 +transport-test +64 +78 KiB {2}p_views, p_comments, p_up, downvote_share\n/,
    )
    expect(stdout).toMatch(/\nshadow {2}v2 +transport-test/)
    expect(status).toBe(0)
    expect(models().stdout).toBe(stdout)
  })

  test('is not destroyed by one bad package, and hashes nothing', () => {
    change('v1', { features: ['luck'] })
    addVersion('v2')
    writeFileSync(join(modelsDir, 'v2', 'head.onnx'), 'something else')
    const { status, stdout, stderr } = models('list')
    expect(stdout).toMatch(/\n {2}v1 +not sound\n/)
    expect(stdout).toMatch(/\n {2}v2 +transport-test/)
    expect(stdout).toMatch(/\n\nv1 is not sound: .*features that the catalogue lacks: luck\n$/)
    expect(stderr).toContain('no model is active')
    expect(stderr).toContain('models verify <version>` hashes the files and runs the model')
    expect(status).toBe(0)
  })

  test('tells of versions that ACTIVE and SHADOW name and that are not there, and what to do', () => {
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v0\n')
    writeFileSync(join(modelsDir, 'SHADOW'), 'v1\nv8\nv9\n')
    const remarks =
      `understudy: ACTIVE names v0, which ${modelsDir} lacks: deliver the package, or run ` +
      '`understudy models activate <version>` with what is there\n' +
      `understudy: SHADOW names v8, v9, which ${modelsDir} lacks: deliver the package, or run ` +
      '`understudy models shadow <versions>` with what is there\n'
    const { status, stdout, stderr } = models('list')
    expect(stdout).toMatch(/\nshadow {2}v1 +transport-test/)
    expect(stderr.startsWith(remarks)).toBe(true)
    expect(status).toBe(0)
    expect(models('list', '--json').stderr).toBe(remarks)
    expect(models('list', '--json', '--models-dir', modelsDir).stderr).toContain(
      `\`understudy models activate <version> --models-dir ${modelsDir}\` `,
    )
  })

  test('as JSON holds the same', () => {
    expect(JSON.parse(models('list', '--json').stdout)).toEqual([
      {
        version: 'v1',
        role: null,
        kind: 'transport-test',
        provenance: { trained_on: 'nothing' },
        feature_count: 64,
        reads: [],
        heads: ['p_views', 'p_comments', 'p_up', 'downvote_share'],
        bytes: expect.any(Number) as number,
        problem: null,
      },
    ])
  })

  test('of an empty directory fails', () => {
    rmSync(join(modelsDir, 'v1'), { recursive: true })
    const { status, stderr } = models('list')
    expect(stderr).toContain('there is no model package in')
    expect(status).toBe(1)
  })
})

describe('verify', () => {
  test('of a sound package prints a line a check, and ends with 0', () => {
    const { status, stdout } = models('verify', 'v1')
    expect(stdout).toMatch(/^PASS {2}manifest {5}A transport test, not a trained model, with 64 features/)
    expect(stdout).toMatch(/\nPASS {2}golden {7}5 golden cases: /)
    expect(stdout).toMatch(/\nSKIP {2}text {9}The model reads no texts\.\n/)
    expect(stdout).toMatch(
      /\n\nv1 is sound, served by cpu, and is a transport test: its scores mean nothing\.\n$/,
    )
    expect(status).toBe(0)
  })

  test('without a version is of the active one', () => {
    expect(models('verify').stderr).toMatch(/ACTIVE does not exist/)
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
    expect(models('verify').stdout).toContain('v1 is sound')
  })

  test('of one that is not sound names what failed, and ends with 1', () => {
    writeFileSync(join(modelsDir, 'v1', 'head.onnx'), 'something else')
    const { status, stdout, stderr } = models('verify', 'v1')
    expect(stdout).toMatch(/\nFAIL {2}files {8}.*head\.onnx/)
    expect(stderr).toBe('understudy: v1 does not pass: files failed.\n')
    expect(stdout).not.toContain('does not pass')
    expect(status).toBe(1)
  })

  test('as JSON is the report', () => {
    const { status, stdout } = models('verify', 'v1', '--json')
    const report = JSON.parse(stdout) as { checks: object[] }
    expect(report).toMatchObject({ version: 'v1', kind: 'transport-test', provider: 'cpu', passed: true })
    expect(report.checks[0]).toMatchObject({ check: 'manifest', state: 'pass' })
    expect(status).toBe(0)
  })

  test('with a provider that is not here says that it cannot serve, and ends with 1', () => {
    const { status, stdout } = models('verify', 'v1', '--provider', 'abacus')
    expect(stdout).toMatch(/\nFAIL {2}provider {5}abacus cannot serve this model on this machine/)
    expect(status).toBe(1)
  })

  test.each([
    [['--tolerance', '0.1'], '--tolerance is for the comparison that --provider asks for'],
    [['--provider', 'cuda', '--tolerance', '0'], '--tolerance must be above 0 and at most 1, not 0'],
  ])('with %j is called wrongly', (flags, message) => {
    const { status, stderr } = models('verify', 'v1', ...flags)
    expect(stderr).toContain(message)
    expect(status).toBe(2)
  })
})

describe('inspect', () => {
  test('shows what the package and its graphs say of themselves', () => {
    const { status, stdout } = models('inspect', 'v1')
    expect(stdout).toMatch(/^version {7}v1\n/)
    expect(stdout).toContain('\ninput         features: float32 [N, 64]\n')
    expect(stdout).toContain('\noutput        probs: float32 [N, 4]\n')
    expect(status).toBe(0)
  })

  test('shows a graph that is none, and goes on', () => {
    writeFileSync(join(modelsDir, 'v1', 'head.onnx'), 'something else')
    expect(models('inspect', 'v1').stdout).toMatch(/\nproblem {7}.*head\.onnx is not an ONNX model/)
  })

  test('shows the SHA-256 of a file as it is, and whether the manifest says the same', () => {
    const file = join(modelsDir, 'v1', 'head.onnx')
    const before = sha256(readFileSync(file))
    expect(models('inspect', 'v1').stdout).toContain(`\nSHA-256       ${before}, as the manifest says\n`)
    writeFileSync(file, 'something else')
    const { stdout } = models('inspect', 'v1')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      ` SHA-256 ${sha256('something else')}, and the manifest says ${before} `,
    )
  })

  test('of a file alone needs no manifest', () => {
    const file = join(modelsDir, 'v1', 'head.onnx')
    const { status, stdout } = models('inspect', file)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`SHA-256 ${sha256(readFileSync(file))} input features:`)
    expect(stdout).toContain('\ninput         features: float32 [N, 64]\n')
    expect(status).toBe(0)
    expect(models('inspect', file, '--json').stdout).toContain('"dtype": "float32"')
    writeFileSync(file, 'something else')
    expect(models('inspect', file)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('not an ONNX model') as string,
    })
    expect(models('inspect', 'nothing.onnx')).toMatchObject({ status: 1, stdout: '' })
  })

  test('as JSON holds the manifest, its identity and the graphs', () => {
    const view = JSON.parse(models('inspect', 'v1', '--json').stdout) as {
      identity: string
      graphs: object[]
    }
    expect(view.identity).toMatch(/^[0-9a-f]{64}$/)
    expect(view.graphs).toMatchObject([
      { place: 'head', graph: { inputs: [{ name: 'features', shape: ['N', 64] }] } },
    ])
  })
})

describe('activate', () => {
  test('verifies, writes ACTIVE and says how to go back', () => {
    addVersion('v2')
    expect(models('activate', 'v1').stdout).toMatch(
      /\nv1 is active\. A server that runs loads it now and switches between two cycles; .*serves\.\n$/,
    )
    expect(readFileSync(join(modelsDir, 'ACTIVE'), 'utf8')).toBe('v1\n')
    const { status, stdout } = models('activate', 'v2')
    expect(stdout).toContain(' The way back: `understudy models activate v1`.\n')
    expect(status).toBe(0)
  })

  test('prints a way back that leads to the same directories, whatever the environment says', async () => {
    const place = join(scratchDir(), "owner's $HOME")
    const dataDir = join(place, 'data')
    await (await openLmdbStore({ dataDir })).close()
    addVersion('v2')
    cpSync(modelsDir, join(place, 'models'), { recursive: true })
    const active = join(place, 'models', 'ACTIVE')
    writeFileSync(active, 'v1\n')
    const { stdout } = models('activate', 'v2', '--models-dir', join(place, 'models'), '--data-dir', dataDir)
    expect(readFileSync(active, 'utf8')).toBe('v2\n')
    const [, back] = / The way back: `understudy (.*)`\.\n$/.exec(stdout) ?? []
    const wentBack = spawnSync('sh', ['-c', `"$0" ${back}`, understudy], {
      encoding: 'utf8',
      env: modelsEnvironment(),
    })
    expect(wentBack).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(active, 'utf8')).toBe('v1\n')
    expect(existsSync(join(modelsDir, 'ACTIVE'))).toBe(false)
  })

  test('writes a file that a server of another user can read, under any umask', () => {
    const { status } = spawnSync('sh', ['-c', 'umask 077; "$0" models activate v1', understudy], {
      env: modelsEnvironment(),
    })
    expect(status).toBe(0)
    expect(statSync(join(modelsDir, 'ACTIVE')).mode & 0o777).toBe(0o644)
  })

  test('leaves ACTIVE alone where the package is not sound', () => {
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v0\n')
    writeFileSync(join(modelsDir, 'v1', 'golden.json'), '{}')
    const { status, stderr } = models('activate', 'v1')
    expect(stderr).toContain('v1 does not pass: files failed.')
    expect(status).toBe(1)
    expect(readFileSync(join(modelsDir, 'ACTIVE'), 'utf8')).toBe('v0\n')
  })
})

const notChecked = 'Not checked: whether a server has loaded v1 with other files'
const noDatabase = new RegExp(`^${notChecked}\\. There is no database in /.*/data; --data-dir .*\\n$`)
const unread = (why: string): RegExp =>
  new RegExp(`^${notChecked}\\. The data in /.*/data cannot be read: .*${why}.*\\n$`)
const write = (dataDir: string, content: string): void => {
  mkdirSync(dataDir)
  writeFileSync(databasePath(dataDir), content)
}

describe.each([
  ['activate', 'ACTIVE'],
  ['shadow', 'SHADOW'],
])('%s', (command, file) => {
  test('refuses a version that a server has loaded with other files, beside a server that runs', async () => {
    const dataDir = join(scratchDir(), 'data')
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', 'another')
    const { status, stderr } = models(command, 'v1', '--data-dir', dataDir)
    expect(stderr).toBe(
      'understudy: the files of v1 are not those that a server has loaded under this name; deliver these under another version\n',
    )
    expect(status).toBe(1)
    expect(existsSync(join(modelsDir, file))).toBe(false)
    addVersion('v2')
    expect(models(command, 'v2', '--data-dir', dataDir)).toMatchObject({ status: 0, stderr: '' })
    await store.close()
  })

  test.each<[string, (dataDir: string) => void, RegExp]>([
    ['no data directory', () => undefined, noDatabase],
    ['an empty file, which `serve` takes for new', (dataDir) => write(dataDir, ''), noDatabase],
    [
      'a file that is no database',
      (dataDir) => write(dataDir, 'x'.repeat(100_000)),
      unread('is not a database'),
    ],
    [
      'a file that cannot be looked at',
      (dataDir) => {
        mkdirSync(dataDir)
        symlinkSync('understudy.mdb', databasePath(dataDir))
      },
      unread('ELOOP'),
    ],
  ])('with %s says that this was not checked, and goes on', (_, make, remark) => {
    const dataDir = join(scratchDir(), 'data')
    make(dataDir)
    const { status, stderr } = models(command, 'v1', '--data-dir', dataDir)
    expect(stderr).toMatch(remark)
    expect(status).toBe(0)
    expect(readFileSync(join(modelsDir, file), 'utf8')).toBe('v1\n')
  })

  test('with a damaged database says that this was not checked, and goes on', async () => {
    const dataDir = join(scratchDir(), 'data')
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', 'another')
    await store.close()
    truncateSync(databasePath(dataDir), 8192)
    const { status, stderr } = models(command, 'v1', '--data-dir', dataDir)
    expect(stderr).toMatch(unread('is damaged'))
    expect(status).toBe(0)
  })

  test('takes the files that a server has loaded under the name', async () => {
    const dataDir = join(scratchDir(), 'data')
    const { identity } = JSON.parse(models('inspect', 'v1', '--json').stdout) as { identity: string }
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', identity)
    await store.close()
    expect(models(command, 'v1', '--data-dir', dataDir)).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(join(modelsDir, file), 'utf8')).toBe('v1\n')
  })
})

describe('shadow', () => {
  test('verifies versions and writes them one a line; --none takes them away', () => {
    addVersion('v2')
    const { status, stdout } = models('shadow', 'v2', 'v1')
    expect(stdout).toMatch(/\nv2, v1 score every cycle after its answer, .*\n$/)
    expect(status).toBe(0)
    expect(readFileSync(join(modelsDir, 'SHADOW'), 'utf8')).toBe('v2\nv1\n')
    expect(models('shadow').stdout).toBe('v2\nv1\n')
    models('shadow', '--none')
    expect(readFileSync(join(modelsDir, 'SHADOW'), 'utf8')).toBe('')
    expect(models('shadow').stdout).toBe('No model is a shadow.\n')
  })

  test.each([
    [['v1'], 'v1 is the active model; a shadow is another one'],
    [['v2', 'v2'], 'a version is named twice'],
    [['--none', 'v2'], '--none and versions exclude each other'],
  ])('%j is called wrongly', (args, message) => {
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
    const { status, stderr } = models('shadow', ...args)
    expect(stderr).toContain(message)
    expect(status).toBe(2)
    expect(existsSync(join(modelsDir, 'SHADOW'))).toBe(false)
  })

  test('one that is not sound leaves SHADOW alone', () => {
    addVersion('v2')
    writeFileSync(join(modelsDir, 'v2', 'head.onnx'), '')
    expect(models('shadow', 'v1', 'v2').status).toBe(1)
    expect(existsSync(join(modelsDir, 'SHADOW'))).toBe(false)
  })
})

describe('golden', () => {
  test('records cases of a stored cycle, which the model then passes', async () => {
    const dataDir = await servedDirectory(7)
    const { status, stdout, stderr } = models(
      'golden',
      'v1',
      '--data-dir',
      dataDir,
      '--cycle',
      cycleId,
      '--force',
    )
    expect(stderr).toMatch(
      /7 cases of cycle .* in place of its golden member; until then the package is not sound:\n/,
    )
    expect(status).toBe(0)
    const file = readFileSync(join(modelsDir, 'v1', 'golden.json'))
    const line = JSON.parse(`{${stdout}}`) as Pick<Manifest, 'golden'>
    expect(line.golden).toEqual({
      file: 'golden.json',
      sha256: sha256(file),
    })
    const { cases } = JSON.parse(file.toString()) as GoldenFile
    expect(cases[0]?.name).toBe(`${cycleId} g/1`)
    expect(cases[6]?.features['views_log']).toBeCloseTo(Math.log1p(700), 5)
    change('v1', line)
    expect(models('verify', 'v1').stdout).toMatch(
      /\nPASS {2}golden {7}7 golden cases: the largest difference of a head is [\d.e-]+, and may/,
    )
  })

  test('keeps what encoders have read: records in the cases, pictures as files of the package', async () => {
    rmSync(join(modelsDir, 'v1'), { recursive: true })
    addVersion('v1', 'example-1')
    const dataDir = await servedDirectory(2, [2])
    const { stdout, status } = models('golden', 'v1', '--data-dir', dataDir, '--cycle', cycleId, '--force')
    expect(status).toBe(0)
    const { cases } = JSON.parse(readFileSync(join(modelsDir, 'v1', 'golden.json'), 'utf8')) as GoldenFile
    expect(cases.map(({ record }) => record)).toEqual([{ title: '제목 1 ㅋㅋ' }, { title: '제목 2 ㅋㅋ' }])
    expect(cases.map(({ images }) => images?.map(({ file }) => file))).toEqual([
      undefined,
      ['golden/2-1.jpg'],
    ])
    expect(cases[1]?.features).toMatchObject({ text_encoded: 1, images_encoded_share: 1 })
    change('v1', JSON.parse(`{${stdout}}`) as object)
    expect(models('verify', 'v1').stdout).toMatch(/\nPASS {2}golden {7}2 golden cases: /)
    writeFileSync(join(modelsDir, 'v1', 'golden', '2-1.jpg'), await picture(200))
    expect(models('verify', 'v1').stdout).toMatch(/\nFAIL {2}golden {7}.*2-1\.jpg has SHA-256/)
  })

  test('takes as many cases as asked for, spread over the cycle', async () => {
    const dataDir = await servedDirectory(7)
    models('golden', 'v1', '--data-dir', dataDir, '--cycle', cycleId, '--force', '--cases', '2')
    const { cases } = JSON.parse(readFileSync(join(modelsDir, 'v1', 'golden.json'), 'utf8')) as GoldenFile
    expect(cases.map(({ name }) => name)).toEqual([`${cycleId} g/1`, `${cycleId} g/4`])
  })

  test.each<[string, string[], number, RegExp]>([
    ['a file that is there', ['--cycle', 'x'], 1, /golden\.json is there already; --force replaces it/],
    [
      'a directory that is not there',
      ['--cycle', 'x', '--force', '--data-dir', '/nowhere'],
      2,
      /\/nowhere is not there/,
    ],
    ['no cases', ['--cycle', 'x', '--cases', '0'], 2, /--cases must be a whole number from 1 to 1000, not 0/],
    ['no cycle', [], 2, /required option '--cycle <id>'/],
  ])('refuses %s', (_, flags, code, message) => {
    const { status, stderr } = models('golden', 'v1', ...flags)
    expect(stderr).toMatch(message)
    expect(status).toBe(code)
  })

  test('refuses a cycle that is not stored', async () => {
    const dataDir = await servedDirectory(1)
    const args = ['golden', 'v1', '--force', '--data-dir', dataDir, '--cycle']
    expect(models(...args, '20200101T0000').stderr).toContain(
      `there is no cycle 20200101T0000 in the data directory: by arrival, the first that it has is ${cycleId}, the last ${cycleId}`,
    )
  })

  test('reads a directory that a server uses', async () => {
    const dataDir = await servedDirectory(1)
    const store = await openLmdbStore({ dataDir })
    expect(models('golden', 'v1', '--force', '--data-dir', dataDir, '--cycle', cycleId).status).toBe(0)
    await store.close()
  })
})

describe('features', () => {
  test('lists the catalogue, with formulas', () => {
    const { stdout, stderr } = models('features')
    expect(stdout).toMatch(/\ncounters +views_log +0 +log\(views\)\n/)
    expect(stderr).toContain('log(x) is the natural logarithm of 1 + x')
    expect((JSON.parse(models('features', '--json').stdout) as object[]).length).toBe(
      stdout.trim().split('\n').length - 2,
    )
  })
})

describe('matrix', () => {
  test('writes a line a scored post, which reads as the very values that the model saw', async () => {
    const dataDir = await servedDirectory(3)
    const out = join(scratchDir(), 'matrix.csv')
    const flags = [
      '--data-dir',
      dataDir,
      '--from',
      cycleId,
      '--out',
      out,
      '--features',
      'views_log,previous_minutes_log',
    ]
    const { status, stdout } = models('matrix', ...flags, '--missing', 'nan')
    expect(stdout).toBe(`3 rows of 2 features are in ${out}\n`)
    expect(status).toBe(0)
    const log = (views: number) => String(Number(Math.fround(Math.log1p(views)).toPrecision(9)))
    expect(readFileSync(out, 'utf8').split('\n')).toEqual([
      'cycle_id,gall_id,post_no,views_log,previous_minutes_log',
      `${cycleId},g,1,${log(100)},`,
      `${cycleId},g,2,${log(200)},`,
      `${cycleId},g,3,${log(300)},`,
      '',
    ])
    expect(models('matrix', ...flags).stderr).toContain(`cannot write ${out}`)
  })

  test('has all features when none are named', async () => {
    const dataDir = await servedDirectory(1)
    const out = join(scratchDir(), 'matrix.csv')
    models('matrix', '--data-dir', dataDir, '--from', cycleId, '--to', cycleId, '--out', out)
    const [head = '', row = ''] = readFileSync(out, 'utf8').split('\n')
    expect(head.split(',')).toEqual(['cycle_id', 'gall_id', 'post_no', ...catalogue.map(({ name }) => name)])
    expect(row.split(',')).toHaveLength(head.split(',').length)
  })

  test.each([
    [['--features', 'luck'], 'the catalogue has no feature "luck"'],
    [['--missing', 'zero'], '--missing must be imputed or nan'],
  ])('with %j is called wrongly', (flags, message) => {
    const { status, stderr } = models('matrix', '--from', cycleId, '--out', '/nowhere/x', ...flags)
    expect(stderr).toContain(message)
    expect(status).toBe(2)
  })
})

describe('compare', () => {
  const table = (stdout: string, head: string): string[] => {
    const lines = stdout.split('\n')
    const from = lines.findIndex((line) => line.startsWith(head))
    return lines.slice(from, lines.indexOf('', from))
  }

  test('says how far two models agree, where their scores came from, and which posts move most', async () => {
    const dataDir = await servedDirectory(12, [], (post) => 37 * post)
    const { status, stdout, stderr } = models('compare', 'fake-1', 'v1', '--data-dir', dataDir)
    expect(status, stderr).toBe(0)
    expect(stderr).toContain('v1 did not score 1 of 1 cycles, and does so now.\n')
    expect(stdout).toMatch(
      /^fake-1 \(A\) and v1 \(B\) in cycle 20240301T0000: 12 scores each, of 12 posts\.\n/,
    )
    expect(stdout).toMatch(/\nDistinct scores: 12 of A, 12 of B\.\n\n/)
    expect(stdout).toMatch(/\nrank correlation +-?[01]\.\d{3} +-?[01]\.\d{3}\n/)
    expect(stdout).toMatch(/\nshared among the best 10 +– +\d+ %\n/)
    expect(stdout).toMatch(/\nshared among the best 50 +– +–\n/)
    expect(stdout).toMatch(
      /\nmean difference, B − A( +-?\d\.\d{4}){2}\nmean absolute difference( +\d\.\d{4}){2}\n/,
    )
    const [head, , ...rows] = table(stdout, 'scores ')
    expect(head).toMatch(/^scores +mean +least +10 % +25 % +median +75 % +90 % +most$/)
    expect(rows.map((row) => row.split(/ +/)[0])).toEqual(['fake-1', 'v1'])
    expect(table(stdout, 'cycles scored by').slice(2)).toEqual([
      expect.stringMatching(/^fake-1 +1 +0 +0$/),
      expect.stringMatching(/^v1 +0 +0 +1$/),
    ])
    expect(table(stdout, 'largest movers')[2]).toMatch(
      /^g\/\d+ +20240301T0000 +[\d.]+ → [\d.]+ of 12 +[\d.]+ → [\d.]+ +제목 \d+ ㅋㅋ$/,
    )
  })

  test('as JSON holds the same and more, with the server running', async () => {
    const dataDir = await servedDirectory(3, [], (post) => 37 * post)
    const store = await openLmdbStore({ dataDir })
    const flags = ['--data-dir', dataDir, '--from', cycleId, '--to', cycleId, '--json']
    const { stdout, status } = models('compare', 'v1', 'fake-1', ...flags)
    await store.close()
    expect(status).toBe(0)
    const comparison = JSON.parse(stdout) as Record<string, unknown>
    expect(comparison).toMatchObject({
      first: 'v1',
      second: 'fake-1',
      cycles: { count: 1, from: cycleId, to: cycleId, without_scored_posts: 0 },
      scores: 3,
      posts: 3,
      lacking_heads: { first: [], second: [] },
      sources: {
        first: { response: 0, shadow: 0, replay: 1 },
        second: { response: 1, shadow: 0, replay: 0 },
      },
      pooled: { overlap: { 10: null, 50: null, 100: null }, second: { distinct_scores: 3 } },
      per_cycle: [{ cycle_id: cycleId, posts: 3, first_source: 'replay', second_source: 'response' }],
    })
    const { pooled, median } = comparison as Record<'pooled' | 'median', { rank_correlation: number }>
    expect(median.rank_correlation).toBe(pooled.rank_correlation)
  })

  test('finds no agreement and no movers where a version gives one score to all posts', async () => {
    const dataDir = await servedDirectory(12, [], () => 37)
    const { stdout, status } = models('compare', 'fake-1', 'v1', '--data-dir', dataDir)
    expect(status).toBe(0)
    expect(stdout).toMatch(/\nDistinct scores: 1 of A, \d+ of B\.\n/)
    expect(stdout).toMatch(/\nrank correlation +– +–\nshared among the best 10 +– +–\n/)
    expect(stdout).not.toContain('largest movers')
  })

  test('counts a post once, however many cycles score it, and names the heads that a version lacks', async () => {
    const weights = { views: 1, comments: 0, up: 1, downvote_share: 1 }
    const dataDir = await servedDirectory(3, [], (post) => 37 * post, { cycles: 2, weights })
    const flags = ['--data-dir', dataDir]
    const { stdout, stderr } = models('compare', 'fake-1', 'v1', ...flags)
    expect(stdout, stderr).toMatch(/2 cycles from \S+ to \S+: 6 scores each, of 3 posts\.\n/)
    expect(stdout).toContain(
      '\nfake-1 has no p_up, downvote_share, whose weights count for nothing in its scores.\n\n',
    )
    expect(JSON.parse(models('compare', 'v1', 'fake-1', '--json', ...flags).stdout)).toMatchObject({
      scores: 6,
      posts: 3,
      lacking_heads: { first: [], second: ['p_up', 'downvote_share'] },
    })
  })

  test('refuses to replay a version whose files are not those that a server has loaded under its name', async () => {
    const dataDir = await servedDirectory(1)
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', 'another')
    await store.close()
    const { status, stderr } = models('compare', 'v1', 'fake-1', '--data-dir', dataDir)
    expect(stderr).toContain('the files of v1 are not those that a server has loaded under this name')
    expect(status).toBe(1)
  })

  test('needs a package of those versions alone that must score now', async () => {
    const dataDir = await servedDirectory(1)
    const { stderr, status } = models('compare', 'fake-1', 'fake-2', '--data-dir', dataDir)
    expect(stderr).toMatch(/^understudy: fake-2: .*manifest\.json does not exist\n$/m)
    expect(status).toBe(1)
  })

  test.each<[string[], number, RegExp]>([
    [['v1', 'v1'], 2, /v1 cannot be compared with itself/],
    [['v1', 'v2', '--cycles', '0'], 2, /--cycles must be a whole number from 1 to \d+, not 0/],
    [['v1', 'v2', '--cycles', '3', '--from', 'x'], 2, /--cycles and --from exclude each other/],
    [['v1', 'v2', '--to', 'x'], 2, /--to needs --from/],
    [['v1', 'v2', '--data-dir', '/nowhere'], 2, /\/nowhere is not there/],
    [['v1'], 2, /missing required argument/],
  ])('refuses %j', (args, code, message) => {
    const { status, stderr } = models('compare', ...args)
    expect(stderr).toMatch(message)
    expect(status).toBe(code)
  })

  test('refuses a directory without cycles, and a cycle that is not stored', async () => {
    const dataDir = await servedDirectory(1)
    const args = ['compare', 'v1', 'fake-1', '--data-dir']
    expect(models(...args, dataDir, '--from', '20200101T0000').stderr).toContain(
      'there is no cycle 20200101T0000',
    )
    const empty = join(scratchDir(), 'data')
    await (await openLmdbStore({ dataDir: empty })).close()
    expect(models(...args, empty).stderr).toContain('no cycle is stored in the data directory')
  })
})

test('schema prints the JSON schema of manifests', () => {
  expect(models('schema').stdout).toBe(manifestSchemaText())
})

const cycleId = cycleBody(0).cycle_id

/**
 * A data directory with one cycle, or more, of the same `count` scored posts: post n has 100 n views unless told
 * otherwise, some a picture.
 */
async function servedDirectory(
  count: number,
  pictured: readonly number[] = [],
  viewsOf = (post: number): number => 100 * post,
  { cycles = 1, weights = { views: 1, comments: 0, up: 0, downvote_share: 0 } } = {},
): Promise<string> {
  const dataDir = join(scratchDir(), 'data')
  const store = await openLmdbStore({ dataDir })
  for (const postNo of pictured) {
    const normalised = await picture(postNo)
    const image = { sha256: new Uint8Array(32), uploadedBytes: 1, width: 64, height: 48, normalised }
    await store.putImage({ gallId: 'g', postNo, position: 1 }, image)
  }
  const service = await CycleService.open({
    codec: referenceCodec,
    store,
    model: () => new FakeModel(),
    clock: () => cycleMs(cycles),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights },
    log: { warn: () => undefined, error: () => undefined },
  })
  const posts = Array.from({ length: count }, (_, index) => index + 1)
  for (let index = 0; index < cycles; index++) {
    const entering = index === 0 ? posts : []
    const cycle = cycleBody(index, {
      candidates: entering.map((postNo) =>
        candidate('g', postNo, { images_in_post: pictured.includes(postNo) ? 1 : 0 }),
      ),
      engagement: posts.map((postNo) => reading('g', postNo, cycleMs(index), { views: viewsOf(postNo) })),
    })
    await service.submit({ json: bytesOf(cycle), gzip: null }, cycleMs(cycles), new StageClock(0))
  }
  await service.close()
  await store.close()
  return dataDir
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

function addVersion(version: string, shipped = 'transport-test-1'): void {
  cpSync(join(packageDirectory, 'models', shipped), join(modelsDir, version), { recursive: true })
  change(version, { model_version: version })
}

function change(version: string, members: object): void {
  const file = join(modelsDir, version, 'manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...manifest, ...members }))
}

function models(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(understudy, ['models', ...args], {
    encoding: 'utf8',
    env: modelsEnvironment(),
  })
}

function modelsEnvironment(): NodeJS.ProcessEnv {
  return { ...environment, UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_DATA_DIR: join(modelsDir, '../none') }
}
