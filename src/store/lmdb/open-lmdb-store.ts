/**
 * Opens the store of a data directory: makes the directory, locks it, looks at what lies there, opens it.
 */
import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { databasePath, openDatabases, type Databases } from './databases.js'
import { lockDirectory, type DirectoryLock } from './directory-lock.js'
import { diskBytesFree } from './free-space.js'
import { checkDatabaseFile } from './file-check.js'
import { LmdbStore } from './lmdb-store.js'
import { prepareLockFile, removeUnfinishedLockFiles } from './lmdb-lock-file.js'
import { describe, StoreError } from '../store-error.js'
import type { Store } from '../store.js'

/** Room for years at a few gigabytes a day. It is address space: the disk holds what is written and no more. */
const mapBytesDefault = 1024 ** 4
const waitingBytesDefault = 256 * 1024 * 1024
/** A database without a record takes 36 KiB, its lock file 12. */
const newDatabaseBytes = 64 * 1024

export interface LmdbStoreOptions {
  /** Created, for the owner alone, if it is not there. */
  readonly dataDir: string
  /** The store refuses writes with `full` before its file passes this. */
  readonly mapBytesMax?: number
  /** Bytes of writes that may wait for a commit; past that they are refused with `busy`. */
  readonly waitingBytesMax?: number
  /** Hears of a database that was made: where there was no file, or one of 0 bytes. */
  readonly onMade?: (path: string, from: 'missing' | 'empty') => void
}

/**
 * Opens the store of a data directory and holds the directory until `close`. Rejects with a StoreError: `locked` when
 * another process serves it, `unusable` when what lies there cannot be read or is not ours, `full` when the disk has no
 * room for a new database.
 */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const dataDir = resolve(options.dataDir)
  const { mapBytesMax = mapBytesDefault, waitingBytesMax = waitingBytesDefault } = options
  let lock: DirectoryLock | undefined
  let databases: Databases | undefined
  try {
    const createdDir = await mkdir(dataDir, { recursive: true, mode: 0o700 })
    lock = await lockDirectory(dataDir)
    const found = await checkDatabaseFile(databasePath(dataDir))
    if (found !== 'whole') await checkRoom(dataDir)
    await prepareLockFile(databasePath(dataDir), { readOnly: false })
    await removeUnfinishedLockFiles(databasePath(dataDir))
    databases = await openDatabases(dataDir, mapBytesMax)
    await flushDirectories(dataDir, createdDir)
    if (found !== 'whole') options.onMade?.(databasePath(dataDir), found)
    const { release } = lock
    const onClosed = (): Promise<void> => release()
    return new LmdbStore({ dataDir, databases, mapBytesMax, waitingBytesMax, onClosed })
  } catch (error) {
    await databases?.root.close()
    await lock?.release()
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `the data directory ${dataDir} cannot be used: ${describe(error)}`, {
      cause: error,
    })
  }
}

/** A file whose first pages find no room ends lmdb-js 3.5.6 by a segmentation fault, and stays as half a file. */
async function checkRoom(dataDir: string): Promise<void> {
  const bytesFree = await diskBytesFree(dataDir)
  if (bytesFree < newDatabaseBytes)
    throw new StoreError('full', `${dataDir} has no room for a new database: ${bytesFree} bytes are free`)
}

/** A file survives a power cut only once its name does: in its directory, and that directory's in the one above. */
async function flushDirectories(dataDir: string, createdDir: string | undefined): Promise<void> {
  const last = createdDir === undefined ? dataDir : dirname(createdDir)
  for (let path = dataDir; ; path = dirname(path)) {
    const directory = await open(path, 'r')
    await directory.sync().finally(() => directory.close())
    if (path === last || path === dirname(path)) return
  }
}
