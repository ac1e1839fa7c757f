/** A store whose file was deleted or replaced while it was open. */
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openLmdbStore, type StoreError } from '../index.js'
import { cycleIdAt, cycleSample, imageSample, weightsSample } from '../../../test/helpers/store-samples.js'
import { databasePath } from './environment.js'
import { directoryLockName } from './directory-lock.js'

const imageKey = { gallId: 'g', postNo: 12, position: 3 }

let dataDir: string

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'understudy-store-'))
})

afterEach(() => rm(dataDir, { recursive: true }))

describe('a store whose file was deleted or replaced refuses writes until a restart', () => {
  const image = imageSample(1)

  /** Opens a store, stores a cycle, lets `interfere` act, and expects that every later write is refused. */
  async function expectStop(interfere: () => Promise<void>, message: RegExp): Promise<void> {
    const stops: StoreError[] = []
    const store = await openLmdbStore({ dataDir, onStopped: (reason) => stops.push(reason) })
    try {
      await store.appendCycle(cycleSample(1))
      await interfere()
      const refusal: unknown = await store.appendCycle(cycleSample(3)).catch((error: unknown) => error)
      expect(refusal).toMatchObject({ code: 'failed', message: expect.stringMatching(message) as string })
      await expect(store.putImage(imageKey, image)).rejects.toBe(refusal)
      await expect(store.appendWeights(1, weightsSample('v1', 0.5))).rejects.toBe(refusal)
      expect({ stops, healthy: store.healthy }).toEqual({ stops: [refusal], healthy: false })
      expect(store.lastCycle()?.cycleId).toBe(cycleIdAt(1))
    } finally {
      await store.close()
    }
  }

  test('when the lock file is deleted, without which another process can open the directory', () =>
    expectStop(() => rm(join(dataDir, directoryLockName)), /understudy\.lock was deleted while it was open/))

  test('when the file is deleted', () =>
    expectStop(() => rm(databasePath(dataDir)), /understudy\.mdb was deleted while it was open/))

  test('when the file is replaced', () =>
    expectStop(async () => {
      await copyFile(databasePath(dataDir), `${databasePath(dataDir)}.copy`)
      await rename(`${databasePath(dataDir)}.copy`, databasePath(dataDir))
    }, /understudy\.mdb was replaced while it was open/))
})
