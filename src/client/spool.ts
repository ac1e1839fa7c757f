/**
 * A spool on disk for cycles, `understudy-client/spool`: it keeps each cycle from before its first attempt until its response
 * has been handled, so that a client that crashes sends the same body again at its next start. Needs Node.
 *
 *   spool/spool.json                    the schema of these names and contents
 *   spool/20260302T1205.json            waits for its response
 *   spool/20260302T1210.json.rejected   refused by the service; kept for inspection, and not sent again
 *   spool/20260302T1215.json.set-aside  damaged, or not a cycle; kept for inspection, and never sent
 *   spool/20260302T1220.json.partial    an interrupted write; removed when the spool is opened
 */
import { dayMs } from '../base/units.js'
import type { CycleRequest, CycleResponse } from '../contract/wire.js'
import type { CallOptions, Client } from './client.js'
import { ApiError, isFutureRefusal } from './errors.js'
import { SpoolDirectory, type Warn } from './spool-directory.js'

export { DirectoryLockedError } from './spool-directory.js'

export interface SpoolOptions {
  readonly client: Pick<Client, 'sendCycle'>
  /** It is created if it is missing. */
  readonly directory: string
  /** Stores a response. It may receive the same one again after a crash. If it throws, the cycle stays in the spool. */
  readonly onResponse: (response: CycleResponse) => void | Promise<void>
  /** The service refuses a cycle for its contents: 400, 409, 413 or 422. The file is renamed to `.rejected`. */
  readonly onRejected?: (cycleId: string, error: ApiError) => void | Promise<void>
  /**
   * A cycle that the service refuses only because its time is in the future is kept until its time is further from this
   * machine's clock, before or after it; then it is rejected. Default 24 hours: by then its posts are too old to be scored.
   */
  readonly futureMsMax?: number
  /** Receives messages about files that are set aside, and about a directory that cannot be locked. Default: a warning of the process. */
  readonly onWarning?: Warn
}

/** Refusals that depend on the body alone. After any other failure, the same body may be accepted later. */
const finalKinds: ReadonlySet<string> = new Set(['bad_request', 'conflict', 'too_large', 'unprocessable'])
const futureMsMaxDefault = dayMs

export class Spool {
  readonly #options: SpoolOptions
  readonly #directory: SpoolDirectory
  /** Work that writes files, and work that sends them: a cycle is added while others are sent. */
  readonly #writes = new SerialQueue()
  readonly #deliveries = new SerialQueue()
  #isClosed = false

  private constructor(options: SpoolOptions, directory: SpoolDirectory) {
    this.#options = options
    this.#directory = directory
  }

  /**
   * Opens the spool, and removes interrupted writes. Call `deliver` next: an earlier process may have left cycles. Rejects
   * with a `DirectoryLockedError` if another spool uses the directory, in this process or another one.
   */
  static async open(options: SpoolOptions): Promise<Spool> {
    const warn: Warn = options.onWarning ?? ((message) => process.emitWarning(message))
    return new Spool(options, await SpoolDirectory.open(options.directory, warn))
  }

  /** Waits for calls in progress, and lets another spool use the directory. Cycles stay in it. Call nothing after it. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await Promise.all([this.#writes.idle(), this.#deliveries.idle()])
    this.#directory.close()
  }

  /** The ids of the cycles that wait for their response, in the order in which they are sent. */
  cycleIds(): Promise<string[]> {
    return this.#directory.cycleIds()
  }

  /**
   * Writes a cycle to the spool. When it resolves, the cycle survives a crash and a power cut. Rejects if a cycle with
   * this id is in the spool already with another body: the service may have processed that one.
   */
  add(cycle: CycleRequest): Promise<void> {
    const { cycle_id: cycleId } = cycle
    const json = JSON.stringify(cycle)
    return this.#writes.run(async () => {
      const known = await this.#directory.read(cycleId)
      if (known === null) return this.#directory.write(cycleId, json)
      if (known !== json) throw new Error(`the spool has cycle ${cycleId} with another body`)
      // The call that wrote it may have failed at this.
      this.#directory.flush()
    })
  }

  /**
   * Sends all cycles in the spool, the oldest first, and passes each response to `onResponse`. Rejects at the first one that
   * has no response, or one that may be another one later, such as 401 or a refusal for the future; this one and later ones
   * stay. After a 500, which may concern one cycle only, it sends the later ones before it rejects.
   */
  deliver(options?: CallOptions): Promise<void> {
    return this.#deliveries.run(async () => {
      let failure: ApiError | null = null
      for (const cycleId of await this.cycleIds()) failure = (await this.#send(cycleId, options)) ?? failure
      if (failure !== null) throw failure
    })
  }

  /** The error is a 500; other failures are thrown. */
  async #send(cycleId: string, options: CallOptions | undefined): Promise<ApiError | null> {
    const { client, onResponse, onRejected } = this.#options
    const json = await this.#directory.read(cycleId)
    if (json === null) return null
    const outcome = await client.sendCycle(json, options).catch((error: unknown) => {
      if (error instanceof ApiError) return error
      throw error
    })
    if (!(outcome instanceof ApiError)) {
      await onResponse(outcome)
      await this.#directory.remove(cycleId)
    } else if (this.#isFinal(cycleId, outcome)) {
      await onRejected?.(cycleId, outcome)
      await this.#directory.reject(cycleId)
    } else if (outcome.kind === 'server_error') return outcome
    else throw outcome
    return null
  }

  #isFinal(cycleId: string, error: ApiError): boolean {
    if (!isFutureRefusal(error)) return finalKinds.has(error.kind)
    const { futureMsMax = futureMsMaxDefault } = this.#options
    // A cycle of the future is one of a clock that was wrong and was set back.
    return Math.abs(Date.now() - cycleMsOf(cycleId)) > futureMsMax
  }
}

/** Runs one piece of work after the other, whether or not the one before succeeded. */
class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when the work so far has ended. */
  idle(): Promise<unknown> {
    return this.#last
  }
}

/** The time of a cycle, which its id has in Korea. */
function cycleMsOf(cycleId: string): number {
  return Date.parse(cycleId.replace(/(....)(..)(..)T(..)(..)/, '$1-$2-$3T$4:$5+09:00'))
}
