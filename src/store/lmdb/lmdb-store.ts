/**
 * The store on LMDB: one environment, one transaction per write, one process per data directory. Each kind of record has a
 * file of its own; this one holds what they share.
 */
import { StoreError } from '../store-error.js'
import type { Store } from '../store.js'
import { cycleRecords } from './cycles.js'
import { bytesInUse, poolKey, type Databases } from './databases.js'
import { LmdbExpiry } from './expiry.js'
import { diskBytesFree } from './files.js'
import { imageRecords } from './images.js'
import { modelRecords } from './model-records.js'
import { Positions } from './positions.js'
import { readRecord, type RecordAccess } from './record-access.js'
import { weightsAndOutcomes } from './weights-and-outcomes.js'
import { Writer } from './writer.js'

export interface LmdbStoreParts {
  /** The data directory, for its free space. */
  readonly dataDir: string
  readonly databases: Databases
  readonly mapBytesMax: number
  readonly waitingBytesMax: number
  /** Throws a StoreError when the open file is no longer at its path. */
  readonly checkFile: () => void
  /** Called once, when the store refuses all further writes. */
  readonly onStopped: (reason: StoreError) => void
  /** Called after the environment is closed. */
  readonly onClosed: () => Promise<void>
}

/** The store over open databases; `openLmdbStore` and `openSnapshot` open them. */
export function createLmdbStore(parts: LmdbStoreParts): Store {
  const { dataDir, databases, mapBytesMax, waitingBytesMax, checkFile, onStopped, onClosed } = parts
  const { root } = databases
  const writer = new Writer(
    {
      transaction: (apply) => root.transaction(apply),
      // Within a transaction, lmdb-js runs a child at once and returns what it returns; its types say Promise.
      child: <T>(apply: () => T) => root.childTransaction(apply) as T,
      probe: () => {
        root.resetReadTxn()
        databases.pool.getBinary(poolKey)
      },
      bytesInUse: () => bytesInUse(databases),
      checkFile,
      diskBytesFree: () => diskBytesFree(dataDir),
    },
    { bytesMax: mapBytesMax, waitingBytesMax, onStopped },
  )
  const positions = new Positions(databases, (reason) => writer.stop(reason))
  let closing: Promise<void> | undefined
  const checkOpen = (): void => {
    if (closing !== undefined) throw new StoreError('closed', 'the store is closed')
  }
  const access: RecordAccess = {
    checkOpen,
    write: async (bytes, apply, isCycle) => {
      checkOpen()
      const run = (): ReturnType<typeof apply> => {
        const next = positions.next()
        writer.checkRunning()
        return apply(next)
      }
      return writer.run(bytes, run, isCycle)
    },
    read: (database, key) => {
      checkOpen()
      return readRecord(database, key)
    },
  }
  const close = async (): Promise<void> => {
    await writer.idle()
    await root.close()
    await onClosed()
  }
  return {
    ...cycleRecords(databases, access, positions),
    ...imageRecords(databases, access),
    ...weightsAndOutcomes(databases, access),
    models: modelRecords(databases, access),
    expiry: new LmdbExpiry(databases, access),
    get healthy() {
      return writer.healthy
    },
    get closed() {
      return closing !== undefined
    },
    close: () => (closing ??= close()),
  }
}
