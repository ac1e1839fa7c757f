/**
 * The stored cycles of a data directory, whose server may be running, and the models with which they are scored. A command
 * and the worker of the admin side open them in the same way. Read `withHistory` first.
 */
import { constants, setPriority } from 'node:os'
import { withRelease, type Log } from '../../base/index.js'
import { loadModel, type LoadedModel, type LoadOptions } from '../../model/index.js'
import type { SettingName, Settings } from '../../settings/index.js'
import { databasePath, openSnapshot, type Position, type Store } from '../../store/index.js'
import { HistoryError } from '../history-error.js'

/** The settings that loading a model needs. */
export const sessionSettingNames = [
  'modelsDir',
  'executionProviders',
  'mostlyOnCpu',
  'intraOpThreads',
  'predictMsMax',
  'modelLatencyMsMax',
  'modelProcessBytesMax',
] as const satisfies readonly SettingName[]
export type SessionSettings = Pick<Settings, (typeof sessionSettingNames)[number]>

export const historySettingNames = [...sessionSettingNames, 'dataDir'] as const
export type HistorySettings = Pick<Settings, (typeof historySettingNames)[number]>

/** Loads a version for as long as the history is open. */
export type LoadVersion = (version: string) => Promise<LoadedModel>

export interface History {
  readonly settings: HistorySettings
  readonly store: Store
  /**
   * Rejects with a `ModelError`, and with a `HistoryError` for a package whose files differ from those that the server has
   * loaded: the stored scores belong to these.
   */
  readonly load: LoadVersion
}

/** Calls `use` with the history, and closes the models and the store afterwards. */
export function withHistory<T>(
  settings: HistorySettings,
  log: Log,
  use: (history: History) => Promise<T>,
): Promise<T> {
  return withSnapshot(settings.dataDir, (store) => {
    const loaded: LoadedModel[] = []
    const load: LoadVersion = async (version) => {
      const model = await loadModel(loadOptionsOf(settings, version, log))
      loaded.push(model)
      checkIdentity(model, store.models.readIdentity(version))
      return model
    }
    return withRelease(
      () => use({ settings, store, load }),
      () => Promise.all(loaded.map((model) => model.close())),
    )
  })
}

/** Calls `use` with a read-only snapshot of the store, at low priority: the server of the store may need the processors. */
export async function withSnapshot<T>(dataDir: string, use: (store: Store) => T | Promise<T>): Promise<T> {
  // Threads that start later inherit it, as those of DuckDB.
  setPriority(constants.priority.PRIORITY_LOW)
  const { store } = await openSnapshot(databasePath(dataDir), { mapsParts: true })
  return withRelease(
    () => use(store),
    () => store.close(),
  )
}

/** As a server with these settings loads it, so that a check of a version measures what will serve. */
export function loadOptionsOf(settings: SessionSettings, version: string, log: Log): LoadOptions {
  const { modelsDir, executionProviders, mostlyOnCpu, intraOpThreads } = settings
  return {
    version,
    modelsDir,
    executionProviders,
    mostlyOnCpu,
    log,
    timeLimitMs: settings.predictMsMax,
    latencyMsMax: settings.modelLatencyMsMax,
    processBytesMax: settings.modelProcessBytesMax,
    ...(intraOpThreads === undefined ? {} : { intraOpThreads }),
  }
}

/**
 * Throws a `HistoryError` if a server has loaded the version with other files. `known`: the identity that the store has of
 * the version, if any.
 */
export function checkIdentity(
  { version, identity }: Pick<LoadedModel, 'version' | 'identity'>,
  known: string | undefined,
): void {
  if (known !== undefined && known !== identity) throw new HistoryError({ code: 'files_differ', version })
}

/** The position of a cycle in the order of arrival. Throws a `HistoryError` for a cycle that is not stored. */
export function positionOf(store: Store, cycleId: string): Position {
  const position = store.findCycle(cycleId)?.position
  if (position !== undefined) return position
  const [first] = store.tail(1)
  if (first === undefined) throw new HistoryError({ code: 'not_in_empty', cycle_id: cycleId })
  const last = store.lastCycle() ?? first
  const reason = {
    code: 'not_in_directory',
    cycle_id: cycleId,
    first: first.cycleId,
    last: last.cycleId,
  } as const
  throw new HistoryError(reason)
}
