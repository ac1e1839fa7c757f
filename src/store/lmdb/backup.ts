/**
 * A data directory copied while a server writes to it, and put back. Either way the file grows under a temporary name,
 * is flushed, and gets its real one last: `understudy.mdb` is there whole or not at all.
 */
import { chmod, copyFile, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { databaseName, databasePath } from './databases.js'
import { makeDirectories } from './directories.js'
import { directoryLockName, lockDirectory } from './directory-lock.js'
import { checkReadableFile } from './file-check.js'
import { giveFile } from './file-owner.js'
import { countRecords, type RecordCounts } from './inspect.js'
import { isUnfinishedLockFile, removeUnfinishedLockFiles } from './lmdb-lock-file.js'
import { openSnapshot } from './snapshot.js'
import { describe, StoreError } from '../store-error.js'

/** What a backup holds. */
export interface BackupFacts {
  readonly counts: RecordCounts
  /** Null before the first cycle. */
  readonly lastCycleId: string | null
  /** Of the file. */
  readonly bytes: number
}

export interface Restored<T> {
  readonly verified: T
  /** What the operator should hear of, in a line; null where there is nothing. */
  readonly remark: string | null
}

const partialName = `${databaseName}.partial`
const leftOverNames = new Set([partialName, `${partialName}-lock`, directoryLockName, `${databaseName}-lock`])

/**
 * Copies the database of `dataDir` as of now to `backupDir`, which is made where it is missing and is empty otherwise.
 * A server may run and write. Rejects with a StoreError that says what is wrong; what was made by then is gone.
 */
export async function backUp(dataDir: string, backupDir: string): Promise<BackupFacts> {
  return placeDatabase(backupDir, async (partial) => {
    const snapshot = await openSnapshot(databasePath(dataDir))
    try {
      await snapshot.copyTo(partial)
    } catch (error) {
      throw copyError(error, databasePath(dataDir), partial)
    } finally {
      await snapshot.store.close()
    }
    const copy = await openSnapshot(partial, { whole: true })
    try {
      const { size } = await stat(partial)
      const lastCycleId = copy.store.lastCycle()?.cycleId ?? null
      return { counts: countRecords(copy.databases), lastCycleId, bytes: size }
    } finally {
      await copy.store.close()
    }
  })
}

/**
 * LMDB's own errors are about what it reads, and so is EFAULT, of a page that the disk does not give. All others of the
 * system are about what it writes.
 */
function copyError(error: unknown, source: string, target: string): StoreError {
  const reason = describe(error)
  const what = /^(MDB_|Bad address)/.test(reason)
    ? `${source} cannot be copied`
    : `${target} cannot be written`
  return new StoreError('failed', `${what}: ${reason}`, { cause: error })
}

/**
 * Copies the database of `backupDir` to `dataDir`, which is made where it is missing and is empty otherwise. `verify` is
 * given the copy; when it rejects, so does this, and what was made by then is gone.
 */
export async function restore<T>(
  backupDir: string,
  dataDir: string,
  verify: (path: string) => Promise<T>,
): Promise<Restored<T>> {
  await checkReadableFile(databasePath(backupDir), true)
  return placeDatabase(dataDir, async (partial) => {
    await copyFile(databasePath(backupDir), partial)
    await checkReadableFile(partial, true)
    const verified = await verify(partial)
    return { verified, remark: await giveToOwner(partial, dataDir) }
  })
}

/** Lets `write` make the database of an empty directory under another name; all is flushed before it gets its own. */
async function placeDatabase<T>(directory: string, write: (partial: string) => Promise<T>): Promise<T> {
  const path = resolve(directory)
  const created = makeDirectory(path)
  const lock = await lockDirectory(path)
  const partial = join(path, partialName)
  let isPlaced = false
  try {
    const found = (await readdir(path)).find((name) => !isLeftOver(name))
    if (found !== undefined) throw new StoreError('unusable', `${path} is not empty: ${found} is in it`)
    await removePartial(partial)
    await removeUnfinishedLockFiles(databasePath(path))
    const result = await write(partial)
    await chmod(partial, 0o600)
    await flush(partial)
    await rename(partial, databasePath(path))
    isPlaced = true
    for (let level = path; ; level = dirname(level)) {
      await flush(level)
      if (created === undefined || level === dirname(created)) break
    }
    return result
  } finally {
    await removePartial(partial)
    // Under the lock: whoever gets the directory next finds nothing going away.
    if (!isPlaced && created !== undefined) await removeEmpty(path, created)
    await lock.release()
  }
}

/** What a copy that was broken off, a lock of ours, or LMDB may leave behind; nothing of it matters. */
function isLeftOver(name: string): boolean {
  return (
    leftOverNames.has(name) ||
    [databaseName, partialName].some((database) => isUnfinishedLockFile(name, database))
  )
}

async function removePartial(partial: string): Promise<void> {
  await rm(partial, { force: true })
  await rm(`${partial}-lock`, { force: true })
  await removeUnfinishedLockFiles(partial)
}

/** What root restores is for the user whose directory it is, and who serves it. Gives a remark where he cannot have it. */
async function giveToOwner(path: string, directory: string): Promise<string | null> {
  const owner = await stat(directory)
  const file = await open(path, 'r')
  try {
    if (await giveFile(file, owner)) return null
    const { uid, gid } = await file.stat()
    return (
      `${databasePath(directory)} belongs to user ${uid} and group ${gid}; this process may not give it to the owner ` +
      `of the directory, user ${owner.uid} and group ${owner.gid}`
    )
  } finally {
    await file.close()
  }
}

/** Gives the first directory that had to be made. */
function makeDirectory(path: string): string | undefined {
  try {
    return makeDirectories(path)
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `${path} cannot be made: ${describe(error)}`, { cause: error })
  }
}

/** From `path`, which is locked, up to `top`, unless somebody has put something there. */
async function removeEmpty(path: string, top: string): Promise<void> {
  try {
    await rm(join(path, directoryLockName), { force: true })
    for (let level = path; level.length >= top.length; level = dirname(level)) await rmdir(level)
  } catch {
    // What is not empty stays.
  }
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}
