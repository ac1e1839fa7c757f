/**
 * An exclusive flock(2) on a file or directory. The kernel releases it when the process ends, however it ends, and it holds
 * across containers. Node has no call for flock: on Linux the program flock(1) locks the descriptor that it inherits,
 * and the lock belongs to the open file, which this process keeps. macOS locks at open (O_EXLOCK).
 */
import { spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** The exit status of flock(1) for a file that another process has locked. */
const lockedStatus = 1
/** <fcntl.h> of macOS; Node has no name for it. */
const darwinExclusiveLock = 0x20

/** Another process has locked the file. */
export class LockedError extends Error {}

/**
 * Opens `path` as `openSync` does, locks it, and returns the descriptor, which holds the lock until it is closed. Rejects
 * with a `LockedError`, or with another error if it cannot be opened or this system cannot lock it.
 */
export async function openLocked(path: string, flags: number, mode?: number): Promise<number> {
  if (process.platform === 'darwin') return openWithLock(path, flags, mode)
  const descriptor = openSync(path, flags, mode)
  try {
    await runFlock(descriptor, path)
    return descriptor
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

function openWithLock(path: string, flags: number, mode?: number): number {
  try {
    // Without O_NONBLOCK it waits for the lock, and this process with it.
    return openSync(path, flags | darwinExclusiveLock | constants.O_NONBLOCK, mode)
  } catch (error) {
    const isLocked = (error as NodeJS.ErrnoException).code === 'EAGAIN'
    throw isLocked ? new LockedError(`${path} is locked by another process`) : error
  }
}

/** Uses a plain `spawn`: the client locks too, in programs that have neither a database nor the addon of processes.ts. */
async function runFlock(descriptor: number, path: string): Promise<void> {
  const child = spawn('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'pipe', descriptor] })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new Error(`${cause.message}; the program flock (package util-linux) is needed`, { cause })),
    )
    child.on('close', resolve)
  })
  const [status, message] = await Promise.all([ended, text(child.stderr as NodeJS.ReadableStream)])
  if (status === lockedStatus) throw new LockedError(`${path} is locked by another process`)
  if (status !== 0) throw new Error(message.trim() || `flock ended with ${status}`)
}
