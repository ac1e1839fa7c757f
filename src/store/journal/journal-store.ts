/**
 * The store on a journal. Reads use the view. The changes of a write are computed on top of the view, committed to the
 * journal, and then applied to the view. All writes that wait when a commit ends form the next one.
 */
import { mebibyte, withRelease } from '../../base/index.js'
import { createRecordStore, WriteQueue, type RecordStoreParts, type WaitingWrite } from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { Store } from '../store.js'
import { Refusal } from './journal.js'
import type { ReplicaParts } from './replica-parts.js'
import { Replica } from './replica.js'
import { StagedDatabases } from './staged-databases.js'
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

/** One commit takes writes of up to this many bytes together, or a single larger one. */
const batchBytesMax = 16 * mebibyte

/**
 * Opens the store: reads the view up to the head of the journal, then follows or owns it. `close` also closes the journal
 * and the view. Rejects with a StoreError.
 */
export async function openJournalStore(parts: JournalStoreParts): Promise<JournalStore> {
  const { view, journal } = parts
  const replica = new Replica(parts)
  const staged = new StagedDatabases(view.databases)
  const queue = new WriteQueue({
    batchBytesMax,
    commit: (batch) => commitBatch(batch, staged, replica),
  })
  let stopping: Promise<void> | undefined
  const handOver = (): Promise<void> => (stopping ??= stop())
  const stop = async (): Promise<void> => {
    // A commit that takes longer ends with its connection: its outcome is unknown then.
    await Promise.race([queue.idle(), parts.sleep(stopMsMax)])
    await replica.stop()
  }
  const store = createRecordStore(
    {
      ...view,
      databases: staged.databases,
      isHealthy: () => view.isHealthy() && replica.isHealthy,
      write: (_operation, bytes, apply) => queue.add(bytes, apply),
      // Cycles of other processes come from the journal.
      onFileReplaced: undefined,
      close: async () => {
        const leave = (): Promise<void> => withRelease(handOver, () => journal.close())
        await withRelease(leave, () => view.close())
      },
    },
    replica,
  )
  claimWhenOwner(store, replica)
  await replica.start()
  return Object.assign(store, { tryToOwn: () => replica.tryToOwn(), handOver })
}

/** Stages the writes of a batch, and commits their changes together. */
async function commitBatch(
  batch: readonly WaitingWrite[],
  staged: StagedDatabases,
  replica: Replica,
): Promise<void> {
  try {
    replica.checkMayWrite()
    const settles = batch.map((write) => stage(write, staged))
    const changes = staged.take()
    if (changes.length > 0) await replica.commit(changes)
    for (const settle of settles) settle()
  } catch (error) {
    // One write that the journal refuses must not take the others with it.
    if (error instanceof Refusal && batch.length > 1)
      for (const write of batch) await commitBatch([write], staged, replica)
    // Also those that changed nothing: they may have seen changes of the others.
    else for (const write of batch) write.reject(error)
  }
}

/** Returns what settles the write once its changes are committed. */
function stage({ apply, resolve, reject }: WaitingWrite, staged: StagedDatabases): () => void {
  try {
    const value = staged.apply(apply)
    return () => resolve(value)
  } catch (error) {
    return () => reject(error)
  }
}

/**
 * A standby loads its model before it may write. The version that it claims is claimed in the journal when it becomes the
 * owner, unless other files have claimed it: then it does not become the owner.
 */
function claimWhenOwner(store: Store, replica: Replica): void {
  const { models } = store
  const claim = models.claimVersion.bind(models)
  const waiting = new Map<string, string>()
  Object.assign(models, {
    claimVersion: (modelVersion: string, identity: string): Promise<string> => {
      const known = models.readIdentity(modelVersion)
      if (known !== undefined) return Promise.resolve(known)
      if (replica.mayWrite) return claim(modelVersion, identity)
      waiting.set(modelVersion, identity)
      return Promise.resolve(identity)
    },
  })
  replica.onFollowed(async () => {
    if (!replica.mayWrite) return
    for (const [modelVersion, identity] of waiting) {
      const found = await claim(modelVersion, identity)
      if (found !== identity)
        throw new StoreError('unusable', `the version ${modelVersion} has different files in the journal`)
      waiting.delete(modelVersion)
    }
  })
}
