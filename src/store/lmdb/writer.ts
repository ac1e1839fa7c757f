/**
 * Commits to LMDB. Each write of a batch runs in a child transaction: one that throws is rolled back alone. A promise
 * resolves when the commit that contains its write is flushed.
 *
 * lmdb-js gets one transaction at a time. After LMDB fails to write its meta page, the next transaction would never
 * settle (src/writer.cpp, Write: a failed mdb_txn_begin is not reported), so the writer probes the environment after
 * each failed commit.
 */
import { channel } from 'node:diagnostics_channel'
import { firstLineOf, mebibyte } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { WriteQueue, type Write } from '../records/index.js'
import { StoreError } from '../store-error.js'
import { pageBytes } from './environment.js'

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
  /** Why a write of this many bytes does not fit; null if there is room. */
  lackOfRoom(bytes: number): Promise<string | null>
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
/** About what a transaction writes in addition to its records: tree pages, the list of free pages. */
const overheadBytes = 256 * pageBytes

export class Writer extends WriteQueue {
  readonly #environment: WriteEnvironment
  readonly #options: WriterOptions
  #stopped: StoreError | undefined
  /** The used part of the file is not larger. Asking LMDB takes longer than all else before a commit. */
  #bytesInUseMax = Infinity

  constructor(environment: WriteEnvironment, options: WriterOptions) {
    super(batchBytesMax)
    this.#environment = environment
    this.#options = options
  }

  /** False also when the writer refuses all writes until a restart. */
  override get isHealthy(): boolean {
    return this.#stopped === undefined && super.isHealthy
  }

  protected override async commit(batch: readonly Write[]): Promise<void> {
    this.#checkFile()
    const writes = batch.filter((write) => this.#accept(write))
    if (writes.length === 0) return
    const startedAt = performance.now()
    let settles: (() => void)[] = []
    try {
      await this.#environment.transaction(() => {
        settles = writes.map((write) => this.#apply(write))
        assert(settles.length === writes.length, 'each write of a commit is settled')
      })
      publishCommit(startedAt, false)
    } catch (error) {
      publishCommit(startedAt, true)
      const failure = await this.#failureOf(error, writes)
      for (const write of writes) this.refuse(write, failure)
      return
    }
    for (const settle of settles) settle()
  }

  #checkFile(): void {
    try {
      this.#environment.checkFile()
    } catch (error) {
      this.#stop(error)
    }
  }

  /** Rejects a write that cannot be tried at all. */
  #accept(write: Write): boolean {
    const refusal = this.#stopped ?? this.#refusalOf(write)
    if (refusal === null) return true
    this.refuse(write, refusal)
    return false
  }

  #refusalOf({ bytes }: Write): StoreError | null {
    const { bytesMax } = this.#options
    const bytesAdded = bytes + overheadBytes
    try {
      if (this.#bytesInUseMax + bytesAdded > bytesMax) this.#bytesInUseMax = this.#environment.bytesInUse()
      if (this.#bytesInUseMax + bytesAdded > bytesMax)
        return new StoreError('full', `the store is full: ${this.#bytesInUseMax} of ${bytesMax} bytes in use`)
      this.#bytesInUseMax += bytesAdded
      return null
    } catch (error) {
      return this.#stop(error)
    }
  }

  /** Runs a write within the transaction. Returns what settles it once the transaction is flushed. */
  #apply(write: Write): () => void {
    try {
      const value = this.#environment.child(write.apply)
      return () => this.resolve(write, value)
    } catch (error) {
      const reason = isNativeError(error) ? writeError(error, null) : error
      return () => write.reject(reason)
    }
  }

  async #failureOf(error: unknown, writes: readonly Write[]): Promise<StoreError> {
    const cause = await commitCause(error)
    // LMDB reports a write that was cut short as an I/O error, so the room that is left decides.
    const bytesNeeded = writes.reduce((sum, write) => sum + write.bytes, overheadBytes)
    const lackOfRoom = await this.#environment.lackOfRoom(bytesNeeded).catch(() => null)
    try {
      this.#environment.probe()
    } catch (reason) {
      this.#stop(reason)
    }
    return writeError(cause, lackOfRoom)
  }

  /** Refuses all writes from now on, until a restart. Returns the reason, which stays the first one. */
  #stop(cause: unknown): StoreError {
    if (this.#stopped === undefined) {
      this.#stopped =
        cause instanceof StoreError
          ? cause
          : new StoreError('failed', `storage failed; restart the service: ${firstLineOf(cause)}`, { cause })
      this.#options.onStopped(this.#stopped)
    }
    return this.#stopped
  }
}

function publishCommit(startedAt: number, hasFailed: boolean): void {
  commitChannel.publish({ ms: performance.now() - startedAt, hasFailed } satisfies CommitMessage)
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
const fullCodes: readonly number[] = [28, 27, 122, 69, -30792]

/** EIO: what LMDB also reports when the system writes less than it was asked to. */
const ioErrorCode = 5

function writeError(cause: unknown, lackOfRoom: string | null): StoreError {
  const number = isNativeError(cause) ? cause.code : 0
  if (lackOfRoom !== null) return new StoreError('full', `no room for a write: ${lackOfRoom}`, { cause })
  if (fullCodes.includes(number))
    return new StoreError('full', `no room for a write: ${firstLineOf(cause)}`, { cause })
  const reason =
    number === ioErrorCode
      ? `${firstLineOf(cause)}, or a write that ended early (a quota, a network file system)`
      : firstLineOf(cause)
  return new StoreError('failed', `the storage refused a write: ${reason}`, { cause })
}

/** An error of LMDB or of the operating system: those carry the number that C returned. */
function isNativeError(error: unknown): error is Error & { code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}
