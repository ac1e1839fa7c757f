/**
 * The store over databases, wherever these are: in a file, in a snapshot of one, or in memory. Each kind of record has a
 * file of its own; this one assembles them.
 */
import { StoreError } from '../store-error.js'
import type { EnvironmentRole, Store } from '../store.js'
import { cycleRecords } from './cycles.js'
import type { Databases } from './databases.js'
import { expiryRecords } from './expiry.js'
import { imageRecords } from './images.js'
import { modelRecords } from './model-records.js'
import { outcomeRecords } from './outcomes.js'
import { CheckedPositions, plainPositions } from './positions.js'
import { readRecord, type RecordAccess, type WriteOperation } from './record-access.js'
import { weightsRecords } from './weights.js'

export interface RecordStoreParts {
  readonly databases: Databases
  /** Runs `apply`, which is synchronous, in a transaction, and resolves when that is durable. `bytes`: about what it writes. */
  readonly write: <T>(operation: WriteOperation, bytes: number, apply: () => T) => Promise<T>
  /** Called in a transaction, before anything is written. Throws when nothing may be written. */
  readonly checkWritable?: () => void
  /** Called when another process has written to the databases. Absent if none can, and if they may. */
  readonly onFileReplaced?: ((reason: StoreError) => void) | undefined
  readonly isHealthy: () => boolean
  /** Waits for writes under way, then closes the databases. Called once. */
  readonly close: () => Promise<void>
}

/** The environment of a store without a journal. */
const ownEnvironment: EnvironmentRole = {
  replication: null,
  role: 'owner',
  mayWrite: true,
  onFollowed: () => undefined,
}

/** `environment`: of a store whose databases are a view of a journal. */
export function createRecordStore(parts: RecordStoreParts, environment = ownEnvironment): Store {
  const { databases, onFileReplaced } = parts
  const positions =
    onFileReplaced === undefined ? plainPositions(databases) : new CheckedPositions(databases, onFileReplaced)
  let closing: Promise<void> | undefined
  const checkOpen = (): void => {
    if (closing !== undefined) throw new StoreError('closed', 'the store is closed')
  }
  const access: RecordAccess = {
    checkOpen,
    write: async (operation, bytes, apply) => {
      checkOpen()
      return parts.write(operation, bytes, () => {
        const next = positions.next()
        parts.checkWritable?.()
        return apply(next)
      })
    },
    read: (database, key, unpack) => {
      checkOpen()
      const record = readRecord(database, key)
      return record && unpack(record)
    },
  }
  return {
    ...cycleRecords(databases, access, positions),
    ...imageRecords(databases, access),
    ...weightsRecords(databases, access),
    ...outcomeRecords(databases, access),
    models: modelRecords(databases, access),
    expiry: expiryRecords(databases, access),
    get replication() {
      return environment.replication
    },
    get role() {
      return environment.role
    },
    get mayWrite() {
      return environment.mayWrite
    },
    onFollowed: (listener) => environment.onFollowed(listener),
    get healthy() {
      return parts.isHealthy()
    },
    get closed() {
      return closing !== undefined
    },
    close: () => (closing ??= parts.close()),
  }
}
