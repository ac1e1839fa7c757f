/**
 * Opens the store of a data directory: creates the directory, locks it, checks its files, opens the database.
 */
import { rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { firstLineOf, flushDirectory, inBackground, kibibyte, withRelease } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import {
  applyChanges,
  createRecordStore,
  isViewOfJournal,
  WriteQueue,
  type Change,
  type DatabaseName,
  type RecordStoreParts,
} from '../records/index.js'
import { LmdbCommit } from './commit.js'
import {
  bytesInUse,
  databasePath,
  mapBytesDefault,
  OlderSchema,
  openDatabases,
  type FileDatabases,
} from './environment.js'
import { makeDirectories } from './directories.js'
import { directoryLockName, lockDirectory, type DirectoryLock } from './directory-lock.js'
import { checkDatabaseFile } from './file-check.js'
import { checkRoom, lackOfRoom } from './files.js'
import { prepareLockFile } from './lmdb-lock-file.js'
import { keptFiles, removePartialUpgrade, upgradeDirectory, type UpgradeEvent } from './upgrade.js'
import { StoreError } from '../store-error.js'
import type { Store } from '../store.js'

/**
 * A database without a record takes 36 KiB, its lock file 12. lmdb-js 3.5.6 ends in a segmentation fault, and leaves half a
 * file, when the disk has no space for the first pages.
 */
const newDatabaseBytes = 64 * kibibyte
/** The longest key, in pages of `pageBytes`. */
const keyBytesMax = 1978
/** The interval of the check for readers whose process has ended, such as commands that were killed. */
const readerCheckMs = 60_000

export interface LmdbStoreOptions {
  /** Created, for the owner alone, when it is missing. */
  readonly dataDir: string
  /** The store refuses writes with `full` before its file passes this. */
  readonly mapBytesMax?: number
  /** Called when a database was created: there was no file, or one of 0 bytes. */
  readonly onMade?: (path: string, from: 'missing' | 'empty') => void
  /** Called while the database is upgraded. */
  readonly onUpgrade?: (event: UpgradeEvent) => void
  /** Called once when the store refuses all further writes until a restart, with the reason. */
  readonly onStopped?: (reason: StoreError) => void
  /** The lock of `dataDir` when the caller already holds it; the store releases it. */
  readonly lock?: DirectoryLock
}

/**
 * Opens the store of a data directory and holds the directory until `close`. Rejects with a StoreError: `locked` when
 * another process serves it, `unusable` when its files cannot be read or belong to another program, `full` when the disk has no
 * room for a new database.
 */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const parts = await openLmdbParts(options)
  if (!isViewOfJournal(parts.databases)) return createRecordStore(parts)
  await parts.close()
  throw new StoreError(
    'unusable',
    `${databasePath(resolve(options.dataDir))} is a view of a journal; set \`journal\` and \`environment\`, or move the ` +
      'environment to a new directory with: understudy journal export',
  )
}

/** The open databases of a data directory, and how they are written. Rejects as `openLmdbStore` does. */
export async function openLmdbParts(options: LmdbStoreOptions): Promise<RecordStoreParts> {
  const dataDir = resolve(options.dataDir)
  const { mapBytesMax = mapBytesDefault } = options
  let { lock } = options
  let databases: FileDatabases | undefined
  try {
    makeDirectories(dataDir)
    lock ??= await lockDirectory(dataDir)
    const state = await checkDatabaseFile(databasePath(dataDir), 'write')
    if (state !== 'whole') await checkRoom(dataDir, newDatabaseBytes, 'for a new database')
    await prepareLockFile(databasePath(dataDir), { readOnly: false })
    databases = await openUpgraded(dataDir, options)
    flushDirectory(dataDir)
    if (state !== 'whole') options.onMade?.(databasePath(dataDir), state)
    return partsOf(databases, { ...options, dataDir, mapBytesMax, lock })
  } catch (error) {
    await databases?.root.close()
    await lock?.release()
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `the data directory ${dataDir} cannot be used: ${firstLineOf(error)}`, {
      cause: error,
    })
  }
}

/** Opens the databases, after an upgrade if they are of an older version. */
async function openUpgraded(dataDir: string, options: LmdbStoreOptions): Promise<FileDatabases> {
  const path = databasePath(dataDir)
  await removePartialUpgrade(path)
  const opening = (): Promise<FileDatabases> => openDatabases(dataDir, options.mapBytesMax)
  try {
    return await opening()
  } catch (error) {
    if (!(error instanceof OlderSchema)) throw error
  }
  await upgradeDirectory(dataDir, (event) => options.onUpgrade?.(event))
  await prepareLockFile(path, { readOnly: false })
  return opening()
}

function partsOf(
  databases: FileDatabases,
  options: LmdbStoreOptions & Required<Pick<LmdbStoreOptions, 'mapBytesMax' | 'lock'>>,
): RecordStoreParts {
  const { dataDir, mapBytesMax, onStopped = () => undefined, lock } = options
  const { root } = databases
  // A reader that was killed keeps the pages that it saw: the file would grow until they are free.
  const readerChecks = setInterval(
    () => inBackground('dead readers', () => root.readerCheck()),
    readerCheckMs,
  ).unref()
  const checks = [databasePath(dataDir), join(dataDir, directoryLockName)].map(fileCheck)
  const commit = new LmdbCommit(
    {
      databases,
      // A batch is one transaction, in a thread of lmdb-js; if one of its changes fails, it is aborted (src/writer.cpp, Write).
      transaction: (changes) => {
        checkKeys(changes)
        return root.batch(() => applyChanges(databases, changes))
      },
      probe: () => {
        root.resetReadTxn()
        databases.cycles.doesExist(1)
      },
      bytesInUse: () => bytesInUse(root),
      checkFile: () => checks.forEach((check) => check()),
      lackOfRoom: (bytes) => lackOfRoom(databasePath(dataDir), bytes),
    },
    { bytesMax: mapBytesMax, onStopped },
  )
  const writes = new WriteQueue(commit)
  return {
    databases: writes.databases,
    writes: removingKept(writes, keptFiles(databasePath(dataDir))),
    isHealthy: () => !commit.isStopped && writes.isHealthy,
    close: async () => {
      clearInterval(readerChecks)
      await writes.close()
      await withRelease(
        () => root.close(),
        () => lock.release(),
      )
    },
  }
}

/** Removes the files that upgrades have kept, after the first cycle. */
function removingKept(writes: RecordStoreParts['writes'], kept: string[]): RecordStoreParts['writes'] {
  if (kept.length === 0) return writes
  return {
    write: async (bytes, apply, isCycle) => {
      const result = await writes.write(bytes, apply, isCycle)
      if (isCycle === true) for (const file of kept.splice(0)) rmSync(file, { force: true })
      return result
    },
    get count() {
      return writes.count
    },
  }
}

/**
 * A check that `path` still leads to the file that it leads to now. Writes to a database that was deleted or replaced
 * would succeed, and be lost with the process. Without its lock file, another process can open the directory.
 */
function fileCheck(path: string): () => void {
  const identify = (): string | null => {
    const file = statSync(path, { bigint: true, throwIfNoEntry: false })
    return file === undefined ? null : `${file.dev} ${file.ino}`
  }
  const opened = identify()
  return () => {
    const current = identify()
    if (current === opened) return
    const event = current === null ? 'deleted' : 'replaced'
    throw new StoreError('failed', `${path} was ${event} while it was open; put it back and restart`)
  }
}

/** lmdb-js commits the changes before one whose key it does not take, so all keys are checked before the first. */
function checkKeys(changes: readonly Change<DatabaseName>[]): void {
  for (const { key } of changes)
    assert(typeof key === 'number' || (key.length > 0 && key.length <= keyBytesMax), 'LMDB takes the key')
}
