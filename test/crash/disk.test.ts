/**
 * A disk that fails: each fault causes a 503 and a clear log line and changes neither memory nor disk; when it is
 * over, the same call works. Faults come from a preloaded library and from a file system without room.
 * `FAULT_ROUNDS` faults in a row at random instants (`npm run test:crash`), `FAULT_SEED` repeats them.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFailed, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../src/base/index.js'
import { openLmdbStore, openStoreOnPostgres } from '../../src/store/index.js'
import { PostgresJournal } from '../../src/store/journal/postgres-journal.js'
import { cycleIdAt, largeCycleSample } from '../helpers/store-samples.js'
import { CrashClient } from '../harness/http.js'
import { Load } from './load.js'
import { compileShim, shimImpossible } from './shim.js'
import { verifyOnDisk, verifyOverHttp } from './verify.js'
import { Random } from '../harness/rng.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import type { Reply } from '../harness/http.js'
import { executable, ServerProcess } from '../harness/server.js'
import { journalUrl, newEnvironment, postgresBin } from '../helpers/journals.js'
import { smallJpeg } from '../harness/jpeg.js'
import { ended, scratchDir } from '../helpers/servers.js'

const roundCount = Number(process.env['FAULT_ROUNDS'] ?? 20)
const seed = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000)
const faultMsMax = 20

/** The faults of the library, the log message of each, and whether the service recovers by itself afterwards. */
const faults = [
  { word: 'no-space', message: 'No space left on device', needsRestart: false },
  { word: 'write-error', message: 'Input/output error', needsRestart: false },
  { word: 'short', message: 'Input/output error', needsRestart: false },
  { word: 'sync-error', message: 'Input/output error', needsRestart: false },
  { word: 'meta-error', message: 'Input/output error', needsRestart: true },
] as const

/** Those that can affect the write of a meta page, after which LMDB reads and writes nothing until it is opened again. */
const fatalFaults: readonly string[] = ['no-space', 'write-error', 'meta-error']

interface FaultyServer {
  readonly server: ServerProcess
  readonly set: (word: string) => void
}

async function startFaulty(): Promise<FaultyServer> {
  const dir = scratchDir()
  const dataDir = join(dir, 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  const faultFile = join(dir, 'fault')
  writeFileSync(faultFile, '')
  const server = new ServerProcess(
    {
      LD_PRELOAD: compileShim('crash/native/failing_writes.cc', dir),
      WATCHED_FILE: join(dataDir, 'understudy.mdb'),
      FAULT_FILE: faultFile,
    },
    { dataDir },
  )
  ended(server)
  onTestFailed(() => console.log(`the end of the server's log:\n${server.log.slice(-8000)}`))
  await server.start()
  return { server, set: (word) => writeFileSync(faultFile, word) }
}

async function statusOf(server: ServerProcess): Promise<string> {
  return ((await server.call({ path: '/v1/health' })).json as { status: string }).status
}

/**
 * Whether the storage cannot even be read: a request for an unknown cycle then gets 503.
 */
async function isBroken(server: ServerProcess): Promise<boolean> {
  return (await server.call({ path: '/v1/scores/20000101T0000' })).status === 503
}

async function putImage(server: ServerProcess): Promise<Reply> {
  return server.call({
    method: 'PUT',
    path: '/v1/images/g/1/01',
    body: await smallJpeg(7),
    headers: { 'Content-Type': 'image/jpeg' },
  })
}

const smallCycle = (index: number, over: { body_html?: string } = {}) =>
  cycleBody(index, {
    candidates: [candidate('g', index + 1, over)],
    engagement: Array.from({ length: index + 1 }, (_, i) => reading('g', i + 1, cycleMs(index) - 1000)),
  })

describe.skipIf(shimImpossible)('while the data file fails with', () => {
  test.each(faults)(
    '$word, writes get 503 and change nothing, and the log and health report it',
    async ({ word, message, needsRestart }) => {
      const { server, set } = await startFaulty()
      const first = await server.postCycle(smallCycle(0))
      expect(first.status).toBe(200)
      set(word)
      const refused = await server.postCycle(smallCycle(1))
      expect([refused.status, refused.json]).toMatchObject([503, { error: { code: 'server_error' } }])
      await server.logged(`a write: ${message}`)
      expect(await statusOf(server)).toBe('degraded')
      expect((await putImage(server)).status).toBe(503)
      // After a failed write of a meta page, LMDB reads nothing until it is opened again; the newest response is in memory.
      expect((await server.call({ path: '/v1/scores/20240301T0005' })).status).toBe(needsRestart ? 503 : 404)
      expect((await server.call({ path: '/v1/scores/20240301T0000' })).text).toBe(first.text)
      set('')
      if (needsRestart) {
        expect((await server.postCycle(smallCycle(1))).status).toBe(503)
        await server.logged('MDB_PANIC')
        await server.restart()
      }
      const second = await server.postCycle(smallCycle(1))
      expect([second.status, second.json]).toMatchObject([200, { counts: { scored_now: 2, results: 2 } }])
      expect((await putImage(server)).status).toBe(201)
      expect(await statusOf(server)).toBe('ok')
      await server.restart()
      expect((await server.call({ path: '/v1/scores/20240301T0000' })).text).toBe(first.text)
      expect((await server.call({ path: '/v1/scores/20240301T0005' })).text).toBe(second.text)
    },
  )

  test('storage that fails before its first cycle accepts no cycle until a restart, and accepts that one then', async () => {
    const { server, set } = await startFaulty()
    set('meta-error')
    expect((await putImage(server)).status).toBe(503)
    set('')
    for (const reply of [await putImage(server), await server.postCycle(smallCycle(0))])
      expect(reply.status).toBe(503)
    expect(await statusOf(server)).toBe('degraded')
    await server.restart()
    expect((await putImage(server)).status).toBe(201)
    expect((await server.postCycle(smallCycle(0))).status).toBe(200)
    expect(await statusOf(server)).toBe('ok')
  })

  // Unpatched, lmdb-js overwrites its heap at a failed write (scripts/patch-lmdb.mjs): the second one ended the process.
  test('thirty failed writes in a row do not end the process', async () => {
    const { server, set } = await startFaulty()
    expect((await server.postCycle(smallCycle(0))).status).toBe(200)
    set('write-error')
    for (let attempt = 0; attempt < 30; attempt++)
      expect((await server.postCycle(smallCycle(1))).status).toBe(503)
    set('')
    expect((await server.postCycle(smallCycle(1))).status).toBe(200)
  })

  test(
    `${roundCount} faults at random instants under load lose nothing that was acknowledged`,
    async () => {
      const { server, set } = await startFaulty()
      const jpegs = await Promise.all(Array.from({ length: 12 }, (_, index) => smallJpeg(20 * index)))
      const random = new Random(seed)
      const load = new Load(seed, jpegs)
      const figures = { faults: 0, restarts: 0 }
      let client = new CrashClient(server)
      onTestFinished(() => client.close())
      await load.step(client)
      for (let round = 0; round < roundCount; round++) {
        load.mayBeRefused = true
        const step = load.step(client)
        await Promise.race([step, delay(random.below(4))])
        const fault = random.pick(faults)
        set(fault.word)
        await Promise.race([step, delay(random.below(faultMsMax))])
        if (random.chance(0.5)) await step
        set('')
        await step
        figures.faults++
        await load.resolve(client)
        if (await isBroken(server)) {
          expect(fatalFaults).toContain(fault.word)
          await server.restart()
          client.close()
          client = new CrashClient(server)
          figures.restarts++
        }
        load.mayBeRefused = false
        await load.resolve(client)
        await load.step(client)
      }
      await verifyOverHttp(load, client)
      await server.kill('SIGKILL')
      await verifyOnDisk(load, server.dataDir)
      const { responseCount, refusedCount } = load
      console.log(`disk faults: seed ${seed}, ${JSON.stringify({ ...figures, responseCount, refusedCount })}`)
      expect(refusedCount).toBeGreaterThan(0)
    },
    60_000 + roundCount * 5000,
  )
})

/** True if this process may mount: as root, and not in a narrow container. */
function mountable(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  return spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0
}

function mount(dataDir: string, options: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `mode=0700,${options}`, 'tmpfs', dataDir])
}

/** A directory with a file system of its own, until the test has ended. */
function smallDisk(options: string): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'understudy-small-'))
  mount(dataDir, options)
  onTestFinished(() => {
    // Lazily: a killed process may still be releasing its memory.
    execFileSync('umount', ['-l', dataDir])
    rmSync(dataDir, { recursive: true })
  })
  return dataDir
}

test.skipIf(!mountable())(
  'a full disk gives 503 until there is room, and then the same cycle is taken without a restart (needs root)',
  async () => {
    const dataDir = smallDisk('size=4m')
    const server = new ServerProcess({}, { dataDir })
    onTestFinished(async () => {
      await server.kill('SIGKILL')
    })
    await server.start()
    const noise = new Random(1)
    const body_html = Array.from({ length: 100_000 }, () => noise.bits().toString(36)).join('')
    const answered: string[] = []
    let reply = await server.postCycle(smallCycle(0, { body_html }))
    while (reply.status === 200 && answered.length < 50) {
      answered.push(reply.text)
      reply = await server.postCycle(smallCycle(answered.length, { body_html }))
    }
    expect(answered.length).toBeGreaterThan(0)
    expect(reply.status).toBe(503)
    await server.logged('no room for a write')
    expect(await statusOf(server)).toBe('degraded')
    // Health is degraded while there is no room for a few large cycles.
    mount(dataDir, 'remount,size=512m')
    const again = await server.postCycle(smallCycle(answered.length, { body_html }))
    expect([again.status, again.json]).toMatchObject([200, { counts: { results: answered.length + 1 } }])
    await vi.waitUntil(async () => (await statusOf(server)) === 'ok', { timeout: 60_000 })
    await server.restart()
    for (const [index, text] of [...answered, again.text].entries())
      expect((await server.postCycle(smallCycle(index, { body_html }))).text).toBe(text)
  },
)

test.skipIf(!mountable())(
  'serve and verify report a disk without room for a lock file, and both succeed once there is room (needs root)',
  async () => {
    const dataDir = smallDisk('size=1m')
    await (await openLmdbStore({ dataDir })).close()
    const lockPath = join(dataDir, 'understudy.mdb-lock')
    rmSync(lockPath)
    const filler = join(dataDir, 'filler')
    expect(() => writeFileSync(filler, new Uint8Array(1024 * 1024))).toThrow('ENOSPC')
    await expect(new ServerProcess({}, { dataDir }).start()).rejects.toThrow(
      `${lockPath} cannot be created or written: ENOSPC: no space left on device`,
    )
    const verify = () => spawnSync(executable, ['verify', '--data-dir', dataDir], { encoding: 'utf8' })
    expect(verify().stdout).toContain(`${lockPath} cannot be created or written: ENOSPC`)
    const files = readdirSync(dataDir).filter((name) => name !== 'models-loaded')
    expect(files.sort()).toEqual(['filler', 'understudy.lock', 'understudy.mdb'])
    rmSync(filler)
    expect(verify().stdout).toContain('no problems found')
    await (await openLmdbStore({ dataDir })).close()
  },
)

test.skipIf(!mountable())(
  'a lock file without a block on a full disk is reported and kept (needs root)',
  async () => {
    const dataDir = smallDisk('size=1m')
    await (await openLmdbStore({ dataDir })).close()
    const lockPath = join(dataDir, 'understudy.mdb-lock')
    const { ino, size } = statSync(lockPath)
    const filler = join(dataDir, 'filler')
    truncateSync(lockPath, 0)
    expect(() => writeFileSync(filler, new Uint8Array(1024 * 1024))).toThrow('ENOSPC')
    for (const length of [0, size]) {
      truncateSync(lockPath, length)
      await expect(new ServerProcess({}, { dataDir }).start()).rejects.toThrow(
        `${lockPath} has no room on its disk: 0 bytes are free`,
      )
      const { stdout } = spawnSync(executable, ['verify', '--data-dir', dataDir], { encoding: 'utf8' })
      expect(stdout).toContain(`${lockPath} has no room on its disk`)
    }
    rmSync(filler)
    await (await openLmdbStore({ dataDir })).close()
    expect(statSync(lockPath).ino).toBe(ino)
  },
)

test.skipIf(!mountable())(
  'a disk without room for a new database is reported, and nothing is created (needs root)',
  async () => {
    const dataDir = smallDisk('size=12k')
    await expect(new ServerProcess({}, { dataDir }).start()).rejects.toThrow(
      `${dataDir} has no room for a new database: 8192 bytes are free`,
    )
    expect(readdirSync(dataDir)).toEqual(['understudy.lock'])
    mount(dataDir, 'remount,size=1m')
    await (await openLmdbStore({ dataDir })).close()
  },
)

test.skipIf(!mountable())(
  'a backup that finds no room names its file and leaves nothing (needs root)',
  async () => {
    const dataDir = join(scratchDir(), 'data')
    const store = await openLmdbStore({ dataDir })
    for (let number = 0; number < 8; number++) await store.appendCycle(largeCycleSample(number, 200_000))
    await store.close()
    const disk = smallDisk('size=1m')
    const copy = join(disk, 'made', 'copy')
    const { status, stderr } = spawnSync(executable, ['backup', copy, '--data-dir', dataDir], {
      encoding: 'utf8',
    })
    expect(stderr).toBe(
      `understudy: ${join(copy, 'understudy.mdb.partial')} cannot be written: No space left on device\n`,
    )
    expect(status).toBe(1)
    expect(readdirSync(disk)).toEqual([])
  },
)

test.skipIf(!mountable() || postgresBin === null)(
  'a process whose disk has little room leaves its environment to others until there is room (needs root)',
  async () => {
    const journal = await journalUrl()
    const environment = newEnvironment()
    await (await PostgresJournal.open({ url: journal, environment, create: true })).close()
    const dataDir = smallDisk('size=100m')
    const store = await openStoreOnPostgres({
      journal,
      environment,
      log: silentLog,
      hasModel: () => true,
      view: { dataDir },
    })
    onTestFinished(() => store.close())
    await store.tryToOwn()
    expect(store.role).toBe('standby')
    mount(dataDir, 'remount,size=400m')
    await store.tryToOwn()
    expect(store.role).toBe('owner')
  },
)

test('a full map refuses cycles and keeps the stored ones; the same directory continues with a larger one', async () => {
  const dataDir = join(scratchDir(), 'map')
  const small = await openLmdbStore({ dataDir, mapBytesMax: 8 * 1024 * 1024 })
  let count = 0
  const fill = async () => {
    for (; count < 100; count++) await small.appendCycle(largeCycleSample(count, 200_000))
  }
  await expect(fill()).rejects.toMatchObject({ code: 'full' })
  expect(count).toBeGreaterThan(0)
  expect(small.healthy).toBe(false)
  expect([...small.tail(1)]).toHaveLength(count)
  await small.close()
  const large = await openLmdbStore({ dataDir })
  expect(await large.appendCycle(largeCycleSample(count, 200_000))).toBe(count + 1)
  expect(large.healthy).toBe(true)
  for (let number = 0; number <= count; number++)
    expect(large.readResponse(cycleIdAt(number))).toEqual(largeCycleSample(number, 200_000).response)
  await large.close()
})
