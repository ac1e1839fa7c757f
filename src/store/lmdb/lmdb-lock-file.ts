/**
 * Prepares the lock file of a database, which is LMDB's table of readers, before LMDB opens it. lmdb-js 3.5.6 crashes with
 * a segmentation fault if it may not open the lock file or if that is not a file. LMDB creates a sparse file, and on a
 * full disk the first write to it ends the process with SIGBUS. So this module creates the file with written zeros, which
 * LMDB treats as a new lock file.
 *
 * An existing lock file is never opened here: another process may use it, and closing it would release the locks that LMDB
 * holds on it in this process. Nor is it replaced, because readers in other containers cannot be detected.
 */
import { randomUUID } from 'node:crypto'
import { access, constants, link, lstat, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, firstLineOf, ignoringErrors } from '../../base/index.js'
import { changeOwner, checkRoom, notPlain } from './files.js'
import { StoreError } from '../store-error.js'

/** The size that LMDB creates for 126 readers, the default of lmdb-js. It extends a shorter file. */
const lockFileBytes = 8272
const forbiddenCodes = ['EACCES', 'EROFS']
/** Errors of a file system without hard links: LMDB creates the file itself there. */
const unableCodes = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']
/** A database or a copy of it in progress, and a `randomUUID`. */
const unfinishedPattern = /^understudy\.mdb(\.partial)?-lock\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Resolves when LMDB can open the lock file of the database `path`, which is created if it is missing. Rejects with
 * a StoreError that names it: `full` if the disk has no space for it, else `unusable`. `readOnly`: a reader works without a
 * lock file that this user may neither write nor create; LMDB then uses none.
 */
export async function prepareLockFile(
  path: string,
  { readOnly }: { readonly readOnly: boolean },
): Promise<void> {
  const lockPath = `${path}-lock`
  try {
    const lockFile = await unlessMissing(lstat(lockPath))
    if (lockFile === undefined) await make(lockPath, path)
    else if (!lockFile.isFile()) throw notPlain(lockPath)
    else {
      await access(lockPath, constants.R_OK | constants.W_OK)
      // It is empty, or a sparse file that an earlier process created and could not write.
      if (lockFile.blocks === 0) await checkRoom(lockPath, lockFileBytes, 'on its disk')
    }
  } catch (error) {
    if (error instanceof StoreError) throw error
    if (readOnly && forbiddenCodes.includes(codeOf(error))) return
    throw new StoreError('unusable', `${lockPath} cannot be created or written: ${firstLineOf(error)}`, {
      cause: error,
    })
  }
}

/** Whether `name` is that of an unfinished lock file: its creator was killed or is still running. */
export function isUnfinishedLockFile(name: string): boolean {
  return unfinishedPattern.test(name)
}

/**
 * Removes the unfinished lock files of a data directory. A creator that is still running creates its file again. A file
 * that this user may not remove stays, and is harmless.
 */
export async function removeUnfinishedLockFiles(dataDir: string): Promise<void> {
  try {
    for (const name of (await readdir(dataDir)).filter(isUnfinishedLockFile))
      await rm(join(dataDir, name), { force: true })
  } catch {
    // Unfinished lock files are harmless.
  }
}

/** Writes the file under another name and links it: no process opens an incomplete one, and one created meanwhile is kept. */
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
      // Another process removed it as an unfinished one.
    } finally {
      await ignoringErrors(() => rm(freshPath, { force: true }))
    }
  }
}

async function writeZeros(freshPath: string, path: string): Promise<void> {
  const file = await open(freshPath, 'wx', 0o600)
  try {
    await file.writeFile(new Uint8Array(lockFileBytes))
    await file.sync()
    const database = await unlessMissing(lstat(path))
    // If root only reads a database, its owner must be able to open the lock file later. If the owner of the file cannot
    // be changed, this process can still use it.
    if (database !== undefined) changeOwner(file.fd, database)
  } finally {
    await file.close()
  }
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
