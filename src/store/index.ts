/**
 * Durable storage: what the service asks of it, LMDB that answers, and memory, for tests and for the rehearsal at the start.
 */
export { openLmdbStore, type LmdbStoreOptions } from './open-lmdb-store.js'
export { makeDirectories } from './directories.js'
export { lockDirectory } from './directory-lock.js'
export {
  copyCycle,
  createMemoryContents,
  createMemoryStore,
  type MemoryContents,
  type MemoryStoreOptions,
  type WriteOperation,
} from './memory-store.js'
export { backUp, restore, type BackupFacts } from './backup.js'
export { databasePath } from './databases.js'
export { inspectRecords, type RecordCounts } from './inspect.js'
export { removeUnfinishedLockFiles } from './lock-file.js'
export { openSnapshot, type SnapshotOptions, type StoreSnapshot } from './snapshot.js'
export { StoreError, type StoreErrorCode } from './store-error.js'
export type * from './store.js'
