/**
 * The data directory, made before the server starts: a path that cannot be one is a wrong setting and told as such.
 * One level at a time, since Node's recursive mkdir never returns where a file system takes no directories (/proc).
 */
import { accessSync, closeSync, constants, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { CommandError, messageOf, UsageError } from './failure.js'

const ownerOnly = 0o700
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
    const found = existing(path)
    if (!found.isDirectory) {
      const where = found.path === path ? '' : ` cannot be made: ${found.path}`
      throw new UsageError(`${name}${where} is not a directory`)
    }
    for (const level of lacking(path, found.path)) makeLevel(level)
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
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

/** The path or the nearest one above it that exists; `/` always does. */
function existing(path: string): { path: string; isDirectory: boolean } {
  for (let level = path; ; level = dirname(level)) {
    const stats = statOf(level)
    if (stats !== undefined) return { path: level, isDirectory: stats.isDirectory() }
  }
}

function statOf(path: string): ReturnType<typeof statSync> | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    // Below a file there is nothing.
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined
    throw error
  }
}

/** The levels between `top`, which exists, and `path`, uppermost first. */
function lacking(path: string, top: string): string[] {
  const levels: string[] = []
  for (let level = path; level !== top; level = dirname(level)) levels.unshift(level)
  return levels
}

function makeLevel(path: string): void {
  try {
    mkdirSync(path, { mode: ownerOnly })
  } catch (error) {
    // Made by another process in this moment.
    if (statOf(path)?.isDirectory() === true) return
    throw error
  }
  // A new directory survives a power cut once the one above it is flushed.
  const handle = openSync(dirname(path), 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
