/**
 * The lock file beside a database, LMDB's table of readers, before LMDB opens it: one that it may not open, or that is
 * no file, ends lmdb-js 3.5.6 by a segmentation fault. One that LMDB makes is a hole, and where the disk is full, to touch
 * it ends the process with SIGBUS: so it is made here, of written zeros, which LMDB takes for a new one.
 *
 * One that is there is never opened here: another process may use it, and to close it would take from this process the
 * locks that LMDB has on it. Nor is it replaced, since readers in other containers cannot be told of.
 */
import { randomUUID } from 'node:crypto'
import { access, constants, link, lstat, open, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { diskBytesFree, giveFile } from './files.js'
import { describe, StoreError } from '../store-error.js'

export interface LockFileOptions {
  /** Who only reads does without one that this user may neither write nor make: LMDB leaves it out then. */
  readonly readOnly: boolean
}

/** What LMDB makes for 126 readers, the default of lmdb-js. It lengthens a file that is shorter. */
const lockFileBytes = 8272
const forbiddenCodes = ['EACCES', 'EROFS']
/** Of a file system that gives a file no second name: LMDB makes its file there. */
const unableCodes = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']
/** What `randomUUID` gives. */
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Resolves when LMDB can open the lock file of the database `path`, which is made where it is missing. Rejects with a
 * StoreError that names it: `full` where the disk has no room for what it lacks, else `unusable`.
 */
export async function prepareLockFile(path: string, { readOnly }: LockFileOptions): Promise<void> {
  const lockPath = `${path}-lock`
  try {
    const found = await unlessMissing(lstat(lockPath))
    if (found === undefined) await make(lockPath, path)
    else if (!found.isFile()) throw new StoreError('unusable', `${lockPath} is not a plain file`)
    else {
      await access(lockPath, constants.R_OK | constants.W_OK)
      if (found.blocks === 0) await checkRoom(lockPath)
    }
  } catch (error) {
    if (error instanceof StoreError) throw error
    if (readOnly && forbiddenCodes.includes(codeOf(error))) return
    throw new StoreError('unusable', `${lockPath} cannot be created or written: ${describe(error)}`, {
      cause: error,
    })
  }
}

/** For a file without a block of the disk: empty, or a hole that a process before this one made and could not touch. */
async function checkRoom(lockPath: string): Promise<void> {
  const bytesFree = await diskBytesFree(lockPath)
  if (bytesFree < lockFileBytes)
    throw new StoreError(
      'full',
      `${lockPath} has no room on its disk: ${bytesFree} bytes are free, and it holds none yet`,
    )
}

/** Whether `name` is that of a lock file, of the database `databaseName`, whose maker was killed or is at work. */
export function isUnfinishedLockFile(name: string, databaseName: string): boolean {
  const prefix = `${databaseName}-lock.`
  return name.startsWith(prefix) && uuidForm.test(name.slice(prefix.length))
}

/**
 * Removes those of the database `path`. One whose maker is at work he makes again. What this user may not remove stays:
 * it harms nobody.
 */
export async function removeUnfinishedLockFiles(path: string): Promise<void> {
  try {
    const names = await readdir(dirname(path))
    for (const name of names.filter((name) => isUnfinishedLockFile(name, basename(path))))
      await rm(join(dirname(path), name), { force: true })
  } catch {
    // Nothing of it matters.
  }
}

/** Under another name first: whoever opens the lock file finds it whole, and one that came meanwhile stays. */
async function make(lockPath: string, path: string): Promise<void> {
  for (;;) {
    const freshPath = `${lockPath}.${randomUUID()}`
    try {
      await writeZeros(freshPath, path)
      await link(freshPath, lockPath)
      return
    } catch (error) {
      if (['EEXIST', ...unableCodes].includes(codeOf(error))) return
      const { syscall } = error as NodeJS.ErrnoException
      if (syscall !== 'link' || codeOf(error) !== 'ENOENT') throw error
      // Another process took it for one that was left behind.
    } finally {
      await rm(freshPath, { force: true })
    }
  }
}

async function writeZeros(freshPath: string, path: string): Promise<void> {
  const file = await open(freshPath, 'wx', 0o600)
  try {
    await file.writeFile(new Uint8Array(lockFileBytes))
    await file.sync()
    const database = await unlessMissing(lstat(path))
    // What root only looks at is for its owner to open afterwards. Where it cannot be his, it is of use to this process.
    if (database !== undefined) giveFile(file.fd, database)
  } finally {
    await file.close()
  }
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}
