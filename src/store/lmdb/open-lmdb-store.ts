/**
 * Opens the store of a data directory: makes the directory, locks it, looks at what lies there, opens it.
 */
import { statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { databasePath, openDatabases, type Databases } from './databases.js'
import { lockDirectory, type DirectoryLock } from './directory-lock.js'
import { diskBytesFree } from './free-space.js'
import { checkDatabaseFile } from './file-check.js'
import { flushDirectory } from './files.js'
import { LmdbStore } from './lmdb-store.js'
import { prepareLockFile, removeUnfinishedLockFiles } from './lmdb-lock-file.js'
import { describe, StoreError } from '../store-error.js'
import type { Store } from '../store.js'

/** Room for years at a few gigabytes a day. It is address space: the disk holds what is written and no more. */
export const mapBytesDefault = 1024 ** 4
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
  /** Called once when the store refuses all further writes until a restart, with the reason. */
  readonly onStopped?: (reason: StoreError) => void
  /** The lock of `dataDir` where the caller holds it already; the store releases it. */
  readonly lock?: DirectoryLock
}

/**
 * Opens the store of a data directory and holds the directory until `close`. Rejects with a StoreError: `locked` when
 * another process serves it, `unusable` when what lies there cannot be read or is not ours, `full` when the disk has no
 * room for a new database.
 */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const dataDir = resolve(options.dataDir)
  const { mapBytesMax = mapBytesDefault, waitingBytesMax = waitingBytesDefault } = options
  let { lock } = options
  let databases: Databases | undefined
  try {
    const createdDir = await mkdir(dataDir, { recursive: true, mode: 0o700 })
    lock ??= await lockDirectory(dataDir)
    const found = await checkDatabaseFile(databasePath(dataDir))
    if (found !== 'whole') await checkRoom(dataDir)
    await prepareLockFile(databasePath(dataDir), { readOnly: false })
    await removeUnfinishedLockFiles(databasePath(dataDir))
    databases = await openDatabases(dataDir, mapBytesMax)
    flushDirectories(dataDir, createdDir)
    if (found !== 'whole') options.onMade?.(databasePath(dataDir), found)
    const { release } = lock
    const onClosed = (): Promise<void> => release()
    const { onStopped = () => undefined } = options
    const checkFile = fileCheck(databasePath(dataDir))
    return new LmdbStore({
      ...{ dataDir, databases, mapBytesMax, waitingBytesMax },
      ...{ checkFile, onStopped, onClosed },
    })
  } catch (error) {
    await databases?.root.close()
    await lock?.release()
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `the data directory ${dataDir} cannot be used: ${describe(error)}`, {
      cause: error,
    })
  }
}

/**
 * A check that `path` still leads to the file that it leads to now. Writes to a file that was deleted or replaced would
 * succeed, and be lost with the process.
 */
function fileCheck(path: string): () => void {
  const opened = statSync(path, { bigint: true })
  return () => {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (found?.dev === opened.dev && found.ino === opened.ino) return
    const event = found === undefined ? 'deleted' : 'replaced'
    throw new StoreError('failed', `${path} was ${event} while it was open; put it back and restart`)
  }
}

/** A file whose first pages find no room ends lmdb-js 3.5.6 by a segmentation fault, and stays as half a file. */
async function checkRoom(dataDir: string): Promise<void> {
  const bytesFree = await diskBytesFree(dataDir)
  if (bytesFree < newDatabaseBytes)
    throw new StoreError('full', `${dataDir} has no room for a new database: ${bytesFree} bytes are free`)
}

/** A file survives a power cut only once its name does: in its directory, and that directory's in the one above. */
function flushDirectories(dataDir: string, createdDir: string | undefined): void {
  const last = createdDir === undefined ? dataDir : dirname(createdDir)
  for (let path = dataDir; ; path = dirname(path)) {
    flushDirectory(path)
    if (path === last || path === dirname(path)) return
  }
}
