/**
 * Backup and restore of a data directory; a server may write to it during a backup. The new file has a temporary name
 * until it is complete and flushed, so `understudy.mdb` is complete or absent.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'
import { copyFile, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { firstLineOf, flushDirectory, withRelease } from '../../base/index.js'
import { countRecords, type RecordCounts } from '../records/index.js'
import { databaseName, databasePath } from './environment.js'
import { makeDirectories } from './directories.js'
import { directoryLockName, lockDirectory } from './directory-lock.js'
import { checkDatabaseFile } from './file-check.js'
import { changeOwner, flushFile } from './files.js'
import { openSnapshot } from './snapshot.js'
import { upgradeCopy } from './upgrade.js'
import { StoreError } from '../store-error.js'

export interface BackupFacts {
  readonly counts: RecordCounts
  /** Null before the first cycle. */
  readonly lastCycleId: string | null
  /** The hash of that cycle: see docs/data.md. */
  readonly lastHash: string | null
  readonly bytes: number
}

export interface Restored<T> {
  readonly verified: T
  /** A note for the operator, in one line, or null. */
  readonly note: string | null
}

const partialName = `${databaseName}.partial`
/** What an interrupted copy, a lock or LMDB may have left behind; none of it holds data. */
const leftOverNames = new Set([partialName, `${partialName}-lock`, directoryLockName, `${databaseName}-lock`])

/**
 * Copies the database of `dataDir` as of now to `backupDir`, which is created if it is missing and must otherwise be empty.
 * A server may run and write. Rejects with a StoreError that states what is wrong; the files that it has created are deleted.
 */
export async function backUp(dataDir: string, backupDir: string): Promise<BackupFacts> {
  return placeDatabase(backupDir, async (partial) => {
    const snapshot = await openSnapshot(databasePath(dataDir))
    const copying = (): Promise<void> =>
      snapshot.copyTo(partial).catch((error: unknown) => {
        throw copyError(error, databasePath(dataDir), partial)
      })
    await withRelease(copying, () => snapshot.store.close())
    return factsOf(partial)
  })
}

async function factsOf(file: string): Promise<BackupFacts> {
  const copy = await openSnapshot(file, { whole: true })
  const read = async (): Promise<BackupFacts> => {
    const { size } = await stat(file)
    const last = copy.store.lastCycle()
    return {
      counts: countRecords(copy.databases),
      lastCycleId: last?.cycleId ?? null,
      lastHash: (last && copy.store.hashes(last.position)?.hash) ?? null,
      bytes: size,
    }
  }
  return withRelease(read, () => copy.store.close())
}

/**
 * LMDB's own errors are about what it reads, and so is EFAULT, for a page that the disk cannot read. All others of the
 * system are about what it writes.
 */
function copyError(error: unknown, source: string, target: string): StoreError {
  const reason = firstLineOf(error)
  const what = /^(MDB_|Bad address)/.test(reason)
    ? `${source} cannot be copied`
    : `${target} cannot be written`
  return new StoreError('failed', `${what}: ${reason}`, { cause: error })
}

/**
 * Copies the database of `backupDir` to `dataDir`, which is created if it is missing and must otherwise be empty. `verify`
 * receives the copy, in the layout of this program; when it rejects, so does this, and the files that it has created are deleted.
 */
export async function restore<T>(
  backupDir: string,
  dataDir: string,
  verify: (path: string) => Promise<T>,
): Promise<Restored<T>> {
  await checkDatabaseFile(databasePath(backupDir), 'read whole')
  return placeDatabase(dataDir, async (partial) => {
    if (!(await upgradeCopy(databasePath(backupDir), partial)))
      await copyFile(databasePath(backupDir), partial, constants.COPYFILE_EXCL)
    // Before it is verified: LMDB opens it as its owner.
    const note = giveToDirectoryOwner(partial, dataDir)
    await checkDatabaseFile(partial, 'read whole')
    return { verified: await verify(partial), note }
  })
}

/** Creates the database of an empty directory: `write` makes it under another name, and it is flushed before the rename. */
async function placeDatabase<T>(directory: string, write: (partial: string) => Promise<T>): Promise<T> {
  const path = resolve(directory)
  const created = makeDirectory(path)
  const lock = await lockDirectory(path)
  const partial = join(path, partialName)
  let isPlaced = false
  const createDatabase = async (): Promise<T> => {
    const entry = (await readdir(path)).find((name) => !leftOverNames.has(name))
    if (entry !== undefined) throw new StoreError('unusable', `${path} is not empty: ${entry} is in it`)
    await removePartial(partial)
    const result = await write(partial)
    flushFile(partial)
    await rename(partial, databasePath(path))
    isPlaced = true
    flushDirectory(path)
    return result
  }
  // While the lock is held: the next holder of the directory must not see files disappear.
  const clean = async (): Promise<void> => {
    await removePartial(partial)
    await rm(join(path, directoryLockName), { force: true })
    if (!isPlaced && created !== undefined) await removeEmpty(path, created)
  }
  return withRelease(
    () => withRelease(createDatabase, clean),
    () => lock.release(),
  )
}

async function removePartial(partial: string): Promise<void> {
  await rm(partial, { force: true })
  await rm(`${partial}-lock`, { force: true })
}

/** Gives a restored file to the owner of the directory, who serves it. Returns a note if that is not possible. */
function giveToDirectoryOwner(path: string, directory: string): string | null {
  const owner = statSync(directory)
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    if (changeOwner(fd, owner)) return null
    const { uid, gid } = fstatSync(fd)
    return (
      `${databasePath(directory)} belongs to user ${uid} and group ${gid}; this process may not give it to the owner ` +
      `of the directory, user ${owner.uid} and group ${owner.gid}`
    )
  } finally {
    closeSync(fd)
  }
}

/** Returns the uppermost directory that was created. */
function makeDirectory(path: string): string | undefined {
  try {
    return makeDirectories(path)
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `${path} cannot be created: ${firstLineOf(error)}`, { cause: error })
  }
}

/** Removes the directories from `path`, which is locked, up to `top`, as far as they are empty. */
async function removeEmpty(path: string, top: string): Promise<void> {
  try {
    for (let level = path; level.length >= top.length; level = dirname(level)) await rmdir(level)
  } catch {
    // What is not empty stays.
  }
}
