/**
 * The store on a journal. Reads use the view. The changes of writes are committed to the journal, and then to the view.
 */
import { inBackground, mebibyte, withRelease } from '../../base/index.js'
import { createRecordStore, kinds, WriteQueue, type RecordStoreParts } from '../records/index.js'
import type { Store } from '../store.js'
import type { ReplicaParts } from './replica-parts.js'
import { Replica } from './replica.js'
import { stopMsMax } from './times.js'

export interface JournalStoreParts extends Omit<ReplicaParts, 'view'> {
  readonly view: RecordStoreParts
}

export interface JournalStore extends Store {
  /** Becomes the owner immediately if the lease is free. */
  tryToOwn(): Promise<void>
  /** Frees the lease, so that a standby takes over immediately. */
  handOver(): Promise<void>
}

/**
 * Opens the store: reads the view up to the head of the journal, then follows or owns it. `close` also closes the journal
 * and the view. Rejects with a StoreError.
 */
export async function openJournalStore(parts: JournalStoreParts): Promise<JournalStore> {
  const { view, journal } = parts
  const replica = new Replica(parts)
  const writes = new WriteQueue({
    databases: view.databases,
    names: kinds,
    batchBytesMax: 16 * mebibyte,
    checkMayWrite: () => replica.checkMayWrite(),
    commit: (changes) => replica.commit(changes),
  })
  let stopping: Promise<void> | undefined
  const handOver = (): Promise<void> => (stopping ??= stop())
  const stop = async (): Promise<void> => {
    // A commit that takes longer ends with its connection: its outcome is unknown then.
    await Promise.race([writes.idle(), parts.sleep(stopMsMax)])
    await replica.stop()
  }
  const store = createRecordStore(
    {
      databases: writes.databases,
      writes,
      isHealthy: () => view.isHealthy() && replica.isHealthy,
      close: async () => {
        inBackground('journal', writes.close())
        const leave = (): Promise<void> => withRelease(handOver, () => journal.close())
        await withRelease(leave, () => view.close())
      },
    },
    replica,
  )
  await replica.start()
  return Object.assign(store, { tryToOwn: () => replica.tryToOwn(), handOver })
}
