/**
 * Creates the data directory before the server starts and checks its permissions. A path that cannot be a directory is a
 * usage error.
 */
import { accessSync, constants } from 'node:fs'
import { codeOf, writeFileDurably } from '../../base/index.js'
import { makeDirectories, StoreError } from '../../store/index.js'
import { CommandError, messageLine, UsageError } from '../failure.js'

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
