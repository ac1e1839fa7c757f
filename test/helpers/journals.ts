/**
 * Journals for tests, on one PostgreSQL per test file, started with the first use. Each call has an environment of its own.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, onTestFinished } from 'vitest'
import { silentLog, type Log } from '../../src/base/index.js'
import { JournalConnection } from '../../src/store/journal/connection.js'
import { openJournalStore, type JournalStore } from '../../src/store/journal/journal-store.js'
import type { Journal } from '../../src/store/journal/journal.js'
import { PostgresJournal } from '../../src/store/journal/postgres-journal.js'
import { migrateSchema } from '../../src/store/journal/schema.js'
import { memoryParts, type MemoryStoreOptions } from './memory-store.js'
import { findPostgres, startPostgres, type PostgresCluster } from './postgres.js'

export const postgresBin = findPostgres()
if (postgresBin === null) console.log('PostgreSQL 15 is not installed: the tests of the journal are skipped')

const started = new Map<number, Promise<PostgresCluster>>()
afterAll(async () => {
  for (const cluster of started.values()) (await cluster).remove()
})

export const connectionOptions = { msMax: 10_000, applicationName: 'test' }

/** The servers of this test file. */
export function cluster(standbyCount = 0): Promise<PostgresCluster> {
  const known = started.get(standbyCount) ?? startPostgres(postgresBin!, standbyCount)
  started.set(standbyCount, known)
  return known
}

const databases = new Map<number, Promise<string>>()

/** The address of a database with the journal's schema. */
export function journalUrl(standbyCount = 0): Promise<string> {
  const known =
    databases.get(standbyCount) ??
    cluster(standbyCount).then(async (servers) => {
      const url = servers.createDatabase('journal')
      const connection = await JournalConnection.open(url, connectionOptions)
      await migrateSchema(connection)
      connection.close()
      return url
    })
  databases.set(standbyCount, known)
  return known
}

export function newEnvironment(): string {
  return `env-${randomUUID()}`
}

const nothing = (): void => undefined

export interface ReplicaOptions {
  /** Default: a new one. */
  readonly environment?: string
  readonly name?: string
  readonly view?: MemoryStoreOptions
  /** Changes the journal, to inject faults. */
  readonly wrap?: (journal: Journal) => Journal
  /** How much faster the clock of the lease runs. */
  readonly speed?: number
  readonly canServe?: () => boolean
  /** Milliseconds of its clock. */
  readonly now?: () => number
  readonly log?: Log
}

/** A process of an environment, with a view in memory. It is closed after the test. */
export async function openReplica(options: ReplicaOptions = {}): Promise<JournalStore> {
  const {
    environment = newEnvironment(),
    name = 'node',
    view = {},
    wrap = (it: Journal) => it,
    speed = 20,
    canServe = () => true,
    now = () => performance.now(),
    log = silentLog,
  } = options
  const journal = await PostgresJournal.open({ url: await journalUrl(), environment, create: true })
  const store = await openJournalStore({
    journal: wrap(journal),
    view: memoryParts(view),
    name,
    now,
    canServe: () => Promise.resolve(canServe()),
    sleep: (ms, signal) => delay(ms / speed, null, { signal }).then(nothing, nothing),
    log,
  })
  onTestFinished(() => store.close())
  return store
}

/** Resolves when the process of the store is the owner. */
export function isOwner(store: JournalStore): Promise<void> {
  return until(() => store.role === 'owner')
}

/** Waits until `condition` holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5)
}
