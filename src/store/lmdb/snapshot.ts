/**
 * A database file at one moment, for reading only: in a directory that a server writes to, in a backup, or a copy under
 * any name. It takes no lock and changes no byte of the file. LMDB's table of readers keeps the pages of this moment from
 * reuse while the snapshot is open, so close it within minutes.
 */
import { open, type Database, type RangeOptions, type Transaction } from 'lmdb'
import { createRecordStore, type Databases, type RecordDatabase } from '../records/index.js'
import {
  bytesInUse,
  checkSchema,
  environmentOptions,
  openingProblem,
  openNamed,
  type Root,
} from './environment.js'
import { checkDatabaseFile } from './file-check.js'
import { asOwnerOf } from './files.js'
import { prepareLockFile } from './lmdb-lock-file.js'
import { StoreError } from '../store-error.js'
import type { Store } from '../store.js'

export interface StoreSnapshot {
  /** Refuses writes. Closing it closes the snapshot. */
  readonly store: Store
  readonly databases: Databases
  /** The used part of the file. */
  readonly bytes: number
  /** Writes the database, as of now and without its free space, to a new file. Does not flush it. */
  copyTo(path: string): Promise<void>
}

export interface SnapshotOptions {
  /** The file must be as long as its last page requires, as backups are. */
  readonly whole?: boolean
  /** Maps parts of the file while they are read, and not the whole file: the process has less mapped memory. */
  readonly mapsParts?: boolean
}

/** Opens the database file `path`. Rejects with a StoreError `unusable` that names the problem. */
export async function openSnapshot(path: string, options: SnapshotOptions = {}): Promise<StoreSnapshot> {
  await checkDatabaseFile(path, options.whole === true ? 'read whole' : 'read')
  await prepareLockFile(path, { readOnly: true })
  let root: Root | undefined
  try {
    root = asOwnerOf(path, () =>
      open<Uint8Array, Uint8Array>({
        path,
        readOnly: true,
        remapChunks: options.mapsParts === true,
        ...environmentOptions,
      }),
    )
    return snapshotOf(root, path)
  } catch (error) {
    await root?.close()
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `${path} cannot be read: ${openingProblem(error)}`, { cause: error })
  }
}

function snapshotOf(root: Root, path: string): StoreSnapshot {
  const named = openNamed(root) as unknown as Named
  // After the databases are open: opening one ends the current read transaction.
  const transaction = root.useReadTransaction()
  const databases = Object.fromEntries(
    Object.entries(named).map(([name, database]) => [name, frozenDatabase(database, transaction)]),
  ) as unknown as Databases
  checkSchema(databases, path)
  const store = createRecordStore({
    databases,
    writes: {
      write: () => Promise.reject(new StoreError('failed', 'the store is open for reading only')),
      count: 0,
    },
    isHealthy: () => true,
    close: () => {
      transaction.done()
      return root.close()
    },
  })
  return { store, databases, bytes: bytesInUse(root), copyTo: (to) => root.backup(to, true) }
}

/** Known to lmdb-js (read.js), of whose types `getBinary` lacks its options. */
interface Readable extends Omit<Database<Uint8Array, Uint8Array>, 'getBinary'> {
  getBinary(key: unknown, options: { readonly transaction: Transaction }): Uint8Array | undefined
}

/** Undefined for a database that was not created yet when its process ended. */
type Named = Record<keyof Databases, Readable | undefined>

/** The methods that the store and the inspection read with, bound to a transaction. */
function frozenDatabase(
  database: Readable | undefined,
  transaction: Transaction,
): Omit<RecordDatabase<unknown>, 'put' | 'remove'> {
  return {
    getBinary: (key) => database?.getBinary(key, { transaction }),
    doesExist: (key) => database?.getBinary(key, { transaction }) !== undefined,
    getKeys: (range) => database?.getKeys({ ...range, transaction } as RangeOptions) ?? [],
    getRange: (range) => database?.getRange({ ...range, transaction } as RangeOptions) ?? [],
  }
}
