/**
 * One process per data directory: an exclusive flock(2) on `understudy.lock` in the directory. The kernel releases it
 * when the process ends, however it ends, and it holds across containers and network namespaces. The file contains the
 * process id and host name of the last holder, for the error message; its presence has no meaning.
 *
 * Node has no call for flock. On Linux the program flock(1) locks the file that it inherits: such a lock belongs to the
 * open file, which this process keeps. macOS locks at open (O_EXLOCK).
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { startProcess } from '../../base/index.js'
import { describe, StoreError } from '../store-error.js'
import { changeOwner, codeOf, isSameFile, notPlain } from './files.js'

export interface DirectoryLock {
  /** Unlocks the directory. */
  readonly release: () => Promise<void>
}

export const directoryLockName = 'understudy.lock'
const holderPattern = /^(\d{1,10}) (\S{1,255})\n$/
/** The exit status of flock(1) for a file that another process has locked. */
const lockedStatus = 1
/** <fcntl.h> of macOS; Node has no name for it. */
const darwinExclusiveLock = 0x20

/** Locks an existing directory. Rejects with a StoreError: `locked` names the process that holds it. */
export async function lockDirectory(dataDir: string): Promise<DirectoryLock> {
  const path = join(dataDir, directoryLockName)
  for (;;) {
    const fd = openLockFile(path, dataDir)
    try {
      await lockFile(fd, path, dataDir)
      // Another process may have removed the file between the opening and the lock.
      if (!isSameFile(fd, path)) {
        closeSync(fd)
        continue
      }
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

/** For the message of the next process. A full disk has no space for it; the lock is valid without it. */
function writeHolder(fd: number): void {
  try {
    ftruncateSync(fd)
    writeSync(fd, `${process.pid} ${hostname()}\n`, 0)
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error
  }
}

function openLockFile(path: string, dataDir: string): number {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  const lock = process.platform === 'darwin' ? darwinExclusiveLock : 0
  try {
    const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | lock, 0o600)
    const found = fstatSync(fd)
    if (found.isFile() && found.nlink <= 1) {
      changeOwner(fd, statSync(dataDir))
      return fd
    }
    closeSync(fd)
    throw notPlain(path)
  } catch (error) {
    if (error instanceof StoreError) throw error
    if (codeOf(error) === 'EAGAIN') throw lockedError(path, dataDir)
    throw new StoreError('unusable', `${path} cannot be opened: ${describe(error)}`, { cause: error })
  }
}

async function lockFile(fd: number, path: string, dataDir: string): Promise<void> {
  if (process.platform === 'darwin') return
  const child = startProcess('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  const [status, message] = await Promise.all([ended, text(child.stderr as NodeJS.ReadableStream)]).catch(
    (cause: unknown): never => {
      const reason = `${describe(cause)}; the program flock (package util-linux) is needed`
      throw new StoreError('unusable', `${path} cannot be locked: ${reason}`, { cause })
    },
  )
  if (status === 0) return
  if (status === lockedStatus) throw lockedError(path, dataDir)
  throw new StoreError(
    'unusable',
    `${path} cannot be locked: ${message.trim() || `flock ended with ${status}`}`,
  )
}

function lockedError(path: string, dataDir: string): StoreError {
  const [, pid, host] = holderPattern.exec(readFileSync(path, 'latin1')) ?? []
  const holder = pid === undefined ? 'another process' : `process ${pid}`
  const where = host === undefined || host === hostname() ? '' : ` on host ${host}`
  return new StoreError('locked', `the data directory ${dataDir} is in use by ${holder}${where}`)
}
