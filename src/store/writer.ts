/**
 * The one place that writes: writes wait in a line, and all that wait when a commit ends go into the next one, so
 * that forty uploads cost one flush. There are two kinds. `run` decides inside the transaction, on this thread, in a
 * child transaction of its own: one that throws leaves nothing behind and does not touch its neighbours. `insert` hands
 * its puts over and lets LMDB's thread make them: two hops between threads less, and no large copy on this one. A
 * promise resolves when the commit that holds its write is flushed.
 *
 * Only one transaction is ever given to lmdb-js at a time. After LMDB fails to write its meta page, the next
 * transaction would never settle (src/writer.cpp, Write: a failed mdb_txn_begin tells nobody), so the line asks
 * after a commit that failed whether the environment still answers.
 */
import { StoreError, describe } from './store-error.js'

/** What the writer needs of a transactional environment. */
export interface WriteEnvironment {
  /** Runs `apply` in a write transaction. Settles when it is flushed, or when nothing of it was stored. */
  transaction<T>(apply: () => T): Promise<T>
  /** Runs `apply` within the transaction under way; when it throws, what it wrote is undone. */
  child<T>(apply: () => T): T
  /** Throws when no further transaction can be begun. */
  probe(): void
  /** Bytes in use, free space between them included. */
  bytesInUse(): number
  /** Told of the end of each commit, before anyone who waits for its writes; `stored`: not one that failed. */
  commitEnded(stored: boolean): void
  /** Room on the disk. */
  diskBytesFree(): Promise<number>
}

export interface WriterOptions {
  /** Bound of `bytesInUse`; a write that could pass it is refused. */
  readonly bytesMax: number
  /** Writes that wait hold their bytes in memory; past this, a further one is refused. */
  readonly waitingBytesMax: number
}

/** One commit takes writes of up to this many bytes together, or a single larger one. */
const batchBytesMax = 32 * 1024 * 1024
/** Pages that a write touches beside its own bytes: tree pages, the list of free pages. */
const overheadBytes = 1024 * 1024

interface WaitingWrite {
  readonly bytes: number
  /** What `run` does within the transaction, or what gives the puts of `insert` to it. */
  readonly apply: () => unknown
  readonly inserts: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

export class Writer {
  readonly #environment: WriteEnvironment
  readonly #options: WriterOptions
  #waiting: WaitingWrite[] = []
  #waitingBytes = 0
  #draining: Promise<void> | undefined
  #broken: StoreError | undefined
  #healthy = true

  constructor(environment: WriteEnvironment, options: WriterOptions) {
    this.#environment = environment
    this.#options = options
  }

  /**
   * Runs `apply`, which is synchronous, in a transaction and resolves with its result once that is flushed. Rejects
   * with what `apply` throws, or with a StoreError, and has then stored nothing. `bytes` is about what it will write.
   */
  run<T>(bytes: number, apply: () => T): Promise<T> {
    return this.#queue(bytes, apply, false) as Promise<T>
  }

  /**
   * Calls `start` when a commit begins: it gives puts to the environment, in one turn of the event loop, and resolves
   * with its result when they are flushed. What it throws, or a StoreError that it rejects with, is the outcome of this
   * write alone, which has then stored nothing. A commit holds one insert at most, so that `start` sees what the
   * inserts before it have stored.
   */
  insert<T>(bytes: number, start: () => Promise<T>): Promise<T> {
    return this.#queue(bytes, start, true) as Promise<T>
  }

  #queue(bytes: number, apply: () => unknown, inserts: boolean): Promise<unknown> {
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > this.#options.waitingBytesMax)
      return Promise.reject(new StoreError('busy', 'too much is waiting to be written'))
    this.#waitingBytes += bytes
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, apply, inserts, resolve, reject })
      this.#draining ??= this.#drain()
    })
  }

  /** False from a commit that failed, or a write for which there was no room, until a commit that succeeds. */
  get healthy(): boolean {
    return this.#healthy
  }

  /** Resolves when no write is waiting or under way. */
  async idle(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    // What else is written in this turn of the event loop goes into the first commit already.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch()
      const fitting = batch.filter((write) => this.#admit(write))
      if (fitting.length > 0) await this.#commit(fitting)
      for (const write of batch) this.#waitingBytes -= write.bytes
    }
    this.#draining = undefined
  }

  #takeBatch(): WaitingWrite[] {
    let count = 0
    let bytes = 0
    let inserts = 0
    for (const write of this.#waiting) {
      bytes += write.bytes
      inserts += Number(write.inserts)
      if (count > 0 && (bytes > batchBytesMax || inserts > 1)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  /** Rejects a write that cannot be tried at all. */
  #admit(write: WaitingWrite): boolean {
    if (this.#broken === undefined) {
      try {
        const bytesInUse = this.#environment.bytesInUse()
        if (bytesInUse + write.bytes + overheadBytes <= this.#options.bytesMax) return true
        this.#healthy = false
        write.reject(
          new StoreError(
            'full',
            `the store is full: ${bytesInUse} of ${this.#options.bytesMax} bytes in use`,
          ),
        )
        return false
      } catch (error) {
        this.#broken = brokenError(error)
      }
    }
    this.#healthy = false
    write.reject(this.#broken)
    return false
  }

  async #commit(batch: readonly WaitingWrite[]): Promise<void> {
    let outcomes: Outcome[]
    try {
      outcomes = await this.#transact(batch)
    } catch (error) {
      this.#healthy = false
      const failure = await this.#commitError(await commitCause(error), batch)
      this.#lookForDamage()
      this.#environment.commitEnded(false)
      for (const write of batch) write.reject(failure)
      return
    }
    this.#healthy = true
    this.#environment.commitEnded(true)
    batch.forEach((write, index) => {
      const outcome = outcomes[index] as Outcome
      if ('error' in outcome) write.reject(outcome.error)
      else write.resolve(outcome.value)
    })
  }

  /** One transaction: what lmdb-js is given in one turn of the event loop, it commits together. */
  async #transact(batch: readonly WaitingWrite[]): Promise<Outcome[]> {
    const insert = batch.find((write) => write.inserts)
    const others = batch.filter((write) => !write.inserts)
    const [applied, inserted] = await Promise.all([
      others.length > 0 && this.#environment.transaction(() => others.map((write) => this.#apply(write))),
      // The last, since LMDB's thread may begin in the middle of it and end with it.
      insert && startInsert(insert),
    ])
    const rest = applied === false ? [] : [...applied]
    return batch.map((write) => (write === insert ? inserted : rest.shift()) as Outcome)
  }

  #apply(write: WaitingWrite): Outcome {
    try {
      return { value: this.#environment.child(write.apply) }
    } catch (error) {
      return thrownBy(error)
    }
  }

  /** LMDB calls a write that a full disk cut short an I/O error, so the disk itself is asked. */
  async #commitError(cause: unknown, batch: readonly WaitingWrite[]): Promise<StoreError> {
    const bytesNeeded = batch.reduce((sum, write) => sum + write.bytes, overheadBytes)
    const bytesFree = await this.#environment.diskBytesFree().catch(() => Infinity)
    return writeError(cause, bytesFree < bytesNeeded)
  }

  #lookForDamage(): void {
    try {
      this.#environment.probe()
    } catch (error) {
      this.#broken = brokenError(error)
    }
  }
}

/** Rejects with what makes the commit fail. What `start` throws itself, and a StoreError, is of the write alone. */
function startInsert({ apply }: WaitingWrite): Promise<Outcome> {
  let inserted: Promise<unknown>
  try {
    inserted = apply() as Promise<unknown>
  } catch (error) {
    return Promise.resolve(thrownBy(error))
  }
  return inserted.then(
    (value) => ({ value }),
    (error: unknown) => {
      if (!(error instanceof StoreError)) throw error
      return { error }
    },
  )
}

/** The outcome of a write that threw before or within the transaction. */
function thrownBy(error: unknown): Outcome {
  return { error: isNativeError(error) ? writeError(error, false) : error }
}

/** lmdb-js rejects with a general error that holds a promise of the particular one, which must not go unhandled. */
async function commitCause(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    // It is settled by now, save for error numbers that lmdb-js takes for something else.
    await Promise.race([error.commitError, new Promise((resolve) => setImmediate(resolve))])
    return error
  } catch (cause) {
    return cause
  }
}

/** ENOSPC, EFBIG, EDQUOT on Linux, EDQUOT on macOS, and MDB_MAP_FULL: what more room would cure. */
const fullCodes: readonly unknown[] = [28, 27, 122, 69, -30792]

function writeError(cause: unknown, diskFull: boolean): StoreError {
  const full = diskFull || (isNativeError(cause) && fullCodes.includes(cause.code))
  const summary = full ? 'no room for a write' : 'the storage refused a write'
  return new StoreError(full ? 'full' : 'failed', `${summary}: ${describe(cause)}`, { cause })
}

function brokenError(cause: unknown): StoreError {
  return new StoreError('failed', `the storage has failed and needs a restart: ${describe(cause)}`, { cause })
}

/** An error of LMDB or the system under it: those carry the number that C returned. */
function isNativeError(error: unknown): error is Error & { code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}
