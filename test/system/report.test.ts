/**
 * `understudy report` as a process on a real store: its figures, versions with stored and with replayed scores, the page,
 * and a report over 60 days of which 14 have bodies.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/index.js'
import { CycleService, RequestBody, StageClock } from '../../src/cycle/index.js'
import type { CycleRequest, CycleResponse } from '../../src/contract/index.js'
import { evaluate, verifyCycles } from '../../src/history/index.js'
import { cycleTables, packRows } from '../../src/records/index.js'
import { openLmdbStore } from '../../src/store/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { expectFigures } from '../helpers/expect-figures.js'
import { FakeModel } from '../helpers/fake-model.js'
import { models, modelsEnvironment, understudy } from '../helpers/models-command.js'
import { naiveReport, type NaiveCycle } from '../helpers/naive-evaluation.js'
import { RecordedDirectory } from '../helpers/recorded-directory.js'
import { scratchDir } from '../helpers/servers.js'

const instant = (ms: number): string => new Date(ms).toISOString()

/** Cycle `number` is at boundary `index`. A post enters with each one; most leave after eight, every third one saved. */
function body(number: number, index: number): CycleRequest {
  const leaving = number - 8
  const pending = Array.from({ length: Math.min(8, number + 1) }, (_, ago) => number + 1 - ago)
  return cycleBody(index, {
    candidates: [candidate(`g${number % 3}`, number + 1, { extracted_at: instant(cycleMs(index) - 60_000) })],
    engagement: pending.map((post) =>
      reading(`g${(post - 1) % 3}`, post, cycleMs(index), {
        views: (post * 37 + number * 11) % 100,
        up: post % 7,
      }),
    ),
    removals:
      leaving < 0
        ? []
        : [
            removal(`g${leaving % 3}`, leaving + 1, {
              ...(leaving % 3 === 0 ? { reason: 'saved', tier: 'main' } : { reason: 'aged_out' }),
              decided_at: instant(cycleMs(index) - 30_000),
            }),
          ],
  })
}

function report(dataDir: string, ...flags: string[]): string {
  const run = spawnSync(understudy, ['report', '--data-dir', dataDir, ...flags], {
    encoding: 'utf8',
    env: modelsEnvironment(),
  })
  expect([run.status, run.stderr]).toEqual([0, ''])
  return run.stdout
}

describe('understudy report', () => {
  let recorded: RecordedDirectory
  let cycles: NaiveCycle[]

  beforeEach(async () => {
    recorded = await RecordedDirectory.open()
    cycles = []
    for (let number = 0; number < 30; number++) {
      const request = body(number, number)
      cycles.push({ request, response: await recorded.submit(request) })
    }
  })

  test('prints the figures of the definition while the store is open elsewhere', () => {
    const figures = JSON.parse(report(recorded.dataDir, '--json')) as object
    expectFigures(figures, naiveReport(cycles))
    expect(figures).toMatchObject({
      window: { from: cycles[0]?.response.cycle_time, cycles: 30, days: 1 },
      visits: { saved: 8, unranked_saved: 0 },
    })
    const later = JSON.parse(report(recorded.dataDir, '--from', cycleBody(10).cycle_id, '--json')) as object
    expectFigures(later, naiveReport(cycles, { fromMs: cycleMs(10) }))
  })

  test('ranks versions by their shadow scores, and replays cycles without', async () => {
    const shadowed = await Promise.all(
      cycles.map(async (cycle, index) => {
        const scored = cycle.response.results.filter(({ status }) => status === 'scored')
        const scores = scored.map(({ post_no }) => Math.fround((post_no % 5) / 10))
        const column = Float32Array.from(scores)
        const heads = {
          count: scores.length,
          p_views: column,
          p_comments: null,
          p_up: null,
          downvote_share: null,
        }
        await recorded.store.models.putShadowScores(index + 1, 'shadow-2', packRows(cycleTables.heads, heads))
        return { ...cycle, shadows: { 'shadow-2': scores } }
      }),
    )
    const figures = JSON.parse(report(recorded.dataDir, '--json')) as object
    expectFigures(figures, naiveReport(shadowed))
    // v1 has scored nothing: all its scores are replayed.
    const both = JSON.parse(report(recorded.dataDir, '--models', 'v1,shadow-2', '--json')) as {
      rankers: { name: string; rank_percentile: { n: number } }[]
      differences: { a: string; b: string; verdict: string | null }[]
    }
    expect(both.rankers.slice(0, 3).map(({ name, rank_percentile: { n } }) => [name, n])).toEqual([
      ['model', 8],
      ['shadow:v1', 8],
      ['shadow:shadow-2', 8],
    ])
    const { model_version: serving } = cycles[0]!.response
    const served = JSON.parse(report(recorded.dataDir, '--models', serving, '--json')) as typeof both
    expect(served.rankers.map(({ name }) => name)).not.toContain(`shadow:${serving}`)
    const difference = both.differences.at(-1)
    expect(difference).toMatchObject({ a: 'shadow:v1', b: 'shadow:shadow-2' })
    const compared = models(
      'compare',
      'v1',
      'shadow-2',
      '--cycles',
      '30',
      '--data-dir',
      recorded.dataDir,
      '--json',
    )
    const { quality } = JSON.parse(compared.stdout) as { quality: { difference: object } }
    expect(quality.difference).toMatchObject({ ...difference, a: 'v1', b: 'shadow-2' })
  }, 120_000)

  test('prints sentences, and writes a page that loads nothing', () => {
    const file = join(scratchDir(), 'report.html')
    const text = report(recorded.dataDir, '--html', file)
    expect(text).toContain('30 cycles on 1 day')
    expect(text).toContain('The operators saved 8')
    expect(text).toMatch(/\) +by recommendations +[+-]?[\d.]+ pp/)
    expect(text).toContain('First scores')
    const page = readFileSync(file, 'utf8')
    expect(page).toContain('<svg')
    expect(page).not.toMatch(/<script|<link|<img|@import|url\(|src=/)
    expect(page).not.toMatch(/https?:/)
  })

  test('replaces the page whole, and refuses a directory that does not exist', () => {
    const directory = scratchDir()
    const file = join(directory, 'report.html')
    writeFileSync(file, 'an earlier report')
    report(recorded.dataDir, '--html', file)
    expect(readFileSync(file, 'utf8')).toMatch(/^<!doctype html>[^]*<\/html>\n$/)
    expect(readdirSync(directory)).toEqual(['report.html'])
    const nowhere = join(directory, 'nowhere', 'report.html')
    const { status, stderr } = spawnSync(
      understudy,
      ['report', '--data-dir', recorded.dataDir, '--html', nowhere],
      { encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([1, expect.stringContaining(`cannot write ${nowhere}: ENOENT`)])
  })

  test('refuses an invalid window', () => {
    for (const flags of [
      ['--from', 'yesterday'],
      ['--from', '2024-03-02', '--to', '2024-03-01'],
      ['--models', 'a,,b'],
    ])
      expect(
        spawnSync(understudy, ['report', '--data-dir', recorded.dataDir, ...flags], { encoding: 'utf8' })
          .status,
      ).toBe(2)
  })
})

test('a report over 60 days does not need bodies that have expired', async () => {
  const dataDir = join(scratchDir(), 'data')
  const store = await openLmdbStore({ dataDir })
  let number = 0
  const perDay = 4
  const stride = 288 / perDay
  const service = await CycleService.open({
    store,
    model: () => new FakeModel(),
    textEncodeMsMax: 1000,
    clock: () => cycleMs(number * stride),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    retention: () => ({ retainCyclesDays: 14, retainImagesDays: 7, retainOutcomesDays: 90 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 0, downvote_share: 0 } },
    log: { ...silentLog, error: (fields) => expect.fail(JSON.stringify(fields)) },
  })
  const cycles: NaiveCycle[] = []
  for (; number < 60 * perDay; number++) {
    const request = body(number, number * stride)
    const call = new RequestBody(bytesOf(request))
    const response = await service.intake.submit(call, cycleMs(number * stride), new StageClock(0))
    cycles.push({ request, response: JSON.parse(Buffer.from(response).toString()) as CycleResponse })
    await service.retention.done()
  }
  await service.close()
  expect([...store.tail(1)].length).toBe(14 * perDay + 1)
  const evaluation = evaluate(store)
  expect(evaluation.window).toMatchObject({ cycles: 240, unit: 'day' })
  expectFigures(evaluation, naiveReport(cycles))
  const problems: string[] = []
  await verifyCycles(store, { report: (problem) => problems.push(problem) })
  expect(problems).toEqual([])
  await store.close()
}, 120_000)
