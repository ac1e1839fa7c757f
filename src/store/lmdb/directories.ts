/**
 * Creates directories for their owner alone, one level at a time: Node's recursive mkdir never returns if a file system
 * refuses directories (/proc).
 */
import { lstatSync, mkdirSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, flushDirectory } from '../../base/index.js'
import { StoreError } from '../store-error.js'

const ownerOnly = 0o700

/**
 * Creates the directory `path` and missing ones above it, durably. Returns the uppermost one that it created. Throws a
 * StoreError `unusable`, which names `name`, when something else is in its place, and errors of the system.
 */
export function makeDirectories(path: string, name = path): string | undefined {
  const existing = nearestExisting(path)
  if (!existing.stats.isDirectory()) {
    const where = existing.path === path ? '' : ` cannot be created: ${existing.path}`
    const what = existing.stats.isSymbolicLink() ? 'a link to nothing' : 'not a directory'
    throw new StoreError('unusable', `${name}${where} is ${what}`)
  }
  const levels: string[] = []
  for (let level = path; level !== existing.path; level = dirname(level)) levels.unshift(level)
  for (const level of levels) makeLevel(level)
  return levels[0]
}

/** The path or the nearest existing one above it; `/` always exists. A link counts as its target if that exists. */
function nearestExisting(path: string): { path: string; stats: Stats } {
  for (let level = path; ; level = dirname(level)) {
    const stats = statsOf(level, statSync) ?? statsOf(level, lstatSync)
    if (stats !== undefined) return { path: level, stats }
  }
}

function statsOf(path: string, read: typeof statSync): Stats | undefined {
  try {
    return read(path, { throwIfNoEntry: false })
  } catch (error) {
    // Nothing exists below a file.
    if (codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

function makeLevel(path: string): void {
  try {
    mkdirSync(path, { mode: ownerOnly })
  } catch (error) {
    // Another process may have created it just now.
    if (statsOf(path, statSync)?.isDirectory() === true) return
    throw error
  }
  flushDirectory(dirname(path))
}
