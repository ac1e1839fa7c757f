/**
 * One process per directory: an exclusive flock(2) on the directory itself. The kernel releases it when the process ends,
 * however it ends, it holds across containers, and it needs no file on a disk that may be full. Node has no call for
 * flock: on Linux the program flock(1) locks the descriptor that it inherits, and macOS locks at open (O_EXLOCK).
 */
import { spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { codeOf } from './errors.js'

/** The exit status of flock(1) when another process has the lock. */
const lockedStatus = 1
/** <fcntl.h> of macOS; Node has no name for it. */
const darwinExclusiveLock = 0x20

/** Another process has locked the directory. */
export class DirectoryLockedError extends Error {
  override readonly name = 'DirectoryLockedError'

  constructor(path: string) {
    super(`the directory ${path} is in use by another process`)
  }
}

/**
 * Locks a directory and returns the descriptor that holds the lock. Rejects with a `DirectoryLockedError`, or with another
 * error if this system cannot lock the directory.
 */
export async function lockDirectory(path: string): Promise<number> {
  const { O_RDONLY, O_DIRECTORY, O_NONBLOCK } = constants
  if (process.platform === 'darwin') return openLocked(path, O_RDONLY | O_NONBLOCK | darwinExclusiveLock)
  const directory = openSync(path, O_RDONLY | O_DIRECTORY)
  try {
    await runFlock(directory, path)
    return directory
  } catch (error) {
    closeSync(directory)
    throw error
  }
}

function openLocked(path: string, flags: number): number {
  try {
    return openSync(path, flags)
  } catch (error) {
    throw codeOf(error) === 'EAGAIN' ? new DirectoryLockedError(path) : error
  }
}

async function runFlock(directory: number, path: string): Promise<void> {
  const child = spawn('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'pipe', directory] })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  const [status, message] = await Promise.all([ended, text(child.stderr as NodeJS.ReadableStream)])
  if (status === lockedStatus) throw new DirectoryLockedError(path)
  if (status !== 0) throw new Error(message.trim() || `flock ended with ${status}`)
}
