/**
 * Commits sets of changes to LMDB, of which all or nothing is stored. `commit` resolves when they are flushed.
 *
 * lmdb-js gets one transaction at a time. After LMDB fails to write its meta page, the next transaction would never
 * settle (src/writer.cpp, Write: a failed mdb_txn_begin is not reported), so the environment is probed after each failed
 * commit.
 */
import { channel } from 'node:diagnostics_channel'
import { firstLineOf, mebibyte } from '../../base/index.js'
import {
  databaseNames,
  type Change,
  type CommitTarget,
  type DatabaseName,
  type Databases,
} from '../records/index.js'
import { isNativeError, RefusedChanges, StoreError } from '../store-error.js'
import { pageBytes } from './environment.js'

/** What a commit needs of a transactional environment. */
export interface WriteEnvironment {
  readonly databases: Databases
  /** Stores all the changes in one transaction, or nothing. Settles when it is flushed, or when nothing of it was stored. */
  transaction(changes: readonly Change<DatabaseName>[]): Promise<unknown>
  /** Throws when no further transaction can begin. */
  probe(): void
  /** Size of the used part of the file, including free pages. */
  bytesInUse(): number
  /** Throws a StoreError when the open file is no longer at its path. */
  checkFile(): void
  /** Why a write of this many bytes does not fit; null if there is room. */
  lackOfRoom(bytes: number): Promise<string | null>
}

export interface LmdbCommitOptions {
  /** Limit of `bytesInUse`; changes that could exceed it are refused. */
  readonly bytesMax: number
  /** Called once, when all further changes are refused. */
  readonly onStopped: (reason: StoreError) => void
}

/** Published after each transaction, for the metrics: the time from its first write to the end of its flush. */
export interface CommitMessage {
  readonly ms: number
  readonly hasFailed: boolean
}
export const commitChannel = channel('understudy:store.commit')

/** About what a transaction writes in addition to its records: tree pages, the list of free pages. */
const overheadBytes = 256 * pageBytes

export class LmdbCommit implements CommitTarget<DatabaseName> {
  readonly names = databaseNames
  readonly batchBytesMax = 32 * mebibyte
  readonly #environment: WriteEnvironment
  readonly #options: LmdbCommitOptions
  #stopped: StoreError | undefined
  /** The used part of the file is not larger. Asking LMDB takes longer than all else before a commit. */
  #bytesInUseMax = Infinity

  constructor(environment: WriteEnvironment, options: LmdbCommitOptions) {
    this.#environment = environment
    this.#options = options
  }

  get databases(): Databases {
    return this.#environment.databases
  }

  /** True when all changes are refused until a restart. */
  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  checkMayWrite(): void {
    if (this.#stopped === undefined) this.#stopIfThrows(() => this.#environment.checkFile())
    if (this.#stopped !== undefined) throw this.#stopped
  }

  async commit(changes: readonly Change<DatabaseName>[], bytes: number): Promise<void> {
    const bytesAdded = bytes + overheadBytes
    this.#checkSize(bytesAdded)
    const startedAt = performance.now()
    try {
      await this.#environment.transaction(changes)
    } catch (error) {
      publishCommit(startedAt, true)
      throw await this.#failureOf(error, bytesAdded)
    }
    publishCommit(startedAt, false)
  }

  #checkSize(bytesAdded: number): void {
    const { bytesMax } = this.#options
    if (this.#bytesInUseMax + bytesAdded > bytesMax)
      this.#stopIfThrows(() => (this.#bytesInUseMax = this.#environment.bytesInUse()))
    if (this.#stopped !== undefined) throw this.#stopped
    if (this.#bytesInUseMax + bytesAdded > bytesMax)
      throw new RefusedChanges(
        'full',
        `the store is full: ${this.#bytesInUseMax} of ${bytesMax} bytes in use`,
      )
    this.#bytesInUseMax += bytesAdded
  }

  async #failureOf(error: unknown, bytesNeeded: number): Promise<StoreError> {
    const cause = await commitCause(error)
    // LMDB reports a write that was cut short as an I/O error, so the room that is left decides.
    const lackOfRoom = await this.#environment.lackOfRoom(bytesNeeded).catch(() => null)
    this.#stopIfThrows(() => this.#environment.probe())
    return writeError(cause, lackOfRoom)
  }

  /** Refuses all changes from now on, until a restart, when `check` throws. The first reason stays. */
  #stopIfThrows(check: () => void): void {
    try {
      check()
    } catch (cause) {
      if (this.#stopped !== undefined) return
      this.#stopped =
        cause instanceof StoreError
          ? cause
          : new StoreError('failed', `storage failed; restart the service: ${firstLineOf(cause)}`, { cause })
      this.#options.onStopped(this.#stopped)
    }
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
