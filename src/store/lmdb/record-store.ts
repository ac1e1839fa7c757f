/**
 * The store over databases, wherever these are: in a file, in a snapshot of one, or in memory. Each kind of record has a
 * file of its own; this one assembles them.
 */
import { StoreError } from '../store-error.js'
import type { FollowedChanges, Replication, Store } from '../store.js'
import { cycleRecords } from './cycles.js'
import type { Databases } from './databases.js'
import { Expiry } from './expiry.js'
import { imageRecords } from './images.js'
import { modelRecords } from './model-records.js'
import { Positions, positionsOfView } from './positions.js'
import { readRecord, type RecordAccess, type WriteOperation } from './record-access.js'
import { weightsAndOutcomes } from './weights-and-outcomes.js'

export interface RecordStoreParts {
  readonly databases: Databases
  /** Runs `apply`, which is synchronous, in a transaction, and resolves when that is durable. `bytes`: about what it writes. */
  readonly write: <T>(operation: WriteOperation, bytes: number, apply: () => T) => Promise<T>
  /** Called in a transaction, before anything is written. Throws when nothing may be written. */
  readonly checkWritable: () => void
  readonly onFileReplaced: (reason: StoreError) => void
  /** Removes readers that were killed: they would keep the pages that a removal frees. */
  readonly removeDeadReaders: () => void
  readonly isHealthy: () => boolean
  /** Waits for writes under way, then closes the databases. Called once. */
  readonly close: () => Promise<void>
  /** Of a store whose databases are a view of a journal. */
  readonly replication?: {
    readonly state: () => Replication
    readonly role: () => Store['role']
    readonly mayWrite: () => boolean
    readonly onFollowed: (listener: (changes: FollowedChanges) => Promise<void>) => void
  }
}

export function createRecordStore(parts: RecordStoreParts): Store {
  const { databases, write, checkWritable, onFileReplaced, removeDeadReaders, isHealthy, close } = parts
  const { replication } = parts
  const positions =
    replication === undefined ? new Positions(databases, onFileReplaced) : positionsOfView(databases)
  let closing: Promise<void> | undefined
  const checkOpen = (): void => {
    if (closing !== undefined) throw new StoreError('closed', 'the store is closed')
  }
  const access: RecordAccess = {
    checkOpen,
    write: async (operation, bytes, apply) => {
      checkOpen()
      return write(operation, bytes, () => {
        const next = positions.next()
        checkWritable()
        return apply(next)
      })
    },
    read: (database, key) => {
      checkOpen()
      return readRecord(database, key)
    },
  }
  return {
    ...cycleRecords(databases, access, positions),
    ...imageRecords(databases, access),
    ...weightsAndOutcomes(databases, access),
    models: modelRecords(databases, access),
    expiry: new Expiry(databases, access, removeDeadReaders),
    get replication() {
      return replication?.state() ?? null
    },
    get role() {
      return replication?.role() ?? 'owner'
    },
    get mayWrite() {
      return replication?.mayWrite() ?? true
    },
    onFollowed: (listener) => replication?.onFollowed(listener),
    get healthy() {
      return isHealthy()
    },
    get closed() {
      return closing !== undefined
    },
    close: () => (closing ??= close()),
  }
}
