/**
 * A model that fails its cycles in a running server: the version that served before takes over. And files of
 * a loaded version that change on disk: its processes restart with the files that were loaded.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { makePackage } from '../../models/make-transport-test.js'
import type { CycleRequest, CycleResponse, Health } from '../../src/contract/index.js'
import { send } from '../harness/http.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { sigmoidGraph, smallGraph, writePackage } from '../helpers/model-packages.js'
import { models } from '../helpers/models-command.js'
import { freePort, type ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

vi.setConfig({ testTimeout: 300_000 })
const patience = { timeout: 120_000, interval: 20 }

/** A row with from 100,000 to 200,000 views is looked up outside of a table of one row. */
const failingGraph = smallGraph({
  constants: [
    { name: 'low', shape: [1], values: Float32Array.of(1e5) },
    { name: 'high', shape: [1], values: Float32Array.of(2e5) },
    { name: 'far', shape: [1], values: BigInt64Array.of(99n) },
    { name: 'near', shape: [1], values: BigInt64Array.of(0n) },
    { name: 'table', shape: [1], values: Float32Array.of(0.5) },
  ],
  operators: [
    { type: 'Greater', inputs: ['features', 'low'], outputs: ['above'] },
    { type: 'Less', inputs: ['features', 'high'], outputs: ['below'] },
    { type: 'And', inputs: ['above', 'below'], outputs: ['bad'] },
    { type: 'Where', inputs: ['bad', 'far', 'near'], outputs: ['index'] },
    { type: 'Gather', inputs: ['table', 'index'], outputs: ['probs'] },
  ],
})
const failingViews = 150_000

let modelsDir: string
let adminPort: number
let server: ServerProcess

beforeEach(() => {
  modelsDir = join(scratchDir(), 'models')
  mkdirSync(join(modelsDir, 'good'), { recursive: true })
  for (const [file, content] of Object.entries(makePackage('good', 11)))
    writeFileSync(join(modelsDir, 'good', file), content)
  writePackage(modelsDir, 'bad', failingGraph, { features: ['views'] })
})

function activate(version: string): void {
  const file = join(modelsDir, 'ACTIVE')
  writeFileSync(`${file}.new`, `${version}\n`)
  renameSync(`${file}.new`, file)
}

async function start(env: Record<string, string> = {}): Promise<void> {
  adminPort = await freePort()
  const ports = { UNDERSTUDY_ADMIN_PORT: String(adminPort) }
  server = await started({ UNDERSTUDY_MODELS_DIR: modelsDir, ...ports, ...env })
}

function cycle(index: number, views = 100): CycleRequest {
  return cycleBody(index, {
    candidates: index === 0 ? [candidate('g', 1), candidate('g', 2)] : [],
    engagement: [1, 2].map((post) => reading('g', post, cycleMs(index), { views: post === 2 ? views : 37 })),
  })
}

async function scoredBy(index: number, views = 100): Promise<string> {
  const reply = await server.postCycle(cycle(index, views))
  expect(reply.status, reply.text).toBe(200)
  return (reply.json as CycleResponse).model_version
}

async function fails(index: number): Promise<void> {
  expect(await server.postCycle(cycle(index, failingViews))).toMatchObject({ status: 503 })
}

async function health(): Promise<Pick<Health, 'status' | 'model_version'>> {
  const { status, model_version } = (await server.call({ path: '/v1/health' })).json as Health
  return { status, model_version }
}

const servedBy = (version: string): Promise<boolean> =>
  vi.waitUntil(async () => (await health()).model_version === version, patience)

async function admin(path: string): Promise<string> {
  const headers = { authorization: `Bearer ${server.adminToken}` }
  return (await send({ port: adminPort, path, headers })).text
}

test('a version that fails its cycles is replaced by the one that served before, until another one is activated', async () => {
  activate('good')
  await start()
  expect(await scoredBy(0)).toBe('good')
  activate('bad')
  await servedBy('bad')
  for (const index of [1, 2]) await fails(index)
  expect(await health()).toEqual({ status: 'degraded', model_version: 'bad' })
  // The graph is at fault, and its process runs on.
  expect(await admin('/readyz')).toMatch(
    /bad, cycle \d{8}T\d{4}, post g\/2: the graph returns an error: .*Gather/,
  )
  // Success ends the series.
  expect(await scoredBy(1)).toBe('bad')
  expect(await health()).toEqual({ status: 'ok', model_version: 'bad' })
  for (const index of [2, 2, 3]) await fails(index)
  await servedBy('good')
  expect(await scoredBy(2, failingViews)).toBe('good')
  expect(await health()).toEqual({ status: 'degraded', model_version: 'good' })
  await server.logged(
    /"failed_cycles":3,.*"fallback":"good","msg":"model failed its cycles; loading the version before it"/,
  )
  await server.logged('model serves instead of the version that failed its cycles')
  expect(await admin('/readyz')).toContain('good serves instead of bad until ACTIVE changes')
  const metrics = await admin('/metrics')
  expect(metrics).toMatch(/^understudy_model_fallback 1$/m)
  expect(metrics).toMatch(/^understudy_model_failed_cycles 0$/m)
  expect(JSON.parse(await admin('/api/models'))).toMatchObject({
    serving: 'good',
    fallback: { version: 'good', failed: 'bad', problem: expect.stringContaining('post g/2') as string },
  })
  expect(JSON.parse(await admin('/api/now'))).toMatchObject({
    failed_versions: [{ version: 'bad', kind: 'cycles', role: 'active' }],
  })
  const list = models('list', '--models-dir', modelsDir, '--data-dir', server.dataDir).stdout
  expect(list).toContain('good serves instead of bad, until a version is activated')
  expect(list).toMatch(/bad failed its cycles at .*post g\/2/)

  // A restart does not write ACTIVE.
  await server.restart()
  expect(await health()).toEqual({ status: 'degraded', model_version: 'good' })
  expect(await scoredBy(3, failingViews)).toBe('good')
  activate('good')
  await vi.waitUntil(async () => (await health()).status === 'ok', patience)
  expect(await scoredBy(4)).toBe('good')
  activate('bad')
  await servedBy('bad')
  expect(await health()).toEqual({ status: 'ok', model_version: 'bad' })
})

test('with fallbackAfterFailures 0 no version is replaced', async () => {
  activate('good')
  await start({ UNDERSTUDY_FALLBACK_AFTER_FAILURES: '0' })
  await scoredBy(0)
  activate('bad')
  await servedBy('bad')
  for (const index of [1, 2, 3, 4]) await fails(index)
  expect(await health()).toEqual({ status: 'degraded', model_version: 'bad' })
  expect(server.log).not.toContain('model failed its cycles')
})

test('a package that is overwritten in place leaves a restart to the last other version that scored', async () => {
  writePackage(modelsDir, 'plain', sigmoidGraph)
  activate('good')
  await start()
  expect(await scoredBy(0)).toBe('good')
  activate('plain')
  await servedBy('plain')
  expect(await scoredBy(1)).toBe('plain')
  const loadable = readFileSync(join(modelsDir, 'plain', 'head.onnx'))
  writeFileSync(join(modelsDir, 'plain', 'head.onnx'), failingGraph)
  await server.restart()
  expect(await scoredBy(2)).toBe('good')
  expect(await health()).toEqual({ status: 'degraded', model_version: 'good' })
  // The reason has both hashes.
  expect(await admin('/readyz')).toMatch(
    /good serves until plain can be loaded: .*head\.onnx has SHA-256 [0-9a-f]{64}.*[0-9a-f]{64}/,
  )
  expect(await admin('/metrics')).toMatch(/^understudy_model_fallback 1$/m)
  const list = models('list', '--models-dir', modelsDir, '--data-dir', server.dataDir).stdout
  expect(list).toContain('good serves instead of plain, until that one can be loaded')
  // Another restart, while it still cannot be loaded.
  await server.restart()
  expect(await scoredBy(3)).toBe('good')
  writeFileSync(join(modelsDir, 'plain', 'head.onnx'), loadable)
  await servedBy('plain')
  expect(await scoredBy(4)).toBe('plain')
  expect(await health()).toEqual({ status: 'ok', model_version: 'plain' })

  rmSync(join(modelsDir, 'ACTIVE'))
  await server.restart()
  expect(await scoredBy(5)).toBe('plain')
  expect(await health()).toEqual({ status: 'degraded', model_version: 'plain' })
  expect(await admin('/readyz')).toContain('the version that is to serve is not known: ')
})

test('a process that restarts gets the files that were loaded, whatever has become of the package', async () => {
  writePackage(modelsDir, 'plain', sigmoidGraph)
  activate('plain')
  await start()
  await scoredBy(0)
  const before = await scores(1)
  writeFileSync(join(modelsDir, 'plain', 'head.onnx'), failingGraph)
  await server.logged('model files have changed on disk')
  process.kill(headsPid(), 'SIGKILL')
  await vi.waitUntil(async () => (await server.postCycle(cycle(2))).status === 200, patience)
  // The same model: the same readings have the same scores.
  expect(await scores(3)).toEqual(before)
  expect(await health()).toMatchObject({ model_version: 'plain' })
  expect(server.log.match(/model files have changed on disk/g)).toHaveLength(1)
  const list = models('list', '--models-dir', modelsDir, '--data-dir', server.dataDir).stdout
  expect(list).toMatch(
    /warning: plain has changed on disk since the server loaded it: .*head\.onnx has SHA-256/,
  )
  expect(JSON.parse(await admin('/api/models'))).toMatchObject({
    models: expect.arrayContaining([
      expect.objectContaining({ version: 'plain', changed: expect.stringContaining('head.onnx') as string }),
    ]) as object[],
  })

  rmSync(join(modelsDir, 'plain'), { recursive: true })
  await server.logged(/"problem":"[^"]*manifest\.json does not exist[^"]*","msg":"model files have changed/)
  process.kill(headsPid(), 'SIGKILL')
  await vi.waitUntil(async () => (await server.postCycle(cycle(4))).status === 200, patience)
  // The copy is private, and ends with its version.
  const copies = join(server.dataDir, 'models-loaded')
  expect(readdirSync(copies)).toHaveLength(1)
  await server.kill('SIGTERM')
  expect(existsSync(copies)).toBe(false)
})

async function scores(index: number): Promise<unknown[]> {
  const { results } = (await server.postCycle(cycle(index))).json as CycleResponse
  return results.map(({ score }) => score)
}

/** The log names each process that begins to serve. */
function headsPid(): number {
  return Number([...server.log.matchAll(/"role":"heads","pid":(\d+)/g)].at(-1)?.[1])
}
