/**
 * A small run of every scenario against real servers, which shows that each still works. It checks no figures.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { bench, type BenchResults } from './bench.js'
import { checkResponse } from './check.js'
import { parseOptions, type BenchOptions } from './options.js'
import { freePort } from '../test/harness/server.js'
import { projectDir } from './project.js'
import { scenarioNames } from './scenarios.js'
import { worldCycles } from '../test/harness/world.js'

const scratchDir = mkdtempSync(join(tmpdir(), 'understudy-bench-test-'))
afterAll(() => rmSync(scratchDir, { recursive: true, force: true }))

const small: BenchOptions = {
  scenarios: scenarioNames,
  cycleCount: 2,
  // On a busy machine, one image took longer than 200 ms.
  seconds: 2,
  scale: 0.004,
  floor: false,
  jsonFile: join(scratchDir, 'results.json'),
}

async function run(options: BenchOptions): Promise<{ results: BenchResults; text: string }> {
  const lines: string[] = []
  const results = await bench(options, (text) => lines.push(text))
  return { results, text: lines.join('\n') }
}

test('every scenario runs, and has a row in the table and in the JSON file', async () => {
  const { results, text } = await run(small)
  const rows = results.measurements.map(({ scenario }) => scenario)
  for (const name of scenarioNames) {
    const ownRows = rows.filter((row) => row === name || row.startsWith(`${name}: `))
    expect(ownRows.length, name).toBeGreaterThan(0)
    for (const row of ownRows) expect(text).toContain(`\n${row} `)
  }
  for (const { scenario, latencyMs } of results.measurements) {
    expect(latencyMs.count, scenario).toBeGreaterThan(0)
  }
  expect(JSON.parse(readFileSync(small.jsonFile!, 'utf8'))).toEqual(JSON.parse(JSON.stringify(results)))
  // The processes of a model swap may wait some seconds for an idle core.
}, 300_000)

test('a cycle scenario reports every part of its floor and the stages of its server', async () => {
  const { results, text } = await run({ ...small, scenarios: ['typical'], floor: true })
  const { floor, stages } = results.measurements[0]!.details
  for (const part of ['transportMs', 'walkMs', 'inferMs', 'writeMs', 'growingWriteMs'] as const) {
    expect(floor![part], part).toBeGreaterThan(0)
  }
  expect(floor!.totalMs).toBeCloseTo(floor!.transportMs + floor!.walkMs + floor!.inferMs + floor!.writeMs)
  expect(Object.keys(stages!)).toEqual(expect.arrayContaining(['receive', 'decode', 'infer', 'commit']))
  expect(text).toMatch(/typical: measured .* \/ floor .* = /)
  expect(text).toMatch(/^decode .*%/m)
})

test('a comparison pairs the cycles of both servers', async () => {
  const { results, text } = await run({ ...small, scenarios: ['typical', 'mixed'], compareWith: projectDir })
  expect(results.comparisons).toMatchObject([{ scenario: 'typical', pairCount: 2 }])
  expect(text).toContain('B / A')
})

test.skipIf(spawnSync(process.env.CXX ?? 'g++', ['--version']).error !== undefined)(
  'the floor server responds to a cycle with a row per reading, and repeats the response for GET',
  async () => {
    const port = await freePort()
    const server = spawn(join(projectDir, 'bench', 'floor', 'serve.sh'), {
      env: { ...process.env, PORT: String(port), DATA_DIR: scratchDir },
      stdio: 'inherit',
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    const ended = new Promise((resolve) => server.once('exit', resolve))
    const url = `http://127.0.0.1:${port}/v1`
    const isReady = () => fetch(`${url}/health`).then(Boolean, () => false)
    while (!(await isReady())) expect(await Promise.race([ended, delay(50, 'running')])).toBe('running')
    const cycles = worldCycles({ pending: 10, turnover: 1, snapshotShare: 1, bodyChars: 20 })
    for (let count = 0; count < 3; count++) {
      const { request, counts } = cycles.next().value
      const response = await (await fetch(`${url}/cycles`, { method: 'POST', body: request })).text()
      expect(JSON.parse(response)).toMatchObject({ counts: { scored_now: counts.engagement } })
      expect((JSON.parse(response) as { results: unknown[] }).results).toHaveLength(counts.engagement)
      expect(await (await fetch(`${url}/scores/any`)).text()).toBe(response)
    }
    // The test may build the floor server first.
  },
  120_000,
)

describe('only a correct response counts', () => {
  const cycle = worldCycles({ pending: 10, turnover: 1, snapshotShare: 0, bodyChars: 20 }).next().value
  const key = { gall_id: 'g', post_no: 1 }
  const correct = {
    cycle_id: cycle.cycleId,
    cycle_time: '2025-03-03T09:00:00+09:00',
    received_at: '2025-03-03T09:00:00Z',
    scored_at: '2025-03-03T09:00:00Z',
    model_version: 'm',
    weights_version: 'w',
    counts: { ...cycle.counts, scored_now: 2, waiting: 0, not_scored: 0, results: 2 },
    missing_feature_share: 0,
    warnings: [],
    results: [
      { ...key, status: 'scored' as const, score: 0.5 },
      { ...key, status: 'scored' as const, score: 0.5 },
    ],
  }

  test('a correct response passes', () => {
    expect(() => checkResponse(cycle, correct)).not.toThrow()
  })

  test('a wrong count, another cycle, or a post without a score does not pass', () => {
    const wrong = [
      { ...correct, counts: { ...correct.counts, candidates: 1 } },
      { ...correct, cycle_id: '20250303T0905' },
      { ...correct, results: [correct.results[0]!, { ...key, status: 'waiting' as const, score: null }] },
    ]
    for (const response of wrong) expect(() => checkResponse(cycle, response)).toThrow(/wrong response/)
  })
})

describe('the command line', () => {
  test('starts in plain Node, whose type stripping leaves what typia would generate undone', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', './bench/typescript.mjs', 'bench/run.ts', '--help'],
      { cwd: projectDir, encoding: 'utf8' },
    )
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('--scenario a,b')
  })

  test('runs every scenario with its floor by default', () => {
    expect(parseOptions([])).toEqual({ scenarios: scenarioNames, seconds: 5, scale: 1, floor: true })
  })

  test('reports unknown arguments', () => {
    expect(() => parseOptions(['--scenario', 'ful'])).toThrow('no scenario ful')
    expect(() => parseOptions(['--cycles', 'many'])).toThrow('--cycles takes a number')
    expect(() => parseOptions(['--speed'])).toThrow(/--speed/)
  })
})
