/**
 * The store over databases, wherever these are: in a file, in a snapshot of one, or in memory. Each kind of record has a
 * file of its own; this one assembles them.
 */
import { StoreError } from '../store-error.js'
import type { EnvironmentRole, Store } from '../store.js'
import { cycleStore } from './cycles.js'
import { expiryRecords } from './expiry.js'
import { imageRecords } from './images.js'
import { modelRecords } from './model-records.js'
import { outcomeRecords } from './outcomes.js'
import { readRecord, type RecordAccess, type RecordStoreParts } from './record-access.js'
import { weightsRecords } from './weights.js'

/** The environment of a store without a journal. */
const ownEnvironment: EnvironmentRole = {
  replication: null,
  role: 'owner',
  mayWrite: true,
  onFollowed: () => undefined,
}

/** `environment`: of a store whose databases are a view of a journal. */
export function createRecordStore(parts: RecordStoreParts, environment = ownEnvironment): Store {
  const { databases, writes } = parts
  let closing: Promise<void> | undefined
  const checkOpen = (): void => {
    if (closing !== undefined) throw new StoreError('closed', 'the store is closed')
  }
  const access: RecordAccess = {
    writes,
    checkOpen,
    read: (database, key, unpack) => {
      checkOpen()
      const record = readRecord(database, key)
      return record && unpack(record)
    },
  }
  return {
    ...cycleStore(databases, access),
    ...imageRecords(databases, access),
    ...weightsRecords(databases, access),
    ...outcomeRecords(databases, access),
    models: modelRecords(databases, access, environment),
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
    get queuedWrites() {
      return writes.count
    },
    get closed() {
      return closing !== undefined
    },
    close: () => (closing ??= parts.close()),
  }
}
