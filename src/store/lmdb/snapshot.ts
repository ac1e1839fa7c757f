/**
 * A database file as it is at one moment, for reading only: of a directory that a server writes to, of a backup, of a
 * copy under any name. Takes no lock and changes no byte of the file. LMDB alone notes, in its table of readers, that
 * pages of this moment are still read: they are not used again meanwhile, so a snapshot is for minutes, not for days.
 */
import { open, type Database, type RootDatabase, type Transaction } from 'lmdb'
import {
  bytesInUse,
  createdKey,
  databaseCountMax,
  keyedNames,
  numberedNames,
  permissions,
  schemaKey,
  schemaVersion,
  type Databases,
} from './databases.js'
import { checkReadableFile } from './file-check.js'
import { asOwnerOf } from './files.js'
import { LmdbStore } from './lmdb-store.js'
import { prepareLockFile } from './lmdb-lock-file.js'
import { openRecord, viewOf } from './record.js'
import { recordVersion } from './records.js'
import { describe, StoreError } from '../store-error.js'
import type { Store } from '../store.js'

type Root = RootDatabase<Uint8Array, Uint8Array>

export interface StoreSnapshot {
  /** Reads as ever; writes are refused. Closing it closes the snapshot. */
  readonly store: Store
  readonly databases: Databases
  /** Of the file that are in use. */
  readonly bytes: number
  /** Writes the database, as of now and without its free space, to a new file. Does not flush it. */
  copyTo(path: string): Promise<void>
}

export interface SnapshotOptions {
  /** The file must be as long as its last page says: so are backups. */
  readonly whole?: boolean
}

/** Opens the database file `path`. Rejects with a StoreError `unusable` that says what is wrong with it. */
export async function openSnapshot(path: string, options: SnapshotOptions = {}): Promise<StoreSnapshot> {
  await checkReadableFile(path, options.whole ?? false)
  await prepareLockFile(path, { readOnly: true })
  let root: Root | undefined
  try {
    root = asOwnerOf(path, () =>
      open<Uint8Array, Uint8Array>({
        path,
        noSubdir: true,
        readOnly: true,
        ...permissions,
        maxDbs: databaseCountMax,
        encoding: 'binary',
        keyEncoding: 'binary',
        cache: false,
      }),
    )
    return snapshotOf(root, path)
  } catch (error) {
    await root?.close()
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `${path} cannot be read: ${describe(error)}`, { cause: error })
  }
}

function snapshotOf(root: Root, path: string): StoreSnapshot {
  const named = openNamed(root)
  // Begun after the databases are open: opening one ends the transaction of the moment.
  const transaction = root.useReadTransaction()
  const databases = frozenDatabases(root, named, transaction)
  checkMeta(databases, path)
  const store = new LmdbStore({
    dataDir: path,
    databases,
    mapBytesMax: Infinity,
    waitingBytesMax: 0,
    checkFile: () => undefined,
    onStopped: () => undefined,
    onClosed: () => Promise.resolve(),
  })
  return { store, databases, bytes: bytesInUse(databases), copyTo: (to) => root.backup(to, true) }
}

/** That the file is ours, of this version, and says when it was made. */
function checkMeta({ meta }: Databases, path: string): void {
  const version = meta.getBinary(schemaKey)
  if (version === undefined) throw new StoreError('unusable', `${path} is a database of another program`)
  const found = viewOf(openRecord(version, recordVersion, 'schema version').payload).getUint32(0, true)
  if (found !== schemaVersion)
    throw new StoreError(
      'unusable',
      `${path} has schema version ${found}; this program reads ${schemaVersion}`,
    )
  const created = meta.getBinary(createdKey)
  if (created === undefined) throw new StoreError('unusable', `${path} does not say when it was made`)
  openRecord(created, recordVersion, 'time of creation')
}

/** Known to lmdb-js (read.js), of whose types `getBinary` lacks its options. */
interface Readable extends Omit<Database<Uint8Array, Uint8Array>, 'getBinary'> {
  getBinary(key: unknown, options: { readonly transaction: Transaction }): Uint8Array | undefined
}

/** Undefined for one that the file lacks: a program before this one may have made it. */
type Named = Record<Exclude<keyof Databases, 'root'>, Readable | undefined>

function openNamed(root: Root): Named {
  const openOne = (name: string, keyEncoding: 'uint32' | 'binary'): unknown =>
    root.openDB(name, { encoding: 'binary', keyEncoding, cache: false })
  return Object.fromEntries([
    ...Object.entries(numberedNames).map(([key, name]) => [key, openOne(name, 'uint32')]),
    ...Object.entries(keyedNames).map(([key, name]) => [key, openOne(name, 'binary')]),
  ]) as Named
}

/** Databases that read in one transaction and write nothing. */
function frozenDatabases(root: Root, named: Named, transaction: Transaction): Databases {
  const frozen = Object.entries(named).map(([name, database]) => [
    name,
    frozenDatabase(database, transaction),
  ])
  return {
    ...(Object.fromEntries(frozen) as Omit<Databases, 'root'>),
    root: {
      getStats: () => root.getStats(),
      resetReadTxn: () => undefined,
      transaction: () => Promise.reject(new StoreError('failed', 'the store is open for reading only')),
      close: () => {
        transaction.done()
        return root.close()
      },
    } as unknown as Root,
  }
}

/** What LmdbStore and the inspection read with, bound to a transaction. */
function frozenDatabase(database: Readable | undefined, transaction: Transaction): object {
  return {
    getBinary: (key: unknown) => database?.getBinary(key, { transaction }),
    doesExist: (key: unknown) => database?.getBinary(key, { transaction }) !== undefined,
    getKeys: (options: object = {}) => database?.getKeys({ ...options, transaction }) ?? [],
    getRange: (options: object = {}) => database?.getRange({ ...options, transaction }) ?? [],
  }
}
