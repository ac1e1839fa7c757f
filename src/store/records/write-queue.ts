/**
 * Group commit: the writes that wait when a commit ends form the next one, so that forty uploads cost one flush. Each write of a
 * commit is staged, then all their changes are committed together; a write that throws loses its own changes alone. LMDB, memory
 * and the journal each commit in their way.
 */
import { firstLineOf, mebibyte, nextTurn } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { isNativeError, RefusedChanges, StoreError } from '../store-error.js'
import type { Change } from './changes.js'
import type { DatabaseName, Databases } from './databases.js'
import { StagedDatabases } from './staged-databases.js'

/** Where changes are stored. */
export interface CommitTarget<Name extends DatabaseName> {
  readonly databases: Databases
  /** The databases that writes may change. */
  readonly names: readonly Name[]
  /** One commit takes writes of up to this many bytes together, or a single larger one. */
  readonly batchBytesMax: number
  /** Throws if nothing can be stored. */
  checkMayWrite?(): void
  /**
   * Resolves when the changes, about `bytes`, are durable. Rejects with nothing stored; with `RefusedChanges`, writes of a batch are
   * committed one by one.
   */
  commit(changes: readonly Change<Name>[], bytes: number): Promise<void>
}

interface Write {
  /** About how much it writes. */
  readonly bytes: number
  /** Whether its success shows that cycles can be stored. */
  readonly isCycle: boolean
  /** Reads and changes the databases. */
  readonly apply: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/**
 * How long a commit waits for the writers of the last one, who have just had their answers and usually write again. A writer
 * that remains alone waits once, and a cycle never does.
 */
const gatherMsMax = 0.5

/** Limit of the bytes in the queue; a write that would exceed it is refused, unless the queue is empty. */
const waitingBytesMax = 256 * mebibyte

export class WriteQueue<Name extends DatabaseName = DatabaseName> {
  readonly #target: CommitTarget<Name>
  readonly #staged: StagedDatabases<Name>
  #count = 0
  #waiting: Write[] = []
  #waitingBytes = 0
  #draining: Promise<void> | undefined
  /** How many writes came together lately: those of the last commit, and those that waited at its end. */
  #writersCount = 1
  #isClosed = false
  /** Size of the largest write that was refused since the last one of its size was stored; 0: none was refused. */
  #refusedBytes = 0

  constructor(target: CommitTarget<Name>) {
    this.#target = target
    this.#staged = new StagedDatabases(target.databases, target.names)
  }

  /** The databases of the target; within a write, with its changes. */
  get databases(): Databases {
    return this.#staged.databases
  }

  /** Writes that wait and that are being committed. */
  get count(): number {
    return this.#count
  }

  /**
   * False from a write that storage refused until a cycle, or a write of at least the same size, is stored. A small write
   * may fit on a disk that has no space for a cycle.
   */
  get isHealthy(): boolean {
    return this.#refusedBytes === 0
  }

  /**
   * Runs `apply`, which is synchronous, and resolves with its result once its changes are durable. Rejects with what `apply`
   * throws, or with a StoreError, and has then stored nothing. `apply` may run again if other writes of the commit were refused.
   * The bytes that it puts must not change until then. `bytes`: about how much it writes.
   */
  write<T>(bytes: number, apply: () => T, isCycle = false): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StoreError('closed', 'the store is closed'))
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > waitingBytesMax)
      return Promise.reject(new StoreError('busy', 'the write queue is full'))
    assert(bytes >= 0, 'a write has no less than no bytes')
    this.#waitingBytes += bytes
    this.#count++
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ bytes, isCycle, apply, resolve: resolve as (value: unknown) => void, reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Resolves when the queue is empty and no commit is under way. */
  async idle(): Promise<void> {
    await this.#draining
  }

  /** Refuses writes from now on; resolves when those before are settled. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.idle()
  }

  /** Settles each write of the batch, in order. Never rejects. */
  async #commit(batch: readonly Write[]): Promise<void> {
    let settles: (() => void)[]
    try {
      this.#target.checkMayWrite?.()
      settles = batch.map((write) => this.#stage(write))
      const changes = this.#staged.take()
      const bytes = batch.reduce((sum, write) => sum + write.bytes, 0)
      if (changes.length > 0) await this.#target.commit(changes, bytes)
    } catch (error) {
      // One write that is refused must not take the others with it.
      if (error instanceof RefusedChanges && batch.length > 1)
        for (const write of batch) await this.#commit([write])
      // Also those that changed nothing: they may have seen changes of the others.
      else for (const write of batch) this.#refuse(write, error)
      return
    }
    for (const settle of settles) settle()
  }

  /** Returns what settles the write once its changes are committed. */
  #stage(write: Write): () => void {
    try {
      const { value, hasChanged } = this.#staged.apply(write.apply)
      return () => {
        if (hasChanged && (write.isCycle || write.bytes >= this.#refusedBytes)) this.#refusedBytes = 0
        write.resolve(value)
      }
    } catch (error) {
      const reason = isNativeError(error)
        ? new StoreError('failed', `the storage cannot be read: ${firstLineOf(error)}`, { cause: error })
        : error
      return () => write.reject(reason)
    }
  }

  /** Rejects a write for a reason that is not its own: storage cannot take it. */
  #refuse(write: Write, reason: unknown): void {
    this.#refusedBytes = Math.max(this.#refusedBytes, write.bytes, 1)
    write.reject(reason)
  }

  async #drain(): Promise<void> {
    // Further writes of this turn of the event loop join the first commit.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      await this.#gather()
      const batch = this.#takeBatch()
      assert(batch.length > 0, 'a commit takes at least one write')
      await this.#commit(batch)
      this.#count -= batch.length
      this.#writersCount = batch.length + this.#waiting.length
      for (const { bytes } of batch) this.#waitingBytes -= bytes
      assert(this.#waitingBytes >= 0, 'the queue never holds less than no bytes')
    }
    assert(this.#waitingBytes === 0 && this.#count === 0, 'an empty queue holds no writes')
    this.#draining = undefined
  }

  /** Otherwise two halves of the writers would take turns, with twice as many commits. */
  async #gather(): Promise<void> {
    const untilMs = performance.now() + gatherMsMax
    while (this.#isGathering() && performance.now() < untilMs) await nextTurn()
  }

  #isGathering(): boolean {
    return (
      this.#target.batchBytesMax > 0 &&
      !this.#isClosed &&
      this.#waiting.length < this.#writersCount &&
      !this.#waiting.some(({ isCycle }) => isCycle)
    )
  }

  #takeBatch(): Write[] {
    let count = 0
    let bytes = 0
    for (const write of this.#waiting) {
      bytes += write.bytes
      if (count > 0 && bytes > this.#target.batchBytesMax) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}
