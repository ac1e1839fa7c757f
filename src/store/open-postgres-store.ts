/**
 * Opens the store of a process of an environment: the journal in PostgreSQL, and its view in the data directory.
 */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ignoringErrors, type Log } from '../base/index.js'
import { diskBytesFree, diskBytesFreeMin } from './lmdb/files.js'
import { openLmdbParts, type LmdbStoreOptions } from './lmdb/open-lmdb-store.js'
import { StoreError } from './store-error.js'
import { openJournalStore, type JournalStore } from './journal/journal-store.js'
import { PostgresJournal } from './journal/postgres-journal.js'

export interface PostgresStoreOptions {
  /** postgres:// with one or more hosts. */
  readonly journal: string
  readonly environment: string
  readonly view: LmdbStoreOptions
  readonly log: Log
  /** Whether a model is loaded. Without it, or without room on the disk, the environment is left to others for a while. */
  readonly hasModel: () => boolean
}

const nothing = (): void => undefined

/** Resolves when the view is at the head of the journal. Rejects with a StoreError. */
export async function openStoreOnPostgres(options: PostgresStoreOptions): Promise<JournalStore> {
  const { journal: url, environment, view: viewOptions, log, hasModel } = options
  const view = await openLmdbParts(viewOptions)
  const hasRoom = async (): Promise<boolean> =>
    (await diskBytesFree(viewOptions.dataDir).catch(() => 0)) >= diskBytesFreeMin
  let journal: PostgresJournal | undefined
  try {
    journal = await PostgresJournal.open({ url, environment })
    const { problem } = await journal.state()
    if (problem !== null) throw new StoreError('unusable', problem)
    return await openJournalStore({
      journal,
      view,
      log,
      canServe: async () => hasModel() && (await hasRoom()),
      name: `${hostname()}:${resolve(viewOptions.dataDir)}`,
      now: () => performance.now(),
      sleep: (ms, signal) => delay(ms, null, { signal }).then(nothing, nothing),
    })
  } catch (error) {
    await ignoringErrors(() => journal?.close())
    await ignoringErrors(() => view.close())
    throw error
  }
}
