/**
 * Resources other than the disk: descriptors, memory of the model's process, model files, the data file. Without one, the
 * server logs a clear line and responds 503 or refuses to start; work continues when the resource is available again.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLmdbStore } from '../../src/store/index.js'
import { pageBytes } from '../../src/store/lmdb/environment.js'
import { cycleIdAt, cycleSample } from '../helpers/store-samples.js'
import { CrashClient } from '../harness/http.js'
import { childrenOf, descriptorCount } from '../harness/proc.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { modelsDir } from '../helpers/model-packages.js'
import { executable, freePort, type ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

const limitable = process.platform === 'linux' && spawnSync('prlimit', ['--version']).error === undefined
const lookMs = 50

const cycle = (index: number, count = 3) =>
  cycleBody(index, {
    candidates: index === 0 ? Array.from({ length: count }, (_, i) => candidate('g', i + 1)) : [],
    engagement: Array.from({ length: count }, (_, i) => reading('g', i + 1, cycleMs(index) - 1000)),
  })

/** Posts a cycle until it gets 200; every other response must be 503. Returns the number of those. */
async function postUntilAccepted(server: ServerProcess, index: number, count = 3): Promise<number> {
  for (let refusedCount = 0; ; refusedCount++) {
    const { status } = await server.postCycle(cycle(index, count))
    if (status === 200) return refusedCount
    expect(status).toBe(503)
    await delay(lookMs)
  }
}

async function healthOf(server: ServerProcess): Promise<{ status: string; model_version: string }> {
  return (await server.call({ path: '/v1/health' })).json as { status: string; model_version: string }
}

function limit(pid: number, resource: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--${resource}`])
}

describe.skipIf(!limitable)('the process of the model', () => {
  test('is logged and replaced when it is killed; until then cycles get 200 or 503', async () => {
    const server = await started()
    await postUntilAccepted(server, 0)
    for (const index of [1, 2, 3]) {
      const [child] = childrenOf(server.pid!)
      process.kill(child!.pid, 'SIGKILL')
      await postUntilAccepted(server, index)
    }
    await server.logged('the model is down')
    expect((await healthOf(server)).status).toBe('ok')
  })

  test('is replaced when it is out of memory; until then cycles get 200 or 503', async () => {
    const server = await started()
    await postUntilAccepted(server, 0)
    const [child] = childrenOf(server.pid!)
    limit(child!.pid, 'as=1')
    await postUntilAccepted(server, 1, 5000)
    const isRunning = childrenOf(server.pid!).some(({ pid }) => pid === child!.pid)
    // It may already have ended for lack of memory.
    if (isRunning) process.kill(child!.pid, 'SIGKILL')
    await postUntilAccepted(server, 2, 5000)
    expect((await healthOf(server)).status).toBe('ok')
  })
})

test.skipIf(!limitable)(
  'without free descriptors, open connections are served; with more, new ones are served without a restart',
  async () => {
    const server = await started()
    const pid = server.pid!
    const client = new CrashClient(server)
    onTestFinished(() => client.close())
    const post = (index: number) =>
      client.send({ method: 'POST', path: '/v1/cycles', body: bytesOf(cycle(index)) })
    expect((await post(0))?.status).toBe(200)
    const before = descriptorCount(pid)!
    limit(pid, `nofile=${before}:4096`)
    const others = Array.from({ length: 20 }, () => server.call({ path: '/v1/health' }).catch(() => null))
    expect((await post(1))?.status).toBe(200)
    limit(pid, 'nofile=4096:4096')
    await Promise.all(others)
    expect((await healthOf(server)).status).toBe('ok')
    expect((await post(2))?.status).toBe(200)
  },
)

describe('a model that cannot be loaded', () => {
  const version = 'transport-test-1'

  function ownModels(): string {
    const dir = scratchDir()
    cpSync(join(modelsDir, version), join(dir, version), { recursive: true })
    writeFileSync(join(dir, 'ACTIVE'), `${version}\n`)
    return dir
  }

  test.each([
    ['is truncated', (head: Buffer) => head.subarray(0, 1000)],
    [
      'has one other byte',
      (head: Buffer) => Buffer.concat([head.subarray(0, -1), Buffer.of(head.at(-1)! ^ 1)]),
    ],
    ['is missing', () => null],
  ])(
    'because its graph %s, causes 503 from the start; the correct file is loaded without a restart',
    async (_, damage) => {
      const dir = ownModels()
      const file = join(dir, version, 'head.onnx')
      const sound = readFileSync(file)
      const damaged = damage(sound)
      if (damaged === null) rmSync(file)
      else writeFileSync(file, damaged)
      const server = await started({ UNDERSTUDY_MODELS_DIR: dir })
      expect((await server.postCycle(cycle(0))).status).toBe(503)
      expect(await healthOf(server)).toMatchObject({ status: 'degraded', model_version: 'none' })
      await server.logged('model failed to load; cycles get 503 until one serves')
      await server.logged('head.onnx')
      writeFileSync(file, sound)
      await postUntilAccepted(server, 0)
      expect(await healthOf(server)).toMatchObject({ status: 'ok', model_version: version })
    },
  )

  test('does not replace one that serves', async () => {
    const dir = ownModels()
    const server = await started({ UNDERSTUDY_MODELS_DIR: dir })
    mkdirSync(join(dir, 'broken-1'))
    writeFileSync(join(dir, 'broken-1', 'manifest.json'), '{ "model_version": "broken-1"')
    writeFileSync(join(dir, 'ACTIVE'), 'broken-1\n')
    await server.logged('model failed to load; the previous version keeps serving')
    expect((await server.postCycle(cycle(0))).status).toBe(200)
    expect(await healthOf(server)).toMatchObject({ status: 'ok', model_version: version })
  })
})

describe('serve exits with a clear error, and the file stays unchanged,', () => {
  async function database(): Promise<Buffer> {
    const dataDir = join(scratchDir(), 'sound')
    const store = await openLmdbStore({ dataDir })
    for (let number = 0; number < 20; number++) await store.appendCycle(cycleSample(number))
    expect(store.findCycle(cycleIdAt(19))).toBeDefined()
    await store.close()
    return readFileSync(join(dataDir, 'understudy.mdb'))
  }

  /** Runs `serve` on a directory until it ends by itself. */
  async function serve(dataDir: string, user = {}): Promise<{ status: number | null; output: string }> {
    const env = {
      ...process.env,
      UNDERSTUDY_API_KEYS: 'key-for-the-faults',
      UNDERSTUDY_DATA_DIR: dataDir,
      UNDERSTUDY_PORT: String(await freePort()),
    }
    const { status, stdout, stderr } = spawnSync(executable, ['serve'], {
      env,
      encoding: 'utf8',
      timeout: 30_000,
      ...user,
    })
    return { status, output: `${stdout}${stderr}` }
  }

  test.each([
    ['text', 'is not a database', () => Buffer.from('not a database at all\n'.repeat(1000))],
    [
      'without its meta pages',
      'is not a database',
      (file: Buffer) => Buffer.from(file).fill(0, 0, 2 * pageBytes),
    ],
    ['cut within its first pages', 'is truncated', (file: Buffer) => file.subarray(0, 5000)],
  ])('if the data file is %s', async (_, message, damage) => {
    const dataDir = mkdtempSync(join(scratchDir(), 'data-'))
    const path = join(dataDir, 'understudy.mdb')
    const damaged = damage(await database())
    writeFileSync(path, damaged)
    const { status, output } = await serve(dataDir)
    expect(status).toBe(1)
    expect(output).toContain(`${path} ${message}`)
    expect(readFileSync(path).equals(damaged)).toBe(true)
  })

  // Root may write everywhere, and other users cannot read a checkout that only root may read.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const unreachable = user.uid !== undefined && spawnSync(executable, ['--version'], user).status !== 0

  test.skipIf(unreachable)('if the data directory may not be written', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'understudy-read-only-'))
    onTestFinished(() => {
      rmSync(dataDir, { recursive: true })
    })
    if (user.uid !== undefined) chownSync(dataDir, user.uid, user.gid)
    chmodSync(dataDir, 0o500)
    const { status, output } = await serve(dataDir, user)
    expect(status).toBe(2)
    expect(output).toMatch(/the data directory .* cannot be created or written: EACCES/)
  })
})
