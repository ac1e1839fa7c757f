/**
 * Read access to a data directory for a command, while its server runs: the stored cycles, and the models that score them.
 */
import { existsSync, statSync } from 'node:fs'
import { silentLog, type Log } from '../../base/index.js'
import { expectedError, positionOf, withHistory, withSnapshot, type History } from '../../history/index.js'
import type { Position, Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'

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

/** `withHistory` with the settings of a command. Unexpected errors begin with `failure`. */
export async function withModels(
  flags: Flags,
  context: CommandContext,
  failure: string,
  use: (history: History) => Promise<void>,
): Promise<void> {
  const settings = settingsOf(flags, context)
  requireDirectory(settings.dataDir)
  await withHistory(settings, messageLog(context), async (history) => {
    try {
      await use(history)
    } catch (error) {
      throw error instanceof CommandError ? error : expectedError(error, failure)
    }
  })
}

/** The positions from cycle `from` to cycle `to`. Throws a `UsageError` if `to` arrived before `from`. */
export function rangeOf(store: Store, from: string, to: string): { from: Position; to: Position } {
  const range = { from: positionOf(store, from), to: positionOf(store, to) }
  if (range.to < range.from) throw new UsageError(`cycle ${to} arrived before cycle ${from}`)
  return range
}
