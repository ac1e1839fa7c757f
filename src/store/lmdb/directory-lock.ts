/**
 * One process per data directory: an exclusive lock of `understudy.lock` in the directory. The file contains the process id
 * and host name of the last holder, for the error message; its presence has no meaning.
 */
import { closeSync, constants, fstatSync, ftruncateSync, readFileSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { codeOf, firstLineOf, LockedError, openLocked } from '../../base/index.js'
import { StoreError } from '../store-error.js'
import { changeOwner, isSameFile, notPlain } from './files.js'

export interface DirectoryLock {
  readonly release: () => Promise<void>
}

export const directoryLockName = 'understudy.lock'
const holderPattern = /^(\d{1,10}) (\S{1,255})\n$/

/** Locks an existing directory. Rejects with a StoreError: `locked` names the process that holds it. */
export async function lockDirectory(dataDir: string): Promise<DirectoryLock> {
  const path = join(dataDir, directoryLockName)
  for (;;) {
    const fd = await openLockFile(path, dataDir)
    try {
      const file = fstatSync(fd)
      if (!file.isFile() || file.nlink > 1) throw notPlain(path)
      // Another process may have removed the file between the opening and the lock.
      if (!isSameFile(fd, path)) {
        closeSync(fd)
        continue
      }
      changeOwner(fd, statSync(dataDir))
      writeHolder(fd)
      return {
        release: () => {
          closeSync(fd)
          return Promise.resolve()
        },
      }
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }
}

/** Writes what the message of the next process names. A full disk has no space for it; the lock is valid without it. */
function writeHolder(fd: number): void {
  try {
    ftruncateSync(fd)
    writeSync(fd, `${process.pid} ${hostname()}\n`, 0)
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error
  }
}

async function openLockFile(path: string, dataDir: string): Promise<number> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    return await openLocked(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (error) {
    if (error instanceof LockedError) throw lockedError(path, dataDir)
    const what = (error as NodeJS.ErrnoException).syscall === 'open' ? 'opened' : 'locked'
    throw new StoreError('unusable', `${path} cannot be ${what}: ${firstLineOf(error)}`, { cause: error })
  }
}

function lockedError(path: string, dataDir: string): StoreError {
  const [, pid, host] = holderPattern.exec(readFileSync(path, 'latin1')) ?? []
  const holder = pid === undefined ? 'another process' : `process ${pid}`
  const where = host === undefined || host === hostname() ? '' : ` on host ${host}`
  return new StoreError('locked', `the data directory ${dataDir} is in use by ${holder}${where}`)
}
