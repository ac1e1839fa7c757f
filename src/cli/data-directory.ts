/**
 * Creates the data directory before the server starts and checks its permissions. A path that cannot be a directory is a
 * usage error.
 */
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, flushDirectory } from '../base/index.js'
import { makeDirectories, StoreError } from '../store/index.js'
import { CommandError, messageLine, UsageError } from './failure.js'

const notForOthers = 0o077
/** Errors of the machine that may be temporary; any other one is the fault of the path. */
const temporaryCodes = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'ENOMEM', 'EMFILE', 'ENFILE'])

/** Files that this process creates are private to its user: requests are personal data. */
export function keepFilesPrivate(): void {
  process.umask(notForOthers)
}

/**
 * Creates a directory that only its owner can open; an existing one keeps its mode. Throws a `UsageError` if the path
 * is not a writable directory. `origin` is the source of the setting.
 */
export function createDataDirectory(path: string, origin?: string): void {
  const name = `the data directory ${path}${origin === undefined ? '' : ` (from ${origin})`}`
  try {
    makeDirectories(path, name)
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch (cause) {
    if (cause instanceof StoreError) throw new UsageError(cause.message)
    throw pathError(`${name} cannot be created or written`, cause)
  }
}

/** A `CommandError` for a temporary failure of the machine, a `UsageError` for any other failure of a path. */
export function pathError(what: string, cause: unknown): CommandError {
  const message = `${what}: ${messageLine(cause)}`
  return temporaryCodes.has(codeOf(cause)) ? new CommandError(message, { cause }) : new UsageError(message)
}

/** Does what `writeFileDurably` does, and throws a `CommandError` that names the file. */
export function replaceFile(file: string, content: string, mode?: number): void {
  try {
    writeFileDurably(file, content, mode)
  } catch (cause) {
    throw new CommandError(`cannot write ${file}: ${messageLine(cause)}`, { cause })
  }
}

/**
 * Creates or replaces a file atomically and durably: after a power cut it has the old content or the new one. The umask
 * of the process does not apply to `mode`; it applies if no mode is given.
 */
export function writeFileDurably(file: string, content: string, mode?: number): void {
  const partial = `${file}.partial`
  try {
    rmSync(partial, { force: true })
    const handle = openSync(partial, 'wx', mode)
    try {
      if (mode !== undefined) fchmodSync(handle, mode)
      writeSync(handle, content)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(partial, file)
    flushDirectory(dirname(file))
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}
