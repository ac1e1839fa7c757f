/**
 * What the page shows of the past: reports, explanations, comparisons and verifications, as JSON. A worker process of
 * `src/history` computes each, one at a time and at the lowest priority, within limits of time and memory. Read `reply` first.
 */
import { constants, setPriority } from 'node:os'
import { gibibyte, mebibyte, minuteMs, type ChildProcess, type Log } from '../base/index.js'
import { assert, ServiceError, type Refusal } from '../contract/index.js'
import type { HistoryRequest, StartWorker, WorkerEnd } from '../history/index.js'
import { watchMemory } from '../model/index.js'
import { json, type Reply } from './routes.js'

export interface HistoryRepliesOptions {
  readonly start: StartWorker
  /** Id of the cycle stored last; null: there is none. */
  readonly lastCycleId: () => string | null
  readonly log: Pick<Log, 'debug' | 'warn'>
}

/** The time that a request waits for a worker: below that after which the listener closes an idle connection. */
const waitMsMax = 20_000
/**
 * The time after a 202 within which a client repeats its request: a browser runs the timers of a tab in the background once
 * a minute. Then nobody waits for the worker, and it is ended.
 */
const repeatMsMax = 90_000
/** The time after which a worker is ended. */
const runMsMax = 10 * minuteMs
/** The memory of a worker, without the pages of the database. One that holds more is ended. */
const memoryBytesMax = 3 * gibibyte
/** A result is reused for this long, unless a cycle has been stored meanwhile. */
const freshMsMax = 60_000
const resultCountMax = 8
/** Requests that wait for their turn. */
const waitingCountMax = 4
/** An explanation has the body of a post, which may be almost a whole cycle of 16 MiB. */
const outputBytesMax = 24 * mebibyte

interface Result {
  /** Rejects with a `ServiceError`. */
  readonly json: Promise<Uint8Array>
  /** Ends the worker: nobody waits for its result. */
  readonly abandoned: AbortController
  /** Requests that wait for the result. */
  waitingCount: number
  /** Clients that have received 202 and may repeat their request, until the timer ends. */
  repeatingCount: number
  repeatTimer: NodeJS.Timeout | undefined
  /** null: the worker waits or runs. */
  ended: { readonly at: number; readonly lastCycleId: string | null } | null
}

export class HistoryReplies {
  readonly #options: HistoryRepliesOptions
  /** Keys are requests, oldest first. */
  readonly #results = new Map<string, Result>()
  #turn: Promise<unknown> = Promise.resolve()
  #running: ChildProcess | null = null
  #isClosed = false

  constructor(options: HistoryRepliesOptions) {
    this.#options = options
  }

  /**
   * What a worker finds, or 202 while it runs: the client repeats the request. Equal requests share one worker, and its
   * result while it is fresh. `gone`: the client has disconnected. A worker for which no client waits is ended. Rejects
   * with a `ServiceError`.
   */
  async reply(request: HistoryRequest, gone: AbortSignal): Promise<Reply> {
    const result = this.#resultOf(request)
    const late = Promise.withResolvers<null>()
    const stop = (): void => late.resolve(null)
    const timer = setTimeout(stop, waitMsMax).unref()
    gone.addEventListener('abort', stop)
    if (gone.aborted) stop()
    this.#enter(result)
    try {
      const body = await Promise.race([result.json, late.promise])
      if (body !== null) return { ...json({}), body }
      return json({ state: 'in progress' }, 202, { 'Retry-After': '2' })
    } finally {
      clearTimeout(timer)
      gone.removeEventListener('abort', stop)
      this.#leave(result, gone)
    }
  }

  /** Ends the worker that runs. */
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
    assert(result.waitingCount >= 0, 'a request leaves the result once')
    if (result.ended !== null) return
    if (!gone.aborted) {
      result.repeatingCount++
      clearTimeout(result.repeatTimer)
      const end = (): void => {
        result.repeatingCount = 0
        this.#abandonIfUnwanted(result)
      }
      result.repeatTimer = setTimeout(end, repeatMsMax).unref()
    }
    this.#abandonIfUnwanted(result)
  }

  /** The next equal request starts a new worker. */
  #abandonIfUnwanted(result: Result): void {
    if (result.waitingCount + result.repeatingCount > 0) return
    clearTimeout(result.repeatTimer)
    for (const [key, known] of this.#results) if (known === result) this.#results.delete(key)
    result.abandoned.abort(new ServiceError({ code: 'abandoned' }))
  }

  #resultOf(request: HistoryRequest): Result {
    const key = JSON.stringify(request)
    const known = this.#results.get(key)
    if (known !== undefined && this.#isFresh(known)) return known
    const unfinished = [...this.#results.values()].filter(({ ended }) => ended === null)
    if (unfinished.length > waitingCountMax) throw new ServiceError({ code: 'too_many_reports' })
    const abandoned = new AbortController()
    const result: Result = {
      json: this.#runNext(request, abandoned.signal, () => this.#end(result)),
      abandoned,
      waitingCount: 0,
      repeatingCount: 0,
      repeatTimer: undefined,
      ended: null,
    }
    // A failure is kept like a result: a client that repeats the request after 202 must get it.
    this.#turn = result.json.catch(() => undefined)
    this.#results.delete(key)
    this.#results.set(key, result)
    for (const [oldKey, { ended }] of this.#results)
      if (ended !== null && this.#results.size > resultCountMax) this.#results.delete(oldKey)
    return result
  }

  /** Runs after those before it, and calls `ended` before the result, or failure, is known. */
  async #runNext(request: HistoryRequest, abandoned: AbortSignal, ended: () => void): Promise<Uint8Array> {
    try {
      await this.#turn
      return await this.#run(request, abandoned)
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
      // The result is valid, whether or not it can be reused.
      this.#options.log.warn({ err }, 'the last cycle cannot be read')
    }
    result.ended = { at: performance.now(), lastCycleId }
  }

  /**
   * A cycle that is stored while the worker runs does not make its result stale: with frequent cycles a long report
   * would never be shown.
   */
  #isFresh({ ended }: Result): boolean {
    if (ended === null) return true
    return ended.lastCycleId === this.#options.lastCycleId() && performance.now() - ended.at < freshMsMax
  }

  async #run(request: HistoryRequest, abandoned: AbortSignal): Promise<Uint8Array> {
    assert(this.#running === null, 'one worker runs at a time')
    if (this.#isClosed) throw new ServiceError({ code: 'stopping' })
    abandoned.throwIfAborted()
    const { log } = this.#options
    const startedAt = performance.now()
    const end = await this.#work(request, abandoned)
    const fields = { request: request.kind, ms: Math.round(performance.now() - startedAt) }
    if (end.state === 'done') {
      log.debug(fields, 'history worker ended')
      return end.json
    }
    abandoned.throwIfAborted()
    const lost = (how: string): Refusal => ({
      code: 'history_failed',
      problem: `the ${request.kind} worker ${how}`,
    })
    const error = new ServiceError(end.state === 'failed' ? end.reason : lost(end.how))
    if (error.kind === 'server_error')
      log.warn({ ...fields, problem: error.message }, 'a history worker failed')
    throw error
  }

  /** The end of a worker. It is ended when it is abandoned, and when it holds too much memory. */
  #work(request: HistoryRequest, abandoned: AbortSignal): Promise<WorkerEnd> {
    return new Promise((resolve) => {
      const child = this.#options.start(request, { runMsMax, outputBytesMax }, (end) => {
        unwatch()
        abandoned.removeEventListener('abort', kill)
        this.#running = null
        resolve(end)
      })
      const { pid } = child
      const kill = (): void => {
        child.kill('SIGKILL')
      }
      // Without a process, its end has the reason.
      const unwatch = pid === undefined ? kill : watchMemory(pid, memoryBytesMax, kill, 'RssAnon')
      if (pid !== undefined) lowerPriority(pid)
      abandoned.addEventListener('abort', kill)
      this.#running = child
    })
  }
}

/** Includes the threads and processes that it starts later. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has already ended.
  }
}
