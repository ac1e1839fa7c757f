/**
 * Durable storage: the interface (store.ts), its implementations on LMDB and on a journal in PostgreSQL, and one in memory,
 * for simulation and for tests.
 */
export { openStoreOnPostgres, type PostgresStoreOptions } from './journal/open-postgres-store.js'
export type { JournalServer } from './journal/connection.js'
export {
  createEnvironment,
  journalStatus,
  migrateJournal,
  type EnvironmentStatus,
  type JournalStatus,
  type StandbyStatus,
} from './journal/status.js'
export {
  detachDirectory,
  exportDirectory,
  importDirectory,
  type TransferFacts,
  type TransferOptions,
} from './journal/transfer.js'
export type { JournalStore } from './journal/journal-store.js'
export { backUp, restore, type BackupFacts } from './lmdb/backup.js'
export { databasePath } from './lmdb/databases.js'
export { makeDirectories } from './lmdb/directories.js'
export { lockDirectory, type DirectoryLock } from './lmdb/directory-lock.js'
export { diskBytesFreeMin, flushDirectory } from './lmdb/files.js'
export { inspectRecords, type RecordCounts } from './lmdb/inspect.js'
export { mapBytesDefault, openLmdbStore, type LmdbStoreOptions } from './lmdb/open-lmdb-store.js'
export type { WriteOperation } from './lmdb/record-access.js'
export { openSnapshot, type SnapshotOptions, type StoreSnapshot } from './lmdb/snapshot.js'
export {
  createMemoryContents,
  createMemoryStore,
  type MemoryContents,
  type MemoryStoreOptions,
} from './memory/memory-store.js'
export { commitChannel, type CommitMessage } from './lmdb/writer.js'
export { StoreError, type StoreErrorCode } from './store-error.js'
export type * from './store.js'
