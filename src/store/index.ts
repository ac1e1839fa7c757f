/**
 * Durable storage: the interface (store.ts), its implementation on LMDB, and one in memory, for simulation
 * and for tests.
 */
export { backUp, restore, type BackupFacts } from './lmdb/backup.js'
export { databasePath } from './lmdb/databases.js'
export { makeDirectories } from './lmdb/directories.js'
export { lockDirectory, type DirectoryLock } from './lmdb/directory-lock.js'
export { flushDirectory } from './lmdb/files.js'
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
