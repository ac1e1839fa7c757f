/**
 * The store on LMDB: one environment, one transaction per write, one process per data directory.
 */
import type { StoreError } from '../store-error.js'
import type { Store } from '../store.js'
import { bytesInUse, poolKey, type FileDatabases } from './databases.js'
import { diskBytesFree } from './files.js'
import { createRecordStore } from './record-store.js'
import { Writer } from './writer.js'

export interface LmdbStoreParts {
  /** The data directory, for its free space. */
  readonly dataDir: string
  readonly databases: FileDatabases
  readonly mapBytesMax: number
  readonly waitingBytesMax: number
  /** Throws a StoreError when the open file is no longer at its path. */
  readonly checkFile: () => void
  /** Called once, when the store refuses all further writes. */
  readonly onStopped: (reason: StoreError) => void
  /** Called after the environment is closed. */
  readonly onClosed: () => Promise<void>
}

/** The store over the open databases of a data directory; `openLmdbStore` opens them. */
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
      bytesInUse: () => bytesInUse(root),
      checkFile,
      diskBytesFree: () => diskBytesFree(dataDir),
    },
    { bytesMax: mapBytesMax, waitingBytesMax, onStopped },
  )
  return createRecordStore({
    databases,
    write: (operation, bytes, apply) => writer.run(bytes, apply, operation === 'appendCycle'),
    checkWritable: () => writer.checkRunning(),
    onForeignFile: (reason) => writer.stop(reason),
    removeDeadReaders: () => root.readerCheck(),
    isHealthy: () => writer.healthy,
    close: async () => {
      await writer.idle()
      await root.close()
      await onClosed()
    },
  })
}
