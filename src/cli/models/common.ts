/**
 * What the `models` commands share: settings, options for loading a model, and read access to a data directory while its
 * server runs.
 */
import { existsSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { silentLog, type Log } from '../../base/index.js'
import { loadOptionsOf, positionOf, withSnapshot } from '../../history/index.js'
import { activeVersion, readStatus, type LoadOptions } from '../../model/index.js'
import type { Settings } from '../../settings/index.js'
import type { Position, Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { UsageError } from '../failure.js'

/** The given version, or the active one. */
export function chosenVersion(version: string | undefined, { modelsDir }: Settings): Promise<string> {
  return version === undefined ? activeVersion(modelsDir) : Promise.resolve(version)
}

/** Options for loading a version. Warnings and errors go to stderr; the report of the command shows the rest. */
export function loadOptions(
  version: string,
  settings: Settings,
  context: Pick<CommandContext, 'printMessage'>,
): LoadOptions {
  return loadOptionsOf(settings, version, messageLog(context))
}

export function messageLog({ printMessage }: Pick<CommandContext, 'printMessage'>): Log {
  const write = (_: object, message: string): void => printMessage(`understudy: ${message}\n`)
  return { ...silentLog, warn: write, error: write }
}

/**
 * Calls `use` with a read-only snapshot of the store, at low priority: the server of the store may need the processors.
 * Throws a `UsageError` if the directory does not exist.
 */
export async function withStore<T>(dataDir: string, use: (store: Store) => T | Promise<T>): Promise<T> {
  requireDirectory(dataDir)
  return withSnapshot(dataDir, use)
}

/** Throws a `UsageError` if the data directory does not exist. */
export function requireDirectory(dataDir: string): void {
  if (!existsSync(dataDir) || !statSync(dataDir).isDirectory())
    throw new UsageError(`the data directory ${dataDir} does not exist`)
}

/**
 * A sentence that the server of the data directory has another models directory than this command; null if it has the same one, or
 * if that is unknown.
 */
export async function otherModelsDir({ dataDir, modelsDir }: Settings): Promise<string | null> {
  const status = await readStatus(dataDir).catch(() => null)
  if (status === null) return null
  // A path of another container, or of another user, cannot be found here.
  const [theirs, ours] = await Promise.all(
    [status.modelsDir, modelsDir].map((directory) => stat(directory).catch(() => null)),
  )
  if (!theirs || !ours) return null
  if (theirs.dev === ours.dev && theirs.ino === ours.ino) return null
  return `the server of ${dataDir} has its models in ${status.modelsDir}, and does not see ${modelsDir}`
}

export function noteOther(
  other: string | null,
  { printMessage }: Pick<CommandContext, 'printMessage'>,
): void {
  if (other !== null) printMessage(`understudy: ${other}\n`)
}

/** The positions from cycle `from` to cycle `to`. Throws a `UsageError` if `to` arrived before `from`. */
export function rangeOf(store: Store, from: string, to: string): { from: Position; to: Position } {
  const range = { from: positionOf(store, from), to: positionOf(store, to) }
  if (range.to < range.from) throw new UsageError(`cycle ${to} arrived before cycle ${from}`)
  return range
}
