/** Backup and restore that fail: the first error is reported, and the directory is free for the next attempt. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cycleIdAt, cycleSample } from '../../../test/helpers/store-samples.js'
import { backUp, restore } from './backup.js'
import { databaseName } from './environment.js'
import { openLmdbStore } from './open-lmdb-store.js'

let scratch: string
let backupDir: string
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'understudy-backup-'))
  backupDir = join(scratch, 'backup')
  const store = await openLmdbStore({ dataDir: join(scratch, 'data') })
  await store.appendCycle(cycleSample(1))
  await store.close()
  await backUp(join(scratch, 'data'), backupDir)
})
afterEach(() => {
  rmSync(scratch, { recursive: true })
})

test('a backup is the database alone, without the lock of its directory', () => {
  expect(readdirSync(backupDir)).toEqual([databaseName])
})

test('a restore whose files cannot be removed reports why it failed, and unlocks its directory', async () => {
  const target = join(scratch, 'restored')
  let partial = ''
  const refused = restore(backupDir, target, (path) => {
    partial = path
    rmSync(path)
    // A file is removed, but no directory in its place.
    mkdirSync(path)
    return Promise.reject(new Error('the copy is damaged'))
  })
  await expect(refused).rejects.toThrow('the copy is damaged')
  rmSync(partial, { recursive: true })
  await restore(backupDir, target, () => Promise.resolve())
  const store = await openLmdbStore({ dataDir: target })
  expect(store.lastCycle()?.cycleId).toBe(cycleIdAt(1))
  await store.close()
})
