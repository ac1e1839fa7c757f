/** What becomes of an opening whose lock file LMDB cannot use. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { databasePath } from './databases.js'
import { openLmdbStore } from './open-lmdb-store.js'
import { cycleSample } from '../samples.js'
import { openSnapshot } from './snapshot.js'

const isRoot = process.getuid?.() === 0
/** Of nobody, on most systems; any but root's will do. */
const otherUser = 65534

/** A data directory with one cycle, its database and its lock file. */
async function used(): Promise<{ dataDir: string; path: string; lockPath: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'understudy-lock-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const store = await openLmdbStore({ dataDir })
  await store.appendCycle(cycleSample(1))
  await store.close()
  const path = databasePath(dataDir)
  return { dataDir, path, lockPath: `${path}-lock` }
}

test('a directory in the place of the lock file is told of', async () => {
  const { dataDir, path, lockPath } = await used()
  rmSync(lockPath)
  mkdirSync(lockPath)
  await expect(openLmdbStore({ dataDir })).rejects.toThrow(`${lockPath} is not a file`)
  await expect(openSnapshot(path)).rejects.toThrow(`${lockPath} is not a file`)
})

test('a lock file that this user may not write is told of, and does not keep it from reading', async () => {
  const { dataDir, lockPath } = await used()
  chmodSync(lockPath, isRoot ? 0o600 : 0o400)
  // To root every file is open: it makes itself another user, whom the data belongs to.
  if (isRoot) for (const owned of [dataDir, databasePath(dataDir)]) chownSync(owned, otherUser, otherUser)
  const child = `
    const { databasePath, openLmdbStore, openSnapshot } = await import(process.argv[1])
    if (process.argv[3] !== '') process.setuid(Number(process.argv[3]))
    console.log(await openLmdbStore({ dataDir: process.argv[2] }).then(() => 'opened', (error) => error.message))
    const snapshot = await openSnapshot(databasePath(process.argv[2]))
    console.log(snapshot.store.lastCycle().position)
    await snapshot.store.close()`
  const built = fileURLToPath(new URL('../../../dist/store/index.js', import.meta.url))
  const args = ['--input-type=module', '-e', child, built, dataDir, isRoot ? String(otherUser) : '']
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(status).toBe(0)
  const [refusal, position] = stdout.split('\n')
  expect(refusal).toMatch(/understudy\.mdb-lock cannot be made or written: EACCES: /)
  expect(position).toBe('1')
})

test('one that is missing is made of blocks of the disk, for the owner of the database, and nothing else stays', async () => {
  const { dataDir, path, lockPath } = await used()
  rmSync(lockPath)
  if (isRoot) chownSync(path, otherUser, otherUser)
  const snapshot = await openSnapshot(path)
  expect(snapshot.store.lastCycle()?.position).toBe(1)
  await snapshot.store.close()
  const { blocks, mode, size, uid } = statSync(lockPath)
  expect(blocks * 512).toBeGreaterThanOrEqual(size)
  expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o600, uid: statSync(path).uid })
  expect(readdirSync(dataDir).sort()).toEqual(['understudy.mdb', 'understudy.mdb-lock'])
  const store = await openLmdbStore({ dataDir })
  expect(await store.appendCycle(cycleSample(2))).toBe(2)
  await store.close()
})

test('one that is there stays as it is while others open the database', async () => {
  const { dataDir, path, lockPath } = await used()
  const { ino } = statSync(lockPath)
  const store = await openLmdbStore({ dataDir })
  const snapshots = await Promise.all(Array.from({ length: 4 }, () => openSnapshot(path)))
  await store.appendCycle(cycleSample(2))
  for (const snapshot of snapshots) {
    expect(snapshot.store.lastCycle()?.position).toBe(1)
    await snapshot.store.close()
  }
  await store.close()
  expect(statSync(lockPath).ino).toBe(ino)
})

test('one that its maker was killed over goes with the next start; another file of such a name stays', async () => {
  const { dataDir, lockPath } = await used()
  writeFileSync(`${lockPath}.${randomUUID()}`, 'half')
  writeFileSync(`${lockPath}.old`, 'mine')
  const store = await openLmdbStore({ dataDir })
  expect(readdirSync(dataDir).sort()).toEqual([
    'understudy.mdb',
    'understudy.mdb-lock',
    'understudy.mdb-lock.old',
  ])
  await store.close()
})

test('one that is taken for a left over while it is made is made again', async () => {
  const { dataDir, path, lockPath } = await used()
  rmSync(lockPath)
  const opening = openSnapshot(path)
  let taken: string | undefined
  while (taken === undefined) {
    // Its maker is called back at least three times between the file and its last name.
    await new Promise((resolve) => setImmediate(resolve))
    taken = readdirSync(dataDir).find((name) => name.startsWith('understudy.mdb-lock'))
  }
  expect(taken).not.toBe('understudy.mdb-lock')
  rmSync(join(dataDir, taken))
  const snapshot = await opening
  expect(snapshot.store.lastCycle()?.position).toBe(1)
  await snapshot.store.close()
  expect(readdirSync(dataDir).sort()).toEqual(['understudy.mdb', 'understudy.mdb-lock'])
  expect(statSync(lockPath).size).toBeGreaterThan(0)
})
