/**
 * What the `models` commands share: settings, options for loading a model, and read access to a data directory while its
 * server runs.
 */
import { existsSync, statSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { silentLog, withRelease, type Log } from '../../base/index.js'
import { activeVersion, type LoadOptions } from '../../model/index.js'
import type { Settings } from '../../settings/index.js'
import { databasePath, openSnapshot, type Position, type Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import type { SettingName } from '../../settings/index.js'

export const sessionSettingNames = [
  'modelsDir',
  'executionProviders',
  'intraOpThreads',
  'predictMsMax',
  'modelLatencyMsMax',
  'modelProcessBytesMax',
] as const satisfies readonly SettingName[]

/** Settings of the commands that score stored cycles. */
export const historySettingNames = [...sessionSettingNames, 'dataDir', 'codec'] as const

/** The given version, or the active one. */
export function chosenVersion(version: string | undefined, { modelsDir }: Settings): Promise<string> {
  return version === undefined ? activeVersion(modelsDir) : Promise.resolve(version)
}

/** Options for loading a version. Warnings and errors go to stderr; the report of the command shows the rest. */
export function loadOptions(
  version: string,
  settings: Settings,
  { printMessage }: Pick<CommandContext, 'printMessage'>,
): LoadOptions {
  const write = (_: object, message: string): void => printMessage(`understudy: ${message}\n`)
  const log: Log = { ...silentLog, warn: write, error: write }
  const { modelsDir, executionProviders, intraOpThreads } = settings
  const threads = intraOpThreads === undefined ? {} : { intraOpThreads }
  const limits = {
    timeLimitMs: settings.predictMsMax,
    latencyMsMax: settings.modelLatencyMsMax,
    processBytesMax: settings.modelProcessBytesMax,
  }
  return { modelsDir, version, executionProviders, log, ...limits, ...threads }
}

/**
 * Calls `use` with a read-only snapshot of the store, at low priority: the server of the store may need the processors.
 * Throws a `UsageError` if the directory does not exist.
 */
export async function withStore<T>(dataDir: string, use: (store: Store) => T | Promise<T>): Promise<T> {
  if (!existsSync(dataDir) || !statSync(dataDir).isDirectory())
    throw new UsageError(`the data directory ${dataDir} does not exist`)
  // Threads that start later inherit it, as those of DuckDB.
  setPriority(constants.priority.PRIORITY_LOW)
  const { store } = await openSnapshot(databasePath(dataDir), { mapsParts: true })
  return withRelease(
    () => use(store),
    () => store.close(),
  )
}

/** The position of a cycle in the order of arrival. Throws a `CommandError` for a cycle that is not stored. */
export function positionOf(store: Store, cycleId: string): Position {
  const position = store.findCycle(cycleId)?.position
  if (position !== undefined) return position
  const [first] = store.tail(1)
  const stored =
    first === undefined
      ? 'it has no cycles'
      : `the first to arrive was ${first.cycleId}, the last ${store.lastCycle()?.cycleId ?? first.cycleId}`
  throw new CommandError(`the data directory has no cycle ${cycleId}: ${stored}`)
}

/** The positions from cycle `from` to cycle `to`. Throws a `UsageError` if `to` arrived before `from`. */
export function rangeOf(store: Store, from: string, to: string): { from: Position; to: Position } {
  const range = { from: positionOf(store, from), to: positionOf(store, to) }
  if (range.to < range.from) throw new UsageError(`cycle ${to} arrived before cycle ${from}`)
  return range
}
