/**
 * `understudy models golden`, `matrix` and `compare` as processes, on data directories with stored cycles.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../../test/helpers/bodies.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import {
  addVersion,
  changeManifest,
  models,
  modelsDir,
  sha256,
} from '../../../test/helpers/models-command.js'
import { smallJpeg } from '../../../test/harness/jpeg.js'
import { scratchDir } from '../../../test/helpers/servers.js'
import { CycleService, StageClock, RequestBody } from '../../cycle/index.js'
import { catalogue, type GoldenFile, type Manifest } from '../../model/index.js'
import { openLmdbStore } from '../../store/index.js'

describe('golden', () => {
  test('writes cases of a stored cycle that the model passes', async () => {
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
      /^7 cases of cycle .* written to .*golden\.json\. Replace this member of manifest\.json:\n$/,
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
    expect(cases[6]?.features?.['views_log']).toBeCloseTo(Math.log1p(700), 5)
    changeManifest('v1', line)
    expect(models('verify', 'v1').stdout).toMatch(
      /\nPASS {2}golden {7}7 golden cases: the largest difference of a head is [\d.e-]+; the tolerance is/,
    )
  })

  test('writes the inputs of encoders: records into the cases, images as files of the package', async () => {
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
    changeManifest('v1', JSON.parse(`{${stdout}}`) as object)
    expect(models('verify', 'v1').stdout).toMatch(/\nPASS {2}golden {7}2 golden cases: /)
    writeFileSync(join(modelsDir, 'v1', 'golden', '2-1.jpg'), await smallJpeg(200))
    expect(models('verify', 'v1').stdout).toMatch(/\nFAIL {2}golden {7}.*2-1\.jpg has SHA-256/)
  })

  test('writes the given number of cases, spread over the cycle', async () => {
    const dataDir = await servedDirectory(7)
    models('golden', 'v1', '--data-dir', dataDir, '--cycle', cycleId, '--force', '--cases', '2')
    const { cases } = JSON.parse(readFileSync(join(modelsDir, 'v1', 'golden.json'), 'utf8')) as GoldenFile
    expect(cases.map(({ name }) => name)).toEqual([`${cycleId} g/1`, `${cycleId} g/4`])
  })

  test.each<[string, string[], number, RegExp]>([
    ['an existing file', ['--cycle', 'x'], 1, /golden\.json exists; --force overwrites it/],
    [
      'a missing directory',
      ['--cycle', 'x', '--force', '--data-dir', '/nowhere'],
      2,
      /\/nowhere does not exist/,
    ],
    [
      'no cases',
      ['--cycle', 'x', '--cases', '0'],
      2,
      /'--cases <count>' argument '0' is invalid. It must be an integer from 1 to 1000/,
    ],
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
      `the data directory has no cycle 20200101T0000: the first to arrive was ${cycleId}, the last ${cycleId}`,
    )
  })

  test('reads the directory of a running server', async () => {
    const dataDir = await servedDirectory(1)
    const store = await openLmdbStore({ dataDir })
    expect(models('golden', 'v1', '--force', '--data-dir', dataDir, '--cycle', cycleId).status).toBe(0)
    await store.close()
  })
})

describe('matrix', () => {
  test('writes one line per scored post with exact float32 values', async () => {
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
    expect(stdout).toBe(`3 rows of 2 features written to ${out}\n`)
    expect(status).toBe(0)
    const log = (views: number) => String(Math.fround(Math.log1p(views)))
    expect(readFileSync(out, 'utf8').split('\n')).toEqual([
      'cycle_id,gall_id,post_no,views_log,previous_minutes_log',
      `${cycleId},g,1,${log(100)},`,
      `${cycleId},g,2,${log(200)},`,
      `${cycleId},g,3,${log(300)},`,
      '',
    ])
    expect(models('matrix', ...flags).stderr).toContain(`cannot write ${out}`)
  })

  test('writes all features if none are named', async () => {
    const dataDir = await servedDirectory(1)
    const out = join(scratchDir(), 'matrix.csv')
    models('matrix', '--data-dir', dataDir, '--from', cycleId, '--to', cycleId, '--out', out)
    const [head = '', row = ''] = readFileSync(out, 'utf8').split('\n')
    expect(head.split(',')).toEqual(['cycle_id', 'gall_id', 'post_no', ...catalogue.map(({ name }) => name)])
    expect(row.split(',')).toHaveLength(head.split(',').length)
  })

  test('writes values that parse to exactly the same float32', async () => {
    const dataDir = await servedDirectory(3)
    const out = join(scratchDir(), 'matrix.csv')
    models('matrix', '--data-dir', dataDir, '--from', cycleId, '--out', out)
    const values = readFileSync(out, 'utf8')
      .split('\n')
      .slice(1, -1)
      .flatMap((line) => line.split(',').slice(3))
      .filter((cell) => cell !== '')
      .map(Number)
    expect(values.filter((value) => !Number.isInteger(value)).length).toBeGreaterThan(10)
    expect(values).toEqual(values.map(Math.fround))
  })

  test.each([
    [['--features', 'luck'], 'the catalogue has no feature "luck"'],
    [['--missing', 'zero'], "'--missing <how>' argument 'zero' is invalid. Allowed choices are imputed, nan"],
  ])('refuses %j', (flags, message) => {
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

  test('prints agreement, distributions, sources and the largest movers', async () => {
    const dataDir = await servedDirectory(12, [], (post) => 37 * post)
    const { status, stdout, stderr } = models('compare', 'fake-1', 'v1', '--data-dir', dataDir)
    expect(status, stderr).toBe(0)
    expect(stderr).toBe('')
    expect(stdout).toMatch(
      /^fake-1 \(A\) and v1 \(B\) in cycle 20240301T0000: 12 scores each, of 12 posts\.\n/,
    )
    expect(stdout).toMatch(/\nDistinct scores: 12 of A, 12 of B\.\n\n/)
    expect(stdout).toMatch(/\nrank correlation +-?[01]\.\d{3}\n/)
    expect(stdout).toMatch(/\noverlap of the best 10 +\d+ %\n/)
    expect(stdout).toMatch(/\noverlap of the best 50 +–\n/)
    expect(stdout).toMatch(/\nmean difference, B − A +-?\d\.\d{4}\nmean absolute difference +\d\.\d{4}\n/)
    const [head, , ...rows] = table(stdout, 'scores ')
    expect(head).toMatch(/^scores +mean +minimum +10 % +25 % +median +75 % +90 % +maximum$/)
    expect(rows.map((row) => row.split(/ +/)[0])).toEqual(['fake-1', 'v1'])
    expect(table(stdout, 'source of scores').slice(2)).toEqual([
      expect.stringMatching(/^fake-1 +1 +0 +0$/),
      expect.stringMatching(/^v1 +0 +0 +1$/),
    ])
    expect(table(stdout, 'largest movers')[2]).toMatch(
      /^g\/\d+ +20240301T0000 +[\d.]+ → [\d.]+ of 12 +[\d.]+ → [\d.]+ +제목 \d+ ㅋㅋ$/,
    )
  })

  test('prints JSON, with the server running', async () => {
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
      pooled: { second: { distinct_scores: 3 } },
      median: { overlap: { 10: null, 50: null, 100: null } },
      per_cycle: [{ cycle_id: cycleId, posts: 3, first_source: 'replay', second_source: 'response' }],
      // No post was saved.
      quality: {
        first: { name: 'shadow:v1', rank_percentile: { mean: null, n: 0, ci95: null } },
        second: { name: 'shadow:fake-1' },
        difference: { a: 'v1', b: 'fake-1', mean: null, verdict: null, more_days: null },
      },
    })
    const { per_cycle, median } = comparison as Record<string, unknown> & {
      per_cycle: [{ rank_correlation: number }]
      median: { rank_correlation: number }
    }
    expect(median.rank_correlation).toBe(per_cycle[0].rank_correlation)
  })

  test('has no agreement and no movers if a version gives all posts the same score', async () => {
    const dataDir = await servedDirectory(12, [], () => 37)
    const { stdout, status } = models('compare', 'fake-1', 'v1', '--data-dir', dataDir)
    expect(status).toBe(0)
    expect(stdout).toMatch(/\nDistinct scores: 1 of A, \d+ of B\.\n/)
    expect(stdout).toMatch(/\nrank correlation +–\noverlap of the best 10 +–\n/)
    expect(stdout).not.toContain('largest movers')
  })

  test('counts each post once and names the heads that a version lacks', async () => {
    const weights = { views: 1, comments: 0, up: 1, downvote_share: 1 }
    const dataDir = await servedDirectory(3, [], (post) => 37 * post, { cycles: 2, weights })
    const flags = ['--data-dir', dataDir]
    const { stdout, stderr } = models('compare', 'fake-1', 'v1', ...flags)
    expect(stdout, stderr).toMatch(/2 cycles from \S+ to \S+: 6 scores each, of 3 posts\.\n/)
    expect(stdout).toContain('\nfake-1 lacks p_up, downvote_share: its scores omit their weights.\n\n')
    expect(JSON.parse(models('compare', 'v1', 'fake-1', '--json', ...flags).stdout)).toMatchObject({
      scores: 6,
      posts: 3,
      lacking_heads: { first: [], second: ['p_up', 'downvote_share'] },
    })
  })

  test('refuses to replay a version that a server has loaded with other files', async () => {
    const dataDir = await servedDirectory(1)
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', 'another')
    await store.close()
    const { status, stderr } = models('compare', 'v1', 'fake-1', '--data-dir', dataDir)
    expect(stderr).toContain('the files of v1 differ from those that a server has loaded as v1')
    expect(status).toBe(1)
  })

  test('needs a package only for versions without stored scores', async () => {
    const dataDir = await servedDirectory(1)
    const { stderr, status } = models('compare', 'fake-1', 'fake-2', '--data-dir', dataDir)
    expect(stderr).toMatch(/^understudy: fake-2: .*manifest\.json does not exist\n$/m)
    expect(status).toBe(1)
  })

  test.each<[string[], number, RegExp]>([
    [['v1', 'v1'], 2, /v1 cannot be compared with itself/],
    [
      ['v1', 'v2', '--cycles', '0'],
      2,
      /'--cycles <count>' argument '0' is invalid. It must be an integer from 1 to 2016/,
    ],
    [
      ['v1', 'v2', '--cycles', '3', '--from', 'x'],
      2,
      /'--cycles <count>' cannot be used with option '--from <id>'/,
    ],
    [['v1', 'v2', '--to', 'x'], 2, /--to needs --from/],
    [['v1', 'v2', '--data-dir', '/nowhere'], 2, /\/nowhere does not exist/],
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
      'the data directory has no cycle 20200101T0000',
    )
    const empty = join(scratchDir(), 'data')
    await (await openLmdbStore({ dataDir: empty })).close()
    expect(models(...args, empty).stderr).toContain('the data directory has no cycles')
  })
})

const cycleId = cycleBody(0).cycle_id

/**
 * A data directory with one or more cycles of the same `count` scored posts. Post n has 100 n views by default; the
 * posts in `postsWithImages` have an image.
 */
async function servedDirectory(
  count: number,
  postsWithImages: readonly number[] = [],
  viewsOf = (post: number): number => 100 * post,
  { cycles = 1, weights = { views: 1, comments: 0, up: 0, downvote_share: 0 } } = {},
): Promise<string> {
  const dataDir = join(scratchDir(), 'data')
  const store = await openLmdbStore({ dataDir })
  for (const postNo of postsWithImages) {
    const normalised = await smallJpeg(postNo)
    const image = { sha256: new Uint8Array(32), uploadedBytes: 1, width: 64, height: 48, normalised }
    await store.putImage({ gallId: 'g', postNo, position: 1 }, image)
  }
  const service = await CycleService.open({
    store,
    model: () => new FakeModel(),
    clock: () => cycleMs(cycles),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights },
    log: silentLog,
  })
  const posts = Array.from({ length: count }, (_, index) => index + 1)
  for (let index = 0; index < cycles; index++) {
    const entering = index === 0 ? posts : []
    const cycle = cycleBody(index, {
      candidates: entering.map((postNo) =>
        candidate('g', postNo, { images_in_post: postsWithImages.includes(postNo) ? 1 : 0 }),
      ),
      engagement: posts.map((postNo) => reading('g', postNo, cycleMs(index), { views: viewsOf(postNo) })),
    })
    await service.intake.submit(new RequestBody(bytesOf(cycle)), cycleMs(cycles), new StageClock(0))
  }
  await service.close()
  await store.close()
  return dataDir
}
