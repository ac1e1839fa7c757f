/**
 * Directories that are made, for their owner alone. One level at a time, since Node's recursive mkdir never returns where
 * a file system takes no directories (/proc).
 */
import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from '../store-error.js'

const ownerOnly = 0o700

/**
 * Makes the directory `path` and those above it that are missing; gives the uppermost that it made. Throws a StoreError
 * `unusable`, about `name`, where what is there is no directory, and errors of the system.
 */
export function makeDirectories(path: string, name = path): string | undefined {
  const found = existing(path)
  if (!found.stats.isDirectory()) {
    const where = found.path === path ? '' : ` cannot be made: ${found.path}`
    const what = found.stats.isSymbolicLink() ? 'a link to nothing' : 'not a directory'
    throw new StoreError('unusable', `${name}${where} is ${what}`)
  }
  const levels = lacking(path, found.path)
  for (const level of levels) makeLevel(level)
  return levels[0]
}

/** The path or the nearest one above it that exists; `/` always does. A link is what it leads to, if that is there. */
function existing(path: string): { path: string; stats: Stats } {
  for (let level = path; ; level = dirname(level)) {
    const stats = statsOf(level, statSync) ?? statsOf(level, lstatSync)
    if (stats !== undefined) return { path: level, stats }
  }
}

function statsOf(path: string, look: typeof statSync): Stats | undefined {
  try {
    return look(path, { throwIfNoEntry: false })
  } catch (error) {
    // Below a file there is nothing.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
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
    if (statsOf(path, statSync)?.isDirectory() === true) return
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
