/**
 * The data directory, made before the server starts: a path that cannot be one is a wrong setting and told as such.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { makeDirectories, StoreError } from '../store/index.js'
import { CommandError, messageOf, UsageError } from './failure.js'

const notForOthers = 0o077
/** Trouble of the machine that may pass; anything else is the fault of the path. */
const passingCodes = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'ENOMEM', 'EMFILE', 'ENFILE'])

/** What this process makes from now on is for its own user, whatever the shell says: requests are personal data. */
export function keepFilesPrivate(): void {
  process.umask(notForOthers)
}

/**
 * Makes a directory that only its owner can open; one that is there keeps its mode, since the operator chose it.
 * Throws a `UsageError` where the path cannot be a directory to write in; `origin` is the setting it comes from.
 */
export function makeDataDirectory(path: string, origin?: string): void {
  const name = `the data directory ${path}${origin === undefined ? '' : ` (from ${origin})`}`
  try {
    makeDirectories(path, name)
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch (cause) {
    if (cause instanceof StoreError) throw new UsageError(cause.message)
    throw pathError(`${name} cannot be made or written`, cause)
  }
}

/** What of a data directory that is there should not stay as it is; one line each. */
export function dataDirectoryWarnings(path: string): string[] {
  // The group is left alone: an operator may let a backup in.
  return (statSync(path).mode & 0o007) === 0
    ? []
    : [`${path} holds all data and keys, and anyone on this machine can look into it; run: chmod o= ${path}`]
}

/** A failure on a path: of the machine, or, as a `UsageError`, of the path itself. */
export function pathError(what: string, cause: unknown): CommandError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const message = `${what}: ${messageOf(cause)}`
  return passingCodes.has(code) ? new CommandError(message, { cause }) : new UsageError(message)
}
