/**
 * Prepares the lock file of a database, which is LMDB's table of readers, before LMDB opens it. lmdb-js 3.5.6 crashes with
 * a segmentation fault if it may not open the lock file or if that is not a file. LMDB creates a sparse file, and on a
 * full disk the first write to it ends the process with SIGBUS. So this module creates the file with written zeros, which
 * LMDB treats as a new lock file.
 *
 * An existing lock file is never opened here: another process may use it, and closing it would release the locks that LMDB
 * holds on it in this process. Nor is it replaced, because readers in other containers cannot be detected.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync, type Stats } from 'node:fs'
import { access, constants, lstat } from 'node:fs/promises'
import { codeOf, firstLineOf } from '../../base/index.js'
import { changeOwner, checkRoom, notPlain } from './files.js'
import { StoreError } from '../store-error.js'

/** The size that LMDB creates for 126 readers, the default of lmdb-js. It extends a shorter file. */
const lockFileBytes = 8272
const forbiddenCodes = ['EACCES', 'EROFS']

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
    if (lockFile === undefined) make(lockPath, await unlessMissing(lstat(path)))
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

/** In one turn of the event loop: another process could open an incomplete file for some microseconds only. */
function make(lockPath: string, owner: Stats | undefined): void {
  let fd: number
  try {
    fd = openSync(lockPath, 'wx', 0o600)
  } catch (error) {
    // Another process has created it.
    if (codeOf(error) === 'EEXIST') return
    throw error
  }
  try {
    const bytes = writeSync(fd, new Uint8Array(lockFileBytes))
    if (bytes < lockFileBytes) throw new StoreError('full', `no room for ${lockPath}`)
    fsyncSync(fd)
    // If root only reads a database, its owner must be able to open the lock file later. If the owner of the file cannot
    // be changed, this process can still use it.
    if (owner !== undefined) changeOwner(fd, owner)
  } catch (error) {
    rmSync(lockPath, { force: true })
    throw error
  } finally {
    closeSync(fd)
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
