/**
 * Durable storage: the interface (store.ts), its implementations on LMDB and on a journal in PostgreSQL, and one in memory,
 * for the warm-up, for simulation and for tests.
 */
export { openStoreOnPostgres } from './open-postgres-store.js'
export { createEnvironment, journalStatus, migrateJournal, type JournalStatus } from './journal/status.js'
export { detachDirectory, exportDirectory, importDirectory, type TransferFacts } from './transfer.js'
export type { JournalStore } from './journal/journal-store.js'
export { backUp, restore } from './lmdb/backup.js'
export { databasePath, pageBytes } from './lmdb/environment.js'
export { makeDirectories } from './lmdb/directories.js'
export { directoryLockName, lockDirectory, type DirectoryLock } from './lmdb/directory-lock.js'
export { diskBytesFreeMin } from './lmdb/files.js'
export { imageKeyBatch, inspectRecords, type RecordCounts } from './records/index.js'
export { openLmdbStore, type LmdbStoreOptions } from './lmdb/open-lmdb-store.js'
export { planUpgrade, upgradeDirectory, type UpgradeEvent, type UpgradePlan } from './lmdb/upgrade.js'
export { openSnapshot, type StoreSnapshot } from './lmdb/snapshot.js'
export { createMemoryStore } from './memory/memory-store.js'
export { commitChannel, type CommitMessage } from './lmdb/commit.js'
export { StoreError } from './store-error.js'
export type * from './store.js'
