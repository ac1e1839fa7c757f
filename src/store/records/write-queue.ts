/**
 * Group commit: the writes that wait when a commit ends form the next one, so that forty uploads cost one flush. LMDB, memory
 * and the journal each implement `commit`.
 */
import { mebibyte, nextTurn } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { StoreError } from '../store-error.js'

export interface Write {
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

export abstract class WriteQueue {
  readonly #batchBytesMax: number
  #count = 0
  #waiting: Write[] = []
  #waitingBytes = 0
  #draining: Promise<void> | undefined
  /** How many writes came together lately: those of the last commit, and those that waited at its end. */
  #writersCount = 1
  #isClosed = false
  /** Size of the largest write that was refused since the last one of its size was stored; 0: none was refused. */
  #refusedBytes = 0

  /** `batchBytesMax`: one commit takes writes of up to this many bytes together, or a single larger one. */
  constructor(batchBytesMax: number) {
    this.#batchBytesMax = batchBytesMax
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
   * Runs `apply`, which is synchronous, in a transaction, and resolves with its result once that is durable. Rejects with
   * what `apply` throws, or with a StoreError, and has then stored nothing. `bytes`: about how much it writes.
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
  protected abstract commit(batch: readonly Write[]): Promise<void>

  protected resolve(write: Write, value: unknown): void {
    if (write.isCycle || write.bytes >= this.#refusedBytes) this.#refusedBytes = 0
    write.resolve(value)
  }

  /** Rejects a write for a reason that is not its own: storage cannot take it. */
  protected refuse(write: Write, reason: unknown): void {
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
      await this.commit(batch)
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
      this.#batchBytesMax > 0 &&
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
      if (count > 0 && bytes > this.#batchBytesMax) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}
