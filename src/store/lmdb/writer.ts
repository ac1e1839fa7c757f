/**
 * Group commit: the writes that wait form one transaction, so that forty uploads cost one flush. Each write runs in a child
 * transaction: one that throws is rolled back alone. A promise resolves when the commit that contains its write is flushed.
 *
 * lmdb-js gets one transaction at a time. After LMDB fails to write its meta page, the next transaction would never
 * settle (src/writer.cpp, Write: a failed mdb_txn_begin is not reported), so the writer probes the environment after
 * each failed commit.
 */
import { channel } from 'node:diagnostics_channel'
import { mebibyte } from '../../base/index.js'
import { describe, StoreError } from '../store-error.js'
import { WriteQueue, type WaitingWrite } from '../records/index.js'

/** What the writer needs of a transactional environment. */
export interface WriteEnvironment {
  /** Runs `apply` in a write transaction. Settles when it is flushed, or when nothing of it was stored. */
  transaction<T>(apply: () => T): Promise<T>
  /** Runs `apply` within the current transaction; when it throws, what it wrote is rolled back. */
  child<T>(apply: () => T): T
  /** Throws when no further transaction can begin. */
  probe(): void
  /** Size of the used part of the file, including free pages. */
  bytesInUse(): number
  /** Throws a StoreError when the open file is no longer at its path. */
  checkFile(): void
  diskBytesFree(): Promise<number>
}

export interface WriterOptions {
  /** Limit of `bytesInUse`; a write that could exceed it is refused. */
  readonly bytesMax: number
  /** Called once, when the writer refuses all further writes. */
  readonly onStopped: (reason: StoreError) => void
}

/** Published after each transaction, for the metrics: the time from its first write to the end of its flush. */
export interface CommitMessage {
  readonly ms: number
  readonly hasFailed: boolean
}
export const commitChannel = channel('understudy:store.commit')

/** One commit takes writes of up to this many bytes together, or a single larger one. */
const batchBytesMax = 32 * mebibyte
/** Pages that a transaction writes in addition to its records: tree pages, the list of free pages. */
const overheadBytes = mebibyte

export class Writer {
  readonly #environment: WriteEnvironment
  readonly #options: WriterOptions
  readonly #queue: WriteQueue
  #stopped: StoreError | undefined
  /** Size of the largest write that was refused since the last one of its size was stored; 0: none was refused. */
  #refusedBytes = 0

  /** The used part of the file is not larger. Asking LMDB takes longer than all else before a commit. */
  #bytesInUseMax = Infinity

  constructor(environment: WriteEnvironment, options: WriterOptions) {
    this.#environment = environment
    this.#options = options
    this.#queue = new WriteQueue({
      batchBytesMax,
      commit: async (batch) => {
        const accepted = batch.filter((write) => this.#accept(write))
        if (accepted.length > 0) await this.#commit(accepted)
      },
    })
  }

  /**
   * Runs `apply`, which is synchronous, in a transaction and resolves with its result once that is flushed. Rejects
   * with what `apply` throws, or with a StoreError, and has then stored nothing. `bytes`: about how much it writes.
   * `isCycle`: this write shows by its success that cycles can be stored.
   */
  run<T>(bytes: number, apply: () => T, isCycle = false): Promise<T> {
    return this.#queue.add(bytes, apply, isCycle)
  }

  /**
   * False from a write that failed or did not fit until a cycle, or a write of at least the same size, is stored. A small
   * write may fit on a disk that has no space for a cycle.
   */
  get healthy(): boolean {
    return this.#stopped === undefined && this.#refusedBytes === 0
  }

  /** Refuses all writes from now on, until a restart. */
  stop(reason: StoreError): void {
    if (this.#stopped !== undefined) return
    this.#stopped = reason
    this.#options.onStopped(reason)
  }

  /** Throws the reason when the writer is stopped. */
  checkRunning(): void {
    if (this.#stopped !== undefined) throw this.#stopped
  }

  /** Resolves when the queue is empty and no commit is under way. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  /** Rejects a write that cannot be tried at all. */
  #accept(write: WaitingWrite): boolean {
    const refusal = this.#stopped ?? this.#refusal(write)
    if (refusal === null) return true
    this.#refuse(write, refusal)
    return false
  }

  #refuse(write: WaitingWrite, reason: StoreError): void {
    this.#refusedBytes = Math.max(this.#refusedBytes, write.bytes, 1)
    write.reject(reason)
  }

  #refusal({ bytes }: WaitingWrite): StoreError | null {
    const { bytesMax } = this.#options
    const bytesAdded = bytes + overheadBytes
    try {
      this.#environment.checkFile()
      if (this.#bytesInUseMax + bytesAdded > bytesMax) this.#bytesInUseMax = this.#environment.bytesInUse()
      if (this.#bytesInUseMax + bytesAdded > bytesMax)
        return new StoreError('full', `the store is full: ${this.#bytesInUseMax} of ${bytesMax} bytes in use`)
      this.#bytesInUseMax += bytesAdded
      return null
    } catch (error) {
      this.stop(stoppingError(error))
      return this.#stopped as StoreError
    }
  }

  async #commit(batch: readonly WaitingWrite[]): Promise<void> {
    let settles: readonly (() => void)[]
    const startedAt = performance.now()
    const publish = (hasFailed: boolean): void =>
      commitChannel.publish({ ms: performance.now() - startedAt, hasFailed } satisfies CommitMessage)
    try {
      settles = await this.#environment.transaction(() => batch.map((write) => this.#apply(write)))
      publish(false)
    } catch (error) {
      publish(true)
      const failure = await this.#commitError(await commitCause(error), batch)
      this.#probe()
      for (const write of batch) this.#refuse(write, failure)
      return
    }
    for (const settle of settles) settle()
  }

  /** Runs a write within the transaction. Returns what settles it once the transaction is flushed. */
  #apply(write: WaitingWrite): () => void {
    try {
      const value = this.#environment.child(write.apply)
      return () => {
        if (write.isCycle || write.bytes >= this.#refusedBytes) this.#refusedBytes = 0
        write.resolve(value)
      }
    } catch (error) {
      const reason = isNativeError(error) ? writeError(error, false) : error
      return () => write.reject(reason)
    }
  }

  /** LMDB reports a write that a full disk cut short as an I/O error, so the free space decides. */
  async #commitError(cause: unknown, batch: readonly WaitingWrite[]): Promise<StoreError> {
    const bytesNeeded = batch.reduce((sum, write) => sum + write.bytes, overheadBytes)
    const bytesFree = await this.#environment.diskBytesFree().catch(() => Infinity)
    return writeError(cause, bytesFree < bytesNeeded)
  }

  #probe(): void {
    try {
      this.#environment.probe()
    } catch (error) {
      this.stop(stoppingError(error))
    }
  }
}

/** lmdb-js rejects with a general error that holds a promise of the specific one, which must not go unhandled. */
async function commitCause(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    // It is settled by now, except for error numbers that lmdb-js misinterprets.
    await Promise.race([error.commitError, new Promise((resolve) => setImmediate(resolve))])
    return error
  } catch (cause) {
    return cause
  }
}

/** ENOSPC, EFBIG, EDQUOT on Linux, EDQUOT on macOS, and MDB_MAP_FULL: errors that more space resolves. */
const fullCodes: readonly unknown[] = [28, 27, 122, 69, -30792]

function writeError(cause: unknown, diskFull: boolean): StoreError {
  const full = diskFull || (isNativeError(cause) && fullCodes.includes(cause.code))
  const summary = full ? 'no room for a write' : 'the storage refused a write'
  return new StoreError(full ? 'full' : 'failed', `${summary}: ${describe(cause)}`, { cause })
}

function stoppingError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  return new StoreError('failed', `storage failed; restart the service: ${describe(cause)}`, { cause })
}

/** An error of LMDB or of the operating system: those carry the number that C returned. */
function isNativeError(error: unknown): error is Error & { code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}
