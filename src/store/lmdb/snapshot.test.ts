/** Snapshots of real LMDB files: one moment, whatever is written meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { packRecord, schemaKey, schemaVersion } from '../records/index.js'
import { databasePath, openDatabases } from './environment.js'
import { openLmdbStore } from './open-lmdb-store.js'
import { openFilesIn } from '../../../test/helpers/open-files.js'
import {
  bytesOf,
  cycleIdAt,
  cycleSample,
  imageSample,
  weightsSample,
} from '../../../test/helpers/store-samples.js'
import { openSnapshot } from './snapshot.js'
import type { Store } from '../store.js'

let dataDir: string
let store: Store
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'understudy-snapshot-'))
  store = await openLmdbStore({ dataDir })
})
afterEach(async () => {
  await store.close()
  rmSync(dataDir, { recursive: true })
})

describe('a snapshot', () => {
  test('does not change while cycles are stored', async () => {
    await store.appendCycle(cycleSample(1))
    await store.savePool(1, bytesOf(1))
    await store.putImage({ gallId: 'g', postNo: 1, position: 1 }, imageSample(1))
    const snapshot = await openSnapshot(databasePath(dataDir))
    for (let number = 2; number <= 5; number++) {
      await store.appendCycle(cycleSample(number))
      await store.savePool(number, bytesOf(number))
      // lmdb-js gives up its own read transactions when timers run.
      await new Promise((resolve) => setTimeout(resolve, 0))
    }
    expect(snapshot.store.lastCycle()?.position).toBe(1)
    expect(snapshot.store.findCycle(cycleIdAt(3))).toBeUndefined()
    expect(snapshot.store.savedPools()).toEqual([1])
    expect(snapshot.store.readSavedPool(1)).toEqual(bytesOf(1))
    expect([...snapshot.store.imageKeys()]).toHaveLength(1)
    expect(store.lastCycle()?.position).toBe(5)
    await snapshot.store.close()
  })

  test('refuses writes', async () => {
    const snapshot = await openSnapshot(databasePath(dataDir))
    await expect(snapshot.store.appendWeights(1, weightsSample('v1', 0.5))).rejects.toThrow()
    await expect(snapshot.store.putOutcomes([])).rejects.toThrow('reading only')
    await snapshot.store.close()
  })

  test.each([schemaVersion - 1, schemaVersion + 1])(
    'of a file with schema version %i is refused, and the file is closed',
    async (version) => {
      await store.close()
      const databases = await openDatabases(dataDir, 1 << 30)
      const record = packRecord(0, [bytesOf(version, 0, 0, 0)])
      databases.root.transactionSync(() => void databases.meta.put(schemaKey, record))
      await databases.root.close()
      await expect(openSnapshot(databasePath(dataDir))).rejects.toMatchObject({
        code: 'unusable',
        message: expect.stringContaining(`has schema version ${version}`) as string,
      })
      expect(openFilesIn(dataDir)).toEqual([])
    },
  )

  test('copies itself to a file that opens with the same cycles', async () => {
    for (let number = 1; number <= 3; number++) await store.appendCycle(cycleSample(number))
    const snapshot = await openSnapshot(databasePath(dataDir))
    const path = join(dataDir, 'copy')
    await snapshot.copyTo(path)
    await snapshot.store.close()
    const copy = await openSnapshot(path, { whole: true })
    expect([...copy.store.tail(1)]).toEqual([...store.tail(1)])
    await copy.store.close()
  })
})
