/**
 * What the page shows of the past: reports, explanations, comparisons and verifications, as JSON. A worker process of
 * `src/history` computes each, one at a time and at the lowest priority, within limits of time and memory. Read `reply` first.
 */
import { constants, setPriority } from 'node:os'
import { gibibyte, mebibyte, minuteMs, Semaphore, type ChildProcess, type Log } from '../base/index.js'
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
 * The time after which a client that has received 202 does not come back, and the worker is ended: a browser runs the timers
 * of a tab in the background once a minute.
 */
const repeatMsMax = 90_000
const checkMs = 5000
/** The time after which a worker is ended. */
const runMsMax = 10 * minuteMs
/** The memory of a worker, without the pages of the database. One that holds more is ended. */
const memoryBytesMax = 3 * gibibyte
/** A result is reused for this long, unless a cycle has been stored meanwhile. */
const freshMsMax = 60_000
const resultCountMax = 8
/** Workers that wait for the one that runs. */
const waitingCountMax = 4
/** An explanation has the body of a post, which may be almost a whole cycle of 16 MiB. */
const outputBytesMax = 24 * mebibyte

/** The work for one request, or its result. */
interface Job {
  /** Rejects with a `ServiceError`. */
  readonly json: Promise<Uint8Array>
  /** Ends the worker: nobody waits for its result. */
  readonly abandoned: AbortController
  /** Requests that wait for the result now. */
  waitingCount: number
  /** The time at which the last of them came, or received 202. */
  askedAt: number
  /** null: the worker waits or runs. */
  ended: { readonly at: number; readonly lastCycleId: string | null } | null
}

export class HistoryReplies {
  readonly #options: HistoryRepliesOptions
  /** Keys are requests, oldest first. */
  readonly #jobs = new Map<string, Job>()
  readonly #workers = new Semaphore(1)
  readonly #check: NodeJS.Timeout
  #running: ChildProcess | null = null
  #isClosed = false

  constructor(options: HistoryRepliesOptions) {
    this.#options = options
    this.#check = setInterval(() => this.#endUnasked(), checkMs).unref()
  }

  /**
   * What a worker finds, or 202 while it runs: the client repeats the request. Equal requests share one worker, and its
   * result while it is fresh. `gone`: the client has disconnected. A worker for which no client waits is ended. Rejects
   * with a `ServiceError`.
   */
  async reply(request: HistoryRequest, gone: AbortSignal): Promise<Reply> {
    const key = JSON.stringify(request)
    const job = this.#jobOf(key, request)
    const late = Promise.withResolvers<null>()
    const stop = (): void => late.resolve(null)
    const timer = setTimeout(stop, waitMsMax).unref()
    gone.addEventListener('abort', stop)
    if (gone.aborted) stop()
    job.waitingCount++
    try {
      const body = await Promise.race([job.json, late.promise])
      if (body !== null) return { ...json({}), body }
      return json({ state: 'in progress' }, 202, { 'Retry-After': '2' })
    } finally {
      clearTimeout(timer)
      gone.removeEventListener('abort', stop)
      job.waitingCount--
      assert(job.waitingCount >= 0, 'a request leaves its job once')
      job.askedAt = performance.now()
      if (gone.aborted && job.waitingCount === 0) this.#abandon(key, job)
    }
  }

  /** Ends the worker that runs. */
  close(): void {
    this.#isClosed = true
    clearInterval(this.#check)
    this.#running?.kill('SIGKILL')
  }

  #endUnasked(): void {
    const before = performance.now() - repeatMsMax
    for (const [key, job] of this.#jobs)
      if (job.waitingCount === 0 && job.askedAt <= before) this.#abandon(key, job)
  }

  /**
   * Ends the worker; the next equal request starts a new one. So does that of a client that received 202 and repeats its
   * request after the only other client has disconnected.
   */
  #abandon(key: string, job: Job): void {
    if (job.ended !== null) return
    this.#jobs.delete(key)
    job.abandoned.abort(new ServiceError({ code: 'abandoned' }))
  }

  #jobOf(key: string, request: HistoryRequest): Job {
    const known = this.#jobs.get(key)
    if (known !== undefined && this.#isFresh(known)) return known
    if (this.#workers.waitingCount >= waitingCountMax) throw new ServiceError({ code: 'too_many_reports' })
    const abandoned = new AbortController()
    const { signal } = abandoned
    const run = async (): Promise<Uint8Array> => {
      try {
        return await this.#run(request, signal)
      } finally {
        this.#end(job)
      }
    }
    const json = this.#workers.run(run, signal)
    const job: Job = { json, abandoned, waitingCount: 0, askedAt: performance.now(), ended: null }
    // A failure is kept like a result: a client that repeats the request after 202 must get it.
    json.catch(() => undefined)
    this.#jobs.delete(key)
    this.#jobs.set(key, job)
    for (const [oldKey, { ended }] of this.#jobs)
      if (ended !== null && this.#jobs.size > resultCountMax) this.#jobs.delete(oldKey)
    return job
  }

  #end(job: Job): void {
    let lastCycleId: string | null = null
    try {
      lastCycleId = this.#options.lastCycleId()
    } catch (err) {
      // The result is valid, whether or not it can be reused.
      this.#options.log.warn({ err }, 'the last cycle cannot be read')
    }
    job.ended = { at: performance.now(), lastCycleId }
  }

  /**
   * A cycle that is stored while the worker runs does not make its result stale: with frequent cycles a long report
   * would never be shown.
   */
  #isFresh({ ended }: Job): boolean {
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
