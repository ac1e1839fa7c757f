/** A store whose file another process has changed, deleted or replaced. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openLmdbStore, type StoreError } from '../index.js'
import { cycleIdAt, cycleSample, imageSample, weightsSample } from '../../../test/helpers/store-samples.js'
import { databasePath } from './environment.js'
import { directoryLockName } from './directory-lock.js'

const samples = new URL('../../../test/helpers/store-samples.ts', import.meta.url).href

const imageKey = { gallId: 'g', postNo: 12, position: 3 }
/** Child processes run what `npm run build` made. */
const built = (name: string) => new URL(`../../../dist/store/${name}`, import.meta.url).href

let dataDir: string

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'understudy-store-'))
})

afterEach(() => rm(dataDir, { recursive: true }))

describe('a store whose file was changed by another process refuses writes until a restart', () => {
  const image = imageSample(1)

  /** Opens a store, stores a cycle, lets `interfere` act, and expects that every later write is refused. */
  async function expectStop(
    interfere: () => Promise<void>,
    message: RegExp,
    lastCycleId: string | null = cycleIdAt(1),
  ): Promise<void> {
    const stops: StoreError[] = []
    const store = await openLmdbStore({ dataDir, onStopped: (reason) => stops.push(reason) })
    try {
      await store.appendCycle(cycleSample(1))
      await interfere()
      const refusal: unknown = await store.appendCycle(cycleSample(3)).catch((error: unknown) => error)
      expect(refusal).toMatchObject({ code: 'failed', message: expect.stringMatching(message) as string })
      await expect(store.putImage(imageKey, image)).rejects.toBe(refusal)
      await expect(store.appendWeights([weightsSample('v1', 0.5)])).rejects.toBe(refusal)
      expect({ stops, healthy: store.healthy }).toEqual({ stops: [refusal], healthy: false })
      expect(store.lastCycle()?.cycleId ?? null).toBe(lastCycleId)
    } finally {
      await store.close()
    }
  }

  test('when another process has stored a cycle', async () => {
    // Without the lock, as on a file system that has none.
    const child = `
      const { openLmdbStore } = await import(process.argv[1])
      const { cycleSample } = await import(process.argv[2])
      const store = await openLmdbStore({ dataDir: process.argv[3], lock: { release: async () => {} } })
      await store.appendCycle(cycleSample(2))
      await store.close()`
    const args = ['--input-type=module', '-e', child, built('index.js'), samples, dataDir]
    await expectStop(
      () => Promise.resolve(void execFileSync(process.execPath, args)),
      /another process has stored the cycle 20260101T0002 at position 2/,
      cycleIdAt(2),
    )
    const store = await openLmdbStore({ dataDir })
    expect([...store.tail(1)].map(({ cycleId }) => cycleId)).toEqual([cycleIdAt(1), cycleIdAt(2)])
    expect(await store.appendCycle(cycleSample(3))).toBe(3)
    await store.close()
  })

  test('when the lock file is deleted, without which another process can open the directory', () =>
    expectStop(() => rm(join(dataDir, directoryLockName)), /understudy\.lock was deleted while it was open/))

  test('when a copy without any cycle is written over the file', async () => {
    const copy = join(dataDir, 'copy')
    await (await openLmdbStore({ dataDir })).close()
    await copyFile(databasePath(dataDir), copy)
    await expectStop(
      () => writeFile(databasePath(dataDir), readFileSync(copy)),
      /the cycle at position 1 is no longer in the file/,
      null,
    )
  })

  test('when an older copy is written over the file', async () => {
    const copy = join(dataDir, 'copy')
    const store = await openLmdbStore({ dataDir })
    await store.appendCycle(cycleSample(2))
    await store.close()
    await copyFile(databasePath(dataDir), copy)
    await expectStop(
      () => writeFile(databasePath(dataDir), readFileSync(copy)),
      /the cycle at position 2 is no longer in the file, which was overwritten while it was open/,
      null,
    )
  })

  test('when the file is deleted', () =>
    expectStop(() => rm(databasePath(dataDir)), /understudy\.mdb was deleted while it was open/))

  test('when the file is replaced', () =>
    expectStop(async () => {
      await copyFile(databasePath(dataDir), `${databasePath(dataDir)}.copy`)
      await rename(`${databasePath(dataDir)}.copy`, databasePath(dataDir))
    }, /understudy\.mdb was replaced while it was open/))
})
