/** Opening a database whose lock file LMDB cannot use. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { builtFile } from '../../base/index.js'
import { databasePath } from './environment.js'
import { openLmdbStore } from './open-lmdb-store.js'
import { cycleSample } from '../../../test/helpers/store-samples.js'
import { openSnapshot } from './snapshot.js'

/** Has LMDB's exclusive lock of the file until another process waits for it. */
const closesWhileAnotherOpens = `
import fcntl, os, sys
file = open(sys.argv[1], 'r+b')
fcntl.lockf(file, fcntl.LOCK_EX, 1, 0)
print('locked', flush=True)
name = ':%d ' % os.fstat(file.fileno()).st_ino
while not any('->' in line and name in line for line in open('/proc/locks')):
    pass
`

const isRoot = process.getuid?.() === 0
/** The user `nobody` on most systems. */
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

test('a directory in the place of the lock file is refused', async () => {
  const { dataDir, path, lockPath } = await used()
  rmSync(lockPath)
  mkdirSync(lockPath)
  await expect(openLmdbStore({ dataDir })).rejects.toThrow(`${lockPath} is not a regular file`)
  await expect(openSnapshot(path)).rejects.toThrow(`${lockPath} is not a regular file`)
})

test('a lock file that this user may not write prevents writing, not reading', async () => {
  const { dataDir, lockPath } = await used()
  chmodSync(lockPath, isRoot ? 0o600 : 0o400)
  // Root may open every file, so the child becomes another user, who owns the data.
  const owned = ['', 'understudy.mdb', 'understudy.lock'].map((name) => join(dataDir, name))
  if (isRoot) for (const path of owned) chownSync(path, otherUser, otherUser)
  const child = `
    const { databasePath, openLmdbStore, openSnapshot } = await import(process.argv[1])
    if (process.argv[3] !== '') process.setuid(Number(process.argv[3]))
    console.log(await openLmdbStore({ dataDir: process.argv[2] }).then(() => 'opened', (error) => error.message))
    const snapshot = await openSnapshot(databasePath(process.argv[2]))
    console.log(snapshot.store.lastCycle().position)
    await snapshot.store.close()`
  const built = fileURLToPath(builtFile('store/index.js'))
  const args = ['--input-type=module', '-e', child, built, dataDir, isRoot ? String(otherUser) : '']
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(status).toBe(0)
  const [refusal, position] = stdout.split('\n')
  expect(refusal).toMatch(/understudy\.mdb-lock cannot be created or written: EACCES: /)
  expect(position).toBe('1')
})

test('a missing lock file is created on disk for the owner of the database, and no other file is left', async () => {
  const { dataDir, path, lockPath } = await used()
  rmSync(lockPath)
  if (isRoot) chownSync(path, otherUser, otherUser)
  const snapshot = await openSnapshot(path)
  expect(snapshot.store.lastCycle()?.position).toBe(1)
  await snapshot.store.close()
  const { blocks, mode, size, uid } = statSync(lockPath)
  expect(blocks * 512).toBeGreaterThanOrEqual(size)
  expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o600, uid: statSync(path).uid })
  expect(readdirSync(dataDir).sort()).toEqual(['understudy.lock', 'understudy.mdb', 'understudy.mdb-lock'])
  const store = await openLmdbStore({ dataDir })
  expect(await store.appendCycle(cycleSample(2))).toBe(2)
  await store.close()
})

test('an existing lock file stays the same while others open the database', async () => {
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

test.each([
  ['openLmdbStore({ dataDir })', 'cannot be opened'],
  ['openSnapshot(databasePath(dataDir))', 'cannot be read'],
])(
  '%s while the last other process closes the file says so, and the next process opens it',
  async (...row) => {
    const [open, refusal] = row
    const { dataDir, path, lockPath } = await used()
    const opens = `
    const { databasePath, openLmdbStore, openSnapshot } = await import(process.argv[1])
    const dataDir = process.argv[2]
    console.log(await ${open}.then(() => 'opened', (error) => error.message))`
    const built = fileURLToPath(builtFile('store/index.js'))
    // The closed store has destroyed the mutexes, with this lock, which such a process gives up last.
    const closing = spawn('python3', ['-c', closesWhileAnotherOpens, lockPath], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void closing.kill())
    await once(closing.stdout, 'data')
    const opened = (): string =>
      spawnSync(process.execPath, ['--input-type=module', '-e', opens, built, dataDir], { encoding: 'utf8' })
        .stdout
    const problem = 'another process was just closing it, start again (Invalid argument'
    expect(opened()).toContain(`${path} ${refusal}: ${problem}`)
    expect(opened()).toBe('opened\n')
  },
)
