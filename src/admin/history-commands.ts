/**
 * What the page shows of the past: `understudy report` and `understudy explain` as JSON. They run as commands of their
 * own, one at a time and at the lowest priority. Within the server they would delay cycles, and one that meets a damaged
 * record or needs too much memory would end it. Read `reply` first.
 */
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ChildProcess,
  type ExecFileException,
  type ExecFileOptionsWithBufferEncoding,
  gibibyte,
  type Log,
  mebibyte,
  minuteMs,
} from '../base/index.js'
import { ServiceError } from '../contract/index.js'
import { watchMemory } from '../model/index.js'
import { json, type Reply } from './routes.js'

/** Starts a command of this program, such as `['report', '--json']`, by `execFile`. */
export type StartCommand = (
  args: readonly string[],
  options: ExecFileOptionsWithBufferEncoding,
  ended: (error: ExecFileException | null, stdout: Buffer, stderr: Buffer) => void,
) => ChildProcess

export interface HistoryCommandsOptions {
  readonly start: StartCommand
  /** Id of the cycle stored last; null: there is none. */
  readonly lastCycleId: () => string | null
  readonly log: Log
  /** Default: `performance.now()`. */
  readonly clock?: () => number
  /** The time that a request waits for a command. */
  readonly waitMsMax?: number
  /** The time after a 202 within which a client repeats its request. Then nobody waits for the command, and it is ended. */
  readonly repeatMsMax?: number
  /** The time after which a command is ended. */
  readonly runMsMax?: number
  /** The memory of a command, without the pages of the database. One that holds more is ended. */
  readonly memoryBytesMax?: number
}

/** Below the time after which the listener closes an idle connection. */
const waitMsDefault = 20_000
/** A browser runs the timers of a tab in the background once a minute. */
const repeatMsDefault = 90_000
const runMsDefault = 10 * minuteMs
const memoryBytesDefault = 3 * gibibyte
/** An output is reused for this long, unless a cycle has been stored meanwhile. */
const freshMsMax = 60_000
const resultCountMax = 8
/** Commands that wait for their turn. */
const waitingCountMax = 4
/** `explain` prints the body of a post, which may be almost a whole cycle of 16 MiB. */
const outputBytesMax = 24 * mebibyte

/** What exit code 1 of a command means: an error of the response, or that the output reports a failure. */
type Failure = 'not_found' | 'server_error' | 'output'

interface Result {
  /** Rejects with a `ServiceError`. */
  readonly output: Promise<Uint8Array>
  /** Ends the command: nobody waits for its output. */
  readonly abandoned: AbortController
  /** Requests that wait for the output. */
  waitingCount: number
  /** Clients that have received 202 and may repeat their request, until the timer ends. */
  repeatingCount: number
  repeatTimer: NodeJS.Timeout | undefined
  /** null: the command waits or runs. */
  ended: { readonly at: number; readonly lastCycleId: string | null } | null
}

export class HistoryCommands {
  readonly #options: Required<HistoryCommandsOptions>
  /** By arguments, oldest first. */
  readonly #results = new Map<string, Result>()
  #turn: Promise<unknown> = Promise.resolve()
  #running: ChildProcess | null = null
  #isClosed = false

  constructor(options: HistoryCommandsOptions) {
    this.#options = {
      ...{ clock: () => performance.now(), waitMsMax: waitMsDefault, runMsMax: runMsDefault },
      ...{ repeatMsMax: repeatMsDefault, memoryBytesMax: memoryBytesDefault, ...options },
    }
  }

  /**
   * What a command prints, or 202 while it runs: the client repeats the request. Equal requests share one command, and its
   * output while it is fresh. `gone`: the client has disconnected. A command for which no client waits is ended. Rejects
   * with a `ServiceError`.
   */
  async reply(args: readonly string[], failure: Failure, gone: AbortSignal): Promise<Reply> {
    const result = this.#resultOf(args, failure)
    const wait = new AbortController()
    const signal = AbortSignal.any([wait.signal, gone])
    const late = delay(this.#options.waitMsMax, null, { signal, ref: false }).catch(() => null)
    this.#enter(result)
    try {
      const body = await Promise.race([result.output, late])
      if (body !== null) return { ...json({}), body }
      return json({ state: 'in progress' }, 202, { 'Retry-After': '2' })
    } finally {
      wait.abort()
      this.#leave(result, gone)
    }
  }

  /** Ends the command that runs. */
  close(): void {
    this.#isClosed = true
    this.#running?.kill('SIGKILL')
  }

  /** A request that comes after a 202 counts as its repetition. */
  #enter(result: Result): void {
    result.waitingCount++
    if (result.repeatingCount > 0) result.repeatingCount--
  }

  #leave(result: Result, gone: AbortSignal): void {
    result.waitingCount--
    if (result.ended !== null) return
    if (!gone.aborted) {
      result.repeatingCount++
      clearTimeout(result.repeatTimer)
      const end = (): void => {
        result.repeatingCount = 0
        this.#abandonIfUnwanted(result)
      }
      result.repeatTimer = setTimeout(end, this.#options.repeatMsMax).unref()
    }
    this.#abandonIfUnwanted(result)
  }

  /** The next equal request starts a new command. */
  #abandonIfUnwanted(result: Result): void {
    if (result.waitingCount + result.repeatingCount > 0) return
    clearTimeout(result.repeatTimer)
    for (const [key, known] of this.#results) if (known === result) this.#results.delete(key)
    result.abandoned.abort(new ServiceError('unavailable', 'no client waits for the command'))
  }

  #resultOf(args: readonly string[], failure: Failure): Result {
    const key = args.join('\0')
    const known = this.#results.get(key)
    if (known !== undefined && this.#isFresh(known)) return known
    const unfinished = [...this.#results.values()].filter(({ ended }) => ended === null)
    if (unfinished.length > waitingCountMax)
      throw new ServiceError('unavailable', 'too many reports are in progress')
    const abandoned = new AbortController()
    const output = this.#runNext(args, failure, abandoned.signal, () => this.#end(result))
    const result: Result = {
      output,
      abandoned,
      waitingCount: 0,
      repeatingCount: 0,
      repeatTimer: undefined,
      ended: null,
    }
    // A failure is kept like an output: a client that repeats the request after 202 must get it.
    this.#turn = output.catch(() => undefined)
    this.#results.delete(key)
    this.#results.set(key, result)
    for (const [oldKey, { ended }] of this.#results)
      if (ended !== null && this.#results.size > resultCountMax) this.#results.delete(oldKey)
    return result
  }

  /** Runs a command after those before it, and calls `ended` before its output, or failure, is known. */
  async #runNext(
    args: readonly string[],
    failure: Failure,
    abandoned: AbortSignal,
    ended: () => void,
  ): Promise<Uint8Array> {
    try {
      await this.#turn
      return await this.#run(args, failure, abandoned)
    } finally {
      ended()
    }
  }

  #end(result: Result): void {
    clearTimeout(result.repeatTimer)
    let lastCycleId: string | null = null
    try {
      lastCycleId = this.#options.lastCycleId()
    } catch (err) {
      // The output is the result of the command, whether or not it can be reused.
      this.#options.log.warn({ err }, 'the last cycle cannot be read')
    }
    result.ended = { at: this.#options.clock(), lastCycleId }
  }

  /**
   * A cycle that is stored while the command runs does not make its output stale: with frequent cycles a long report
   * would never be shown.
   */
  #isFresh({ ended }: Result): boolean {
    const { clock, lastCycleId } = this.#options
    return ended === null || (ended.lastCycleId === lastCycleId() && clock() - ended.at < freshMsMax)
  }

  async #run(args: readonly string[], failure: Failure, abandoned: AbortSignal): Promise<Uint8Array> {
    const { start, log, runMsMax, memoryBytesMax } = this.#options
    const name = `understudy ${args[0] ?? ''}`
    if (this.#isClosed) throw new ServiceError('unavailable', 'the service is stopping')
    abandoned.throwIfAborted()
    const startedAt = performance.now()
    const limits = {
      encoding: 'buffer',
      timeout: runMsMax,
      maxBuffer: outputBytesMax,
      killSignal: 'SIGKILL',
    } as const
    const { code, how, output, error } = await new Promise<Ended>((resolve) => {
      const child = start(args, limits, (...result) => {
        unwatch()
        abandoned.removeEventListener('abort', end)
        this.#running = null
        resolve(endOf(...result))
      })
      const { pid } = child
      const end = (): void => {
        child.kill('SIGKILL')
      }
      // Without a process, the error has the reason.
      const unwatch = pid === undefined ? end : watchMemory(pid, memoryBytesMax, end, 'RssAnon')
      if (pid !== undefined) lowerPriority(pid)
      abandoned.addEventListener('abort', end)
      this.#running = child
    })
    const fields = { command: args[0], ms: Math.round(performance.now() - startedAt) }
    if (code === 0 || (code === 1 && failure === 'output' && output.length > 0)) {
      log.debug(fields, 'history command ended')
      return output
    }
    abandoned.throwIfAborted()
    if (code === 1 && failure === 'not_found') throw new ServiceError('not_found', error)
    log.warn({ ...fields, problem: error }, `${name} ${how}`)
    throw new ServiceError('server_error', code === 1 ? error : `${name} ${how}`)
  }
}

/** Also of the threads and processes that it starts later. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has already ended.
  }
}

interface Ended {
  /** null: it was ended, or not started. */
  readonly code: number | null
  /** Such as `exited with code 2`. */
  readonly how: string
  readonly output: Uint8Array
  /** Its last line on standard error. */
  readonly error: string
}

function endOf(failure: ExecFileException | null, output: Buffer, stderr: Buffer): Ended {
  const [line = ''] = stderr.toString().trimEnd().split('\n').slice(-1)
  const error = line.replace(/^understudy: /, '')
  if (failure === null) return { code: 0, how: 'ended', output, error }
  const { code, signal, message } = failure
  if (typeof code === 'number') return { code, how: `exited with code ${code}`, output, error }
  return { code: null, how: signal ? `was ended by ${signal}` : `failed: ${message}`, output, error }
}
