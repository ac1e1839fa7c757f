/**
 * The store on a journal. Reads use the view. The changes of a write are computed on top of the view, committed to the
 * journal, and then applied to the view. All writes that wait when a commit ends form the next one.
 */
import { inBackground, mebibyte, withRelease } from '../../base/index.js'
import { createRecordStore, WriteQueue, type RecordStoreParts, type Write } from '../records/index.js'
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
  const writes = new JournalWrites(view, staged, replica)
  let stopping: Promise<void> | undefined
  const handOver = (): Promise<void> => (stopping ??= stop())
  const stop = async (): Promise<void> => {
    // A commit that takes longer ends with its connection: its outcome is unknown then.
    await Promise.race([writes.idle(), parts.sleep(stopMsMax)])
    await replica.stop()
  }
  const store = createRecordStore(
    {
      databases: staged.databases,
      writes,
      close: async () => {
        inBackground('journal', writes.close())
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
class JournalWrites extends WriteQueue {
  readonly #view: RecordStoreParts
  readonly #staged: StagedDatabases
  readonly #replica: Replica

  constructor(view: RecordStoreParts, staged: StagedDatabases, replica: Replica) {
    super(batchBytesMax)
    this.#view = view
    this.#staged = staged
    this.#replica = replica
  }

  override get isHealthy(): boolean {
    return this.#view.writes.isHealthy && this.#replica.isHealthy
  }

  protected override async commit(batch: readonly Write[]): Promise<void> {
    try {
      this.#replica.checkMayWrite()
      const settles = batch.map((write) => this.#stage(write))
      const changes = this.#staged.take()
      if (changes.length > 0) await this.#replica.commit(changes)
      for (const settle of settles) settle()
    } catch (error) {
      // One write that the journal refuses must not take the others with it.
      if (error instanceof Refusal && batch.length > 1) for (const write of batch) await this.commit([write])
      // Also those that changed nothing: they may have seen changes of the others.
      else for (const write of batch) write.reject(error)
    }
  }

  /** Returns what settles the write once its changes are committed. */
  #stage(write: Write): () => void {
    try {
      const value = this.#staged.apply(write.apply)
      return () => write.resolve(value)
    } catch (error) {
      return () => write.reject(error)
    }
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
      const claimed = await claim(modelVersion, identity)
      if (claimed !== identity)
        throw new StoreError('unusable', `the version ${modelVersion} has different files in the journal`)
      waiting.delete(modelVersion)
    }
  })
}
