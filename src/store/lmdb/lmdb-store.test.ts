/**
 * Rules of the store on disk alone: it survives a restart and a kill, it refuses what it cannot read, a write that the
 * disk refuses changes nothing, and a file that another process changes stops all writes.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdir,
  mkdtemp,
  open as openFile,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open as openLmdb } from 'lmdb'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { builtFile } from '../../base/index.js'
import { packRecord, schemaVersion } from '../records/index.js'
import { databasePath, pageBytes } from './environment.js'
import { openLmdbParts } from './open-lmdb-store.js'
import { openLmdbStore, type Store, type StoreError } from '../index.js'
import {
  bytesOf,
  cycleIdAt,
  cycleSample,
  imageSample,
  largeCycleSample,
  weightsSample,
} from '../../../test/helpers/store-samples.js'

import { openFilesIn } from '../../../test/helpers/open-files.js'

const samples = new URL('../../../test/helpers/store-samples.ts', import.meta.url).href

const imageKey = { gallId: '야구', postNo: 12, position: 3 }
/** Child processes run what `npm run build` made. */
const built = (name: string) => builtFile(`store/${name}`).href

let directory: string
let dataDir: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'understudy-store-'))
  dataDir = join(directory, 'a', 'data.dir')
})

afterEach(() => rm(directory, { recursive: true }))

async function withStore<T>(use: (store: Store) => T | Promise<T>, mapBytesMax?: number): Promise<T> {
  const store = await openLmdbStore({ dataDir, ...(mapBytesMax === undefined ? {} : { mapBytesMax }) })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

async function openError(): Promise<StoreError> {
  return withStore(() => undefined).then(
    () => expect.fail('the store opened'),
    (error: unknown) => error as StoreError,
  )
}

describe('a restart', () => {
  test('finds every stored id, in whatever order they arrived', async () => {
    const numbers = [5, 3, 9, 1, 8]
    await withStore(async (store) => {
      for (const number of numbers) await store.appendCycle(cycleSample(number))
    })
    await withStore(async (store) => {
      const storedNumbers = [0, 1, 3, 4, 5, 8, 9, 10].filter((number) => store.findCycle(cycleIdAt(number)))
      expect(storedNumbers).toEqual([1, 3, 5, 8, 9])
      for (const number of numbers)
        await expect(store.appendCycle(cycleSample(number))).rejects.toMatchObject({ code: 'exists' })
      for (const number of [10, 4, 11]) await store.appendCycle(cycleSample(number))
      expect([10, 4, 11, 12].map((number) => store.findCycle(cycleIdAt(number))?.position)).toEqual([
        6,
        7,
        8,
        undefined,
      ])
    })
  })

  test('returns everything that was stored', async () => {
    const cycle = largeCycleSample(1, 200_000)
    await withStore(async (store) => {
      await store.appendCycle(cycle)
      await store.appendCycle(cycleSample(2))
      await store.savePool(2, bytesOf(2))
      await store.putImage(imageKey, imageSample(1))
      await store.appendWeights(1, weightsSample('v1', 0.5))
      await store.putOutcomes([{ placementId: 'p', record: bytesOf(1), arrivedAtMs: 0 }])
    })
    await withStore(async (store) => {
      expect(store.lastCycle()).toMatchObject({ position: 2, cycleId: cycleIdAt(2) })
      expect([...store.tail(1)].map(({ position }) => position)).toEqual([1, 2])
      expect(store.readRequest(1)).toEqual(cycle.request)
      expect(store.readResponse(cycle.cycleId)).toEqual(cycle.response)
      expect(store.readRecord(1)).toEqual(cycle.record)
      expect(store.readSavedPool(2)).toEqual(bytesOf(2))
      expect(store.findImage(imageKey)).toEqual(imageSample(1))
      expect([...store.imageKeys()]).toEqual([imageKey])
      expect([...store.listWeights()]).toEqual([weightsSample('v1', 0.5)])
      expect(store.readOutcome('p')).toEqual(bytesOf(1))
      expect(await store.appendCycle(cycleSample(3))).toBe(3)
      await expect(store.appendCycle(cycle)).rejects.toMatchObject({ code: 'exists' })
      expect(await store.putImage(imageKey, imageSample(1))).toBe('same')
      await store.appendWeights(2, weightsSample('v2', 0.6))
      expect([...store.listWeights()]).toHaveLength(2)
    })
  })

  test('finds files that only their owner can read', async () => {
    await withStore(() => undefined)
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
    for (const name of await readdir(dataDir))
      expect((await stat(join(dataDir, name))).mode & 0o777, name).toBe(0o600)
  })
})

test('a response that has expired cannot be read', async () => {
  await withStore(async (store) => {
    const cycle = cycleSample(1)
    const position = await store.appendCycle(cycle)
    const response = store.readResponse(cycle.cycleId)
    await store.savePool(await store.appendCycle(cycleSample(2)), bytesOf())
    await store.expiry.removeCycles([{ position, keepEntry: false }])
    expect(store.readResponse(cycle.cycleId)).toBeUndefined()
    expect(response).toEqual(cycle.response)
  })
})

describe('a killed process', () => {
  const child = `
    const { openLmdbStore } = await import(process.argv[1])
    const { largeCycleSample, imageSample } = await import(process.argv[2])
    const store = await openLmdbStore({ dataDir: process.argv[3] })
    for (let number = (store.lastCycle()?.position ?? 0) + 1; ; number++) {
      const image = store.putImage({ gallId: 'g', postNo: number, position: 1 }, imageSample(number % 200))
      const position = await store.appendCycle(largeCycleSample(number, 30_000 + (number % 7) * 9_000))
      await image
      console.log(position)
    }`

  /** Runs the child until it has acknowledged `count` cycles, kills it and returns the last it acknowledged. */
  async function writeAndKill(count: number): Promise<number> {
    const args = ['--input-type=module', '-e', child, built('index.js'), samples, dataDir]
    const writer = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let acknowledged = 0
    let seen = 0
    for await (const line of createInterface({ input: writer.stdout })) {
      acknowledged = Number(line)
      if (++seen === count) writer.kill('SIGKILL')
    }
    expect(seen, 'the child ended by itself; is dist built?').toBeGreaterThanOrEqual(count)
    return acknowledged
  }

  test('loses no acknowledged cycle and leaves none in part', async () => {
    for (const count of [1, 7, 40]) {
      const acknowledged = await writeAndKill(count)
      await withStore((store) => {
        const cycles = [...store.tail(1)]
        expect(cycles.length).toBeGreaterThanOrEqual(acknowledged)
        for (const [index, { position, cycleId }] of cycles.entries()) {
          const expected = largeCycleSample(position, 30_000 + (position % 7) * 9_000)
          expect(position).toBe(index + 1)
          expect(cycleId).toBe(expected.cycleId)
          expect(store.findCycle(cycleId)?.position).toBe(position)
          expect(store.readRequest(position)).toEqual(expected.request)
          expect(store.readResponse(cycleId)).toEqual(expected.response)
          expect(store.readRecord(position)).toEqual(expected.record)
        }
        for (let postNo = 1; postNo <= acknowledged; postNo++)
          expect(store.findImage({ gallId: 'g', postNo, position: 1 })).toEqual(imageSample(postNo % 200))
      })
    }
  })
})

describe('a data directory that cannot be used is refused in one line', () => {
  test('when another store holds it', async () => {
    const holder = await openLmdbStore({ dataDir })
    expect(await openError()).toMatchObject({
      code: 'locked',
      message: `the data directory ${dataDir} is in use by process ${process.pid}`,
    })
    await holder.close()
    await withStore(() => undefined)
  })

  test.each([
    [1, 'A preview of 21 to 26 November 2026 wrote it'],
    [schemaVersion - 1, 'A preview of'],
    [schemaVersion + 1, 'A newer program wrote it: start that one'],
    [77, 'A newer program wrote it: start that one'],
  ])(
    'when its schema version is %i, with the way out, and the file stays as it was',
    async (version, words) => {
      await mkdir(dataDir, { recursive: true })
      // With databases that this program lacks, and without some that it has.
      for (const other of ['keys', 'weights']) {
        const root = openLmdb<Uint8Array, Uint8Array>({
          path: databasePath(dataDir),
          noSubdir: true,
          encoding: 'binary',
          pageSize: pageBytes,
        })
        for (const name of ['meta', other]) {
          const database = root.openDB<Uint8Array, Uint8Array>(name, {
            encoding: 'binary',
            keyEncoding: 'binary',
          })
          await database.put(Buffer.from('schema_version'), packRecord(0, [bytesOf(version, 0, 0, 0)]))
        }
        await root.close()
        const before = await readFile(databasePath(dataDir))
        const { code, message } = await openError()
        expect(code).toBe('unusable')
        expect(message).toContain(
          `understudy.mdb has schema version ${version}; this program supports ${schemaVersion}. ${words}`,
        )
        if (version < schemaVersion)
          expect(message).toMatch(/`understudy export`.*sends all pending posts again/)
        expect(await readFile(databasePath(dataDir))).toEqual(before)
        expect(openFilesIn(directory)).toEqual([])
        await rm(databasePath(dataDir))
      }
    },
  )

  test('when the database is of another program', async () => {
    await withStore(() => undefined)
    await rm(databasePath(dataDir))
    const root = openLmdb({ path: databasePath(dataDir), noSubdir: true })
    await root.openDB('books', {}).put('a', 'b')
    await root.close()
    const { code, message } = await openError()
    expect(code).toBe('unusable')
    expect(message).toMatch(/another program$/)
  })

  test.each([
    ['text', Buffer.from('this is not a database\n'.repeat(1000))],
    ['zeros', Buffer.alloc(65_536)],
    ['two bytes', Buffer.from('hi')],
  ])('when the database file is %s', async (_, bytes) => {
    await withStore(() => undefined)
    await writeFile(databasePath(dataDir), bytes)
    const { code, message } = await openError()
    expect(code).toBe('unusable')
    expect(message).toMatch(/is not a database of this program$/)
  })

  test('when the database file is truncated within its meta pages', async () => {
    await withStore((store) => store.appendCycle(largeCycleSample(1, 100_000)))
    await truncate(databasePath(dataDir), pageBytes)
    expect(await openError()).toMatchObject({ code: 'unusable' })
  })

  test('when the data directory is a file', async () => {
    await writeFile(join(directory, 'a'), '')
    expect(await openError()).toMatchObject({ code: 'unusable' })
  })

  test('and the refusal leaves it free for the next', async () => {
    await withStore(() => undefined)
    const whole = await stat(databasePath(dataDir))
    await writeFile(databasePath(dataDir), 'hi')
    await openError()
    await truncate(databasePath(dataDir), 0)
    await withStore((store) => store.appendCycle(cycleSample(1)))
    expect(whole.size).toBeGreaterThan(0)
  })
})

describe('damage', () => {
  test('a file truncated after its meta pages is an error on reading and does not end the process', async () => {
    await withStore((store) => store.appendCycle(largeCycleSample(1, 500_000)))
    const { size } = await stat(databasePath(dataDir))
    await truncate(databasePath(dataDir), size >> 1)
    // In a separate process, because LMDB writes messages to stderr.
    const child = `
      const { openLmdbStore } = await import(process.argv[1])
      const reads = async () => {
        const store = await openLmdbStore({ dataDir: process.argv[2] })
        try {
          for (const read of [() => store.readResponse(process.argv[3]), () => store.readRequest(1), () => store.readRecord(1)])
            read()
        } finally {
          await store.close()
        }
      }
      console.log(await reads().then(() => 'read', (error) => error.name))`
    const args = ['--input-type=module', '-e', child, built('index.js'), dataDir, cycleIdAt(1)]
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' })
    expect(output).toBe('StoreError\n')
  })

  test('a flipped bit in a record is an error, not a wrong result', async () => {
    await withStore((store) => store.appendCycle(largeCycleSample(1, 100_000)))
    const file = await openFile(databasePath(dataDir), 'r+')
    const { buffer } = await file.read(Buffer.alloc((await file.stat()).size))
    const response = buffer.indexOf(Buffer.alloc(64, 2))
    await file.write(bytesOf(3), 0, 1, response + 1000)
    await file.close()
    await withStore((store) => {
      expect(() => store.readResponse(cycleIdAt(1))).toThrow('the stored response is damaged')
      expect(store.readRequest(1)).toEqual(largeCycleSample(1, 100_000).request)
    })
  })
})

test('a write of which LMDB refuses one change stores nothing, and the next one is stored', async () => {
  const parts = await openLmdbParts({ dataDir })
  const { outcomes, weights } = parts.databases
  const write = (...keys: readonly Uint8Array[]) =>
    parts.writes.write(1, () => {
      weights.put(1, bytesOf(1))
      for (const key of keys) outcomes.put(key, bytesOf(1))
    })
  for (const key of [new Uint8Array(0), new Uint8Array(1979)]) {
    await expect(write(bytesOf(1), key)).rejects.toThrow()
    expect([...outcomes.getKeys({}), ...weights.getKeys({})]).toEqual([])
  }
  await write(bytesOf(1), new Uint8Array(1978))
  expect([...outcomes.getKeys({})]).toHaveLength(2)
  await parts.close()
})

test('a reader that was killed is forgotten within a minute, whether or not records expire', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const parts = await openLmdbParts({ dataDir })
  try {
    const reader = `
      const { openSnapshot } = await import(process.argv[1])
      const { store } = await openSnapshot(process.argv[2])
      store.lastCycle()
      console.log('reads')
      setInterval(() => 0, 1000)`
    const args = ['--input-type=module', '-e', reader, built('lmdb/snapshot.js'), databasePath(dataDir)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    // As it is on the disk: lmdb-js removes dead readers when it opens a file.
    const pid = Buffer.alloc(4)
    pid.writeInt32LE(child.pid ?? 0)
    const isListed = async (): Promise<boolean> =>
      (await readFile(`${databasePath(dataDir)}-lock`)).includes(pid)
    expect(await isListed()).toBe(true)
    vi.advanceTimersByTime(60_000)
    expect(await isListed()).toBe(false)
  } finally {
    await parts.close()
  }
})

describe('a store without free space', () => {
  test('refuses a write that would exceed its limit, and keeps everything stored before', async () => {
    await withStore(
      async (store) => {
        let count = 0
        const full = (async () => {
          for (;;) {
            await store.appendCycle(largeCycleSample(count + 1, 200_000))
            count++
          }
        })()
        await expect(full).rejects.toMatchObject({ code: 'full' })
        expect(count).toBeGreaterThan(3)
        expect(store.lastCycle()?.position).toBe(count)
        expect(store.readRecord(count)).toEqual(largeCycleSample(count, 200_000).record)
      },
      8 * 1024 * 1024,
    )
    await withStore((store) => store.appendCycle(largeCycleSample(1000, 200_000)))
  })

  test.runIf(hasFileSizeLimits())(
    'keeps its state when the disk refuses a write, and writes again once there is room',
    { timeout: 60_000 },
    () => {
      const child = `
        import { execFileSync } from 'node:child_process'
        import { statSync } from 'node:fs'
        const limit = (bytes) => execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=' + bytes + ':'])
        const { openLmdbStore } = await import(process.argv[1])
        const { largeCycleSample } = await import(process.argv[2])
        const store = await openLmdbStore({ dataDir: process.argv[3] })
        await store.appendCycle(largeCycleSample(1, 100_000))
        limit(statSync(process.argv[3] + '/understudy.mdb').size + 150_000)
        const outcomes = []
        const attempt = (number) => store.appendCycle(largeCycleSample(number, 100_000)).then(
          (position) => outcomes.push(position), (error) => outcomes.push(error.code))
        await attempt(2)
        await Promise.all([attempt(3), attempt(4)])
        outcomes.push(store.lastCycle().position, store.readRecord(1)[0], store.findCycle('20260101T0002') === undefined)
        limit('unlimited')
        await Promise.all([attempt(2), attempt(3)])
        outcomes.push(store.lastCycle().position, store.readRecord(3)[0])
        await store.close()
        console.log(JSON.stringify(outcomes))`
      const args = ['--input-type=module', '-e', child, built('index.js'), samples, dataDir]
      const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' })
      expect(JSON.parse(output)).toEqual(['full', 'full', 'full', 1, 3, true, 2, 3, 3, 5])
    },
  )
})

/** Node ignores SIGXFSZ, so that a limit on file size is a disk that refuses writes. prlimit is of util-linux. */
function hasFileSizeLimits(): boolean {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
