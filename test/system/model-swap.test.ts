/**
 * Swaps of models in a running server: under load, to an invalid version, with a SIGKILL in the middle. No cycle is lost,
 * and every stored response is labelled with the model that computed its scores.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../src/base/index.js'
import { makePackage } from '../../models/make-transport-test.js'
import type { CycleRequest, CycleResponse, Models } from '../../src/contract/index.js'
import { Quarantine } from '../../src/cycle/index.js'
import { replayCycles, replayedInputs } from '../../src/history/index.js'
import { loadModel, type LoadedModel } from '../../src/model/index.js'
import { scoreRows } from '../../src/pool/index.js'
import { databasePath, openSnapshot, type Store } from '../../src/store/index.js'
import { send } from '../harness/http.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { executable, freePort, projectDir, type ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

// A swap starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 300_000 })
const patience = { timeout: 120_000, interval: 20 }
const seeds: Record<string, number> = { a: 11, b: 22 }
const postsPerCycle = 5

/** As containers do. Needs root. */
function mount(...args: readonly string[]): void {
  expect(spawnSync('mount', args, { encoding: 'utf8' })).toMatchObject({ status: 0 })
}
const canMount =
  spawnSync('unshare', ['--mount', 'mount', '--bind', '/proc', '/proc'], { stdio: 'ignore' }).status === 0
if (!canMount) console.log('skipped: a read-only mount of models needs root')

let modelsDir: string
let server: ServerProcess

beforeEach(() => {
  modelsDir = join(scratchDir(), 'models')
  for (const [version, seed] of Object.entries(seeds)) writeVersion(version, seed)
  choose('ACTIVE', 'a')
})

const startServer = async (): Promise<void> => {
  server = await started({ UNDERSTUDY_MODELS_DIR: modelsDir })
}

function writeVersion(version: string, seed: number): void {
  mkdirSync(join(modelsDir, version), { recursive: true })
  for (const [file, content] of Object.entries(makePackage(version, seed)))
    writeFileSync(join(modelsDir, version, file), content)
}

/** Replaces the file atomically, as a deployment does. */
function choose(role: 'ACTIVE' | 'SHADOW', ...versions: readonly string[]): void {
  const file = join(modelsDir, role)
  writeFileSync(`${file}.new`, versions.map((version) => `${version}\n`).join(''))
  renameSync(`${file}.new`, file)
}

/** Five posts enter with each cycle, which has readings of the last 20. */
function cycle(index: number): CycleRequest {
  const first = index * postsPerCycle
  const entering = Array.from({ length: postsPerCycle }, (_, i) => first + i + 1)
  const read = Array.from(
    { length: Math.min(20, first + postsPerCycle) },
    (_, i) => first + postsPerCycle - i,
  )
  return cycleBody(index, {
    candidates: entering.map((post) => candidate('g', post, { title: `글 ${post} 후기` })),
    engagement: read.map((post) => reading('g', post, cycleMs(index), { views: 37 * post + index })),
  })
}

interface ScoredCycle {
  readonly text: string
  readonly response: CycleResponse
}

async function post(index: number): Promise<ScoredCycle> {
  const reply = await server.postCycle(cycle(index))
  expect(reply.status, reply.text).toBe(200)
  return { text: reply.text, response: reply.json as CycleResponse }
}

async function servingVersion(): Promise<unknown> {
  const { json } = await server.call({ path: '/v1/health' })
  return (json as { model_version: string }).model_version
}

const waitUntilServing = (version: string): Promise<boolean> =>
  vi.waitUntil(async () => (await servingVersion()) === version, patience)

/** Sends cycles one after the other until `stop`; each must succeed. */
class Load {
  readonly scoredCycles: ScoredCycle[] = []
  readonly #running: Promise<void>
  #stopping = false

  constructor() {
    this.#running = this.#run()
    this.#running.catch(() => undefined)
  }

  async #run(): Promise<void> {
    for (let index = 0; !this.#stopping; index++) this.scoredCycles.push(await post(index))
  }

  /** Resolves when `version` has scored `count` more cycles. */
  async waitForCycles(version: string, count: number): Promise<void> {
    const from = this.scoredCycles.length
    await vi.waitUntil(
      () =>
        this.scoredCycles.slice(from).filter(({ response }) => response.model_version === version).length >=
        count,
      patience,
    )
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#running
  }
}

/** Scores every stored cycle again with each model: the stored scores must be those of the model in its label only. */
async function expectTrueLabels(versions: readonly string[]): Promise<void> {
  const models = new Map<string, LoadedModel>()
  for (const version of versions) models.set(version, await load(version))
  const { store } = await openSnapshot(databasePath(server.dataDir))
  try {
    const [weights] = store.listWeights()
    const to = store.lastCycle()?.position ?? 0
    for await (const again of replayCycles(store, { from: 1, to })) {
      const stored = storedScores(store, again.cycle.cycleId)
      const rows = [...stored.scores.keys()]
      for (const [version, model] of models) {
        const encoding = { encodeMsMax: 60_000, quarantine: new Quarantine(), onExcluded: never, cache: null }
        const { inputs } = await replayedInputs(store, model, again, rows, encoding)
        const scores = scoreRows(await model.predict(inputs), weights?.weights ?? never(), rows.length)
        const largest = scores.reduce(
          (max, score, row) => Math.max(max, Math.abs(score - (stored.scores[row] ?? NaN))),
          0,
        )
        if (version === stored.version) expect(largest).toBeLessThan(1e-5)
        else expect(largest).toBeGreaterThan(1e-3)
      }
    }
  } finally {
    await store.close()
  }
}

async function load(version: string): Promise<LoadedModel> {
  const model = await loadModel({ modelsDir, version, executionProviders: ['cpu'], log: silentLog })
  onTestFinished(() => model.close())
  return model
}

function never(): never {
  throw new Error('there are no weights')
}

function storedScores(store: Store, cycleId: string): { version: string; scores: number[] } {
  const text = Buffer.from(store.readResponse(cycleId) ?? []).toString()
  const { model_version, results } = JSON.parse(text) as CycleResponse
  return {
    version: model_version,
    scores: results.flatMap(({ status, score }) => (status === 'scored' ? [score!] : [])),
  }
}

describe('a change of ACTIVE', () => {
  test('under load loses no cycle, and every response names the model that computed its scores', async () => {
    await startServer()
    const running = new Load()
    await running.waitForCycles('a', 5)
    for (const version of ['b', 'a', 'b']) {
      choose('ACTIVE', version)
      await running.waitForCycles(version, 5)
    }
    await running.stop()
    expect(await servingVersion()).toBe('b')
    const versions = running.scoredCycles.map(({ response }) => response.model_version)
    const turns = versions.filter((version, index) => version !== versions[index - 1])
    expect(turns).toEqual(['a', 'b', 'a', 'b'])
    for (const { text, response } of running.scoredCycles) {
      expect(response.warnings[0]).toContain(`transport test: ${response.model_version} is`)
      expect((await server.call({ path: `/v1/scores/${response.cycle_id}` })).text).toBe(text)
    }
    await expectTrueLabels(['a', 'b'])
  })

  test.skipIf(!canMount)(
    'on the host takes effect in a directory that the service sees read-only',
    async () => {
      const mounted = join(scratchDir(), 'mounted')
      mkdirSync(mounted)
      mount('--bind', modelsDir, mounted)
      try {
        mount('-o', 'remount,ro,bind', mounted)
        expect(() => writeFileSync(join(mounted, 'ACTIVE'), 'b')).toThrow('EROFS')
        server = await started({ UNDERSTUDY_MODELS_DIR: mounted })
        expect((await post(0)).response.model_version).toBe('a')
        choose('ACTIVE', 'b')
        await waitUntilServing('b')
        expect((await post(1)).response.model_version).toBe('b')
      } finally {
        // The server still reads it.
        spawnSync('umount', ['--lazy', mounted])
      }
    },
  )

  test('to a version that is invalid or missing keeps the previous one serving, and logs the reason', async () => {
    await startServer()
    writeFileSync(join(modelsDir, 'b', 'head.onnx'), 'something else')
    choose('ACTIVE', 'b')
    await server.logged('the previous version keeps serving')
    await server.logged(/"model_version":"b","problem":"[^"]*head\.onnx/)
    expect((await post(0)).response.model_version).toBe('a')
    choose('ACTIVE', 'c')
    await server.logged('"model_version":"c","problem"')
    expect((await post(1)).response.model_version).toBe('a')
    choose('ACTIVE', 'two words')
    await server.logged('must contain one line')
    expect((await post(2)).response.model_version).toBe('a')
    writeVersion('b', seeds['b'] ?? 0)
    choose('ACTIVE', 'b')
    await waitUntilServing('b')
    choose('ACTIVE', 'a')
    await waitUntilServing('a')
    expect((await post(3)).response.model_version).toBe('a')
  })

  test('to a version whose files have changed since it was loaded is refused, before and after a restart', async () => {
    await startServer()
    await post(0)
    choose('ACTIVE', 'b')
    await waitUntilServing('b')
    writeVersion('a', 33)
    choose('ACTIVE', 'a')
    await server.logged('model_version a has already been loaded with different files')
    expect((await post(1)).response.model_version).toBe('b')
    await server.restart()
    await server.logged('model_version a has already been loaded with different files')
    expect(await servingVersion()).toBe('b')
    expect((await post(2)).response.model_version).toBe('b')
    writeVersion('a', seeds['a'] ?? 0)
    await waitUntilServing('a')
    await post(3)
    await expectTrueLabels(['a', 'b'])
  })

  test.each(['"msg":"model loading"', '"role":"heads"', '"before":"a"'])(
    'that is interrupted by a SIGKILL when the log has %s loses nothing',
    async (moment) => {
      await startServer()
      const before = [await post(0), await post(1)]
      const logged = server.log.length
      choose('ACTIVE', 'b')
      await vi.waitUntil(() => server.log.slice(logged).includes(moment), { ...patience, interval: 1 })
      await server.restart()
      await waitUntilServing('b')
      for (const [index, { text, response }] of before.entries()) {
        expect((await post(index)).text).toBe(text)
        expect((await server.call({ path: `/v1/scores/${response.cycle_id}` })).text).toBe(text)
      }
      expect((await post(2)).response.model_version).toBe('b')
      await expectTrueLabels(['a', 'b'])
    },
  )

  test('by `activate --wait` returns when the version serves, or with the reason why it does not', async () => {
    await startServer()
    await post(0)
    const activate = (version: string) => {
      const flags = ['--models-dir', modelsDir, '--data-dir', server.dataDir, '--wait']
      return spawnSync(executable, ['models', 'activate', version, ...flags], { encoding: 'utf8' })
    }
    const { status, stdout, stderr } = activate('b')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/\nb is now serving\.\n$/)
    expect(await servingVersion()).toBe('b')
    const listed = spawnSync(executable, [
      'models',
      'list',
      '--models-dir',
      modelsDir,
      '--data-dir',
      server.dataDir,
    ])
    expect(String(listed.stdout)).toMatch(/\nactive {2}b +serving /)
  })

  test('to a version with a text encoder encodes the texts of all pending posts first', async () => {
    cpSync(join(projectDir, 'models', 'example-1'), join(modelsDir, 'example-1'), { recursive: true })
    await startServer()
    for (let index = 0; index < 4; index++) await post(index)
    choose('ACTIVE', 'example-1')
    await waitUntilServing('example-1')
    const { response } = await post(4)
    expect(response.model_version).toBe('example-1')
    expect(response.warnings).toHaveLength(1)
    expect(response.warnings[0]).toContain('transport test: example-1')
    await server.restart()
    expect((await post(5)).response.warnings).toHaveLength(1)
    await expectTrueLabels(['a', 'example-1'])
  })
})

describe('a change of SHADOW', () => {
  test('takes effect while the server runs, and `models compare` reads the same store', async () => {
    await startServer()
    await post(0)
    choose('SHADOW', 'b')
    await server.logged('shadow model started')
    const { text } = await post(1)
    expect(text).toContain('"model_version":"a"')
    await vi.waitUntil(() => isShadowed(2), patience)
    choose('SHADOW')
    await server.logged('shadow stopped')
    await post(2)
    const comparison = compare('a', 'b')
    expect(comparison).toMatchObject({
      first: 'a',
      second: 'b',
      cycles: { count: 3, without_scored_posts: 0 },
      scores: 5 + 10 + 15,
      posts: 15,
      sources: {
        first: { response: 3, shadow: 0, replay: 0 },
        second: { response: 0, shadow: 1, replay: 2 },
      },
    })
    const { movers } = compare('b', 'a')
    expect(movers.length).toBeGreaterThan(0)
    expect(movers[0]?.title).toMatch(/^글 \d+ 후기$/)
    expect(await isShadowed(3)).toBe(false)
    await expectTrueLabels(['a', 'b'])
  })

  test('to the serving version has no effect, even when the version serves only later', async () => {
    choose('SHADOW', 'a', 'b')
    await startServer()
    await server.logged('shadow model started')
    choose('ACTIVE', 'b')
    await waitUntilServing('b')
    await vi.waitUntil(() => server.log.split('shadow model started').length === 3, patience)
    await post(0)
    await vi.waitUntil(() => isShadowed(1, 'a'), patience)
    expect(await isShadowed(1, 'b')).toBe(false)
  })

  test('to an invalid version loses no cycle', async () => {
    rmSync(join(modelsDir, 'b', 'head.onnx'))
    await startServer()
    choose('SHADOW', 'b')
    await server.logged('shadow failed to load')
    expect((await post(0)).response.model_version).toBe('a')
  })
})

async function isShadowed(position: number, version = 'b'): Promise<boolean> {
  const { store } = await openSnapshot(databasePath(server.dataDir))
  try {
    return store.models.readShadowScores(position, version) !== undefined
  } finally {
    await store.close()
  }
}

interface Comparison {
  readonly movers: readonly { readonly title: string }[]
}

function compare(first: string, second: string): Comparison {
  const flags = ['--data-dir', server.dataDir, '--models-dir', modelsDir, '--json']
  const run = spawnSync(executable, ['models', 'compare', first, second, ...flags], { encoding: 'utf8' })
  expect(run.status, run.stderr).toBe(0)
  return JSON.parse(run.stdout) as Comparison
}

test('the two versions of these tests differ', () => {
  const hash = (version: string): string =>
    (
      JSON.parse(readFileSync(join(modelsDir, version, 'manifest.json'), 'utf8')) as {
        head: { sha256: string }
      }
    ).head.sha256
  expect(hash('a')).not.toBe(hash('b'))
})

test.runIf(process.platform === 'linux')(
  'a models directory that does not respond delays neither cycles, nor the page, nor the end of the server',
  async () => {
    const port = await freePort()
    server = await started({ UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_ADMIN_PORT: String(port) })
    const files = ['ACTIVE', 'b/manifest.json'].map((name) => join(modelsDir, name))
    for (const file of files) rmSync(file)
    // Reads of them do not end, as those of files on a volume that does not respond.
    expect(spawnSync('mkfifo', files).status).toBe(0)
    const headers = { authorization: `Bearer ${server.adminToken}` }
    const page = await send({ port, path: '/api/models', headers })
    const noResponse = /its volume has not responded for 5 s/
    expect((JSON.parse(page.text) as Models).models).toMatchObject([
      { version: 'a', problem: null },
      { version: 'b', problem: expect.stringMatching(noResponse) as string },
    ])
    await server.logged(noResponse)
    expect((await server.postCycle(cycle(0))).status).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(server.log.trimEnd().split('\n').at(-1)).toContain('"msg":"stopped"')
  },
)
