/**
 * Keeps one session process alive. A process that ends is replaced, after a wait that doubles; while there is none,
 * batches are refused at once. A process counts only when it has passed its warm-up.
 */
import { throwIfEnded } from '../giving-up.js'
import { ModelDownError, ModelError } from '../model.js'
import type { IdleCores } from '../priority.js'
import { SessionProcess, type ProcessOptions } from './session-process.js'

const restartMsMin = 100
const restartMsMax = 10_000
/** Batches that wait for another one to end. One cycle is scored at a time, so a line of them is a mistake. */
const batchesWaitingMax = 16
/** Processes that were killed and are not gone yet, as a driver may hold one. At the bound no other is started. */
const strayCountMax = 2

export interface HostOptions<Request, Reply> extends ProcessOptions<Request, Reply> {
  /** Runs batches through a new process and throws a `ModelError` when it must not serve. Default: none are run. */
  readonly warmUp?: (process: SessionProcess<Request, Reply>) => Promise<void>
  /** The first process starts and warms up behind the service; one that replaces it is waited for. Default: neither. */
  readonly startsBehind?: IdleCores | null
  /** Gives up while the first process starts: `open` rejects, and the process ends. Later it says nothing. */
  readonly ended?: AbortSignal | undefined
}

export class SessionHost<Request, Reply> {
  readonly #options: HostOptions<Request, Reply>
  #process: SessionProcess<Request, Reply> | null = null
  #provider = ''
  /** Why there is no process, while there is none. */
  #absence: ModelError
  #restartMs = restartMsMin
  #restartTimer: NodeJS.Timeout | undefined
  /** The one that serves or is being started, and those that have ended and are not gone. */
  readonly #running = new Set<SessionProcess<Request, Reply>>()
  #closed = false
  /** Settles when the batch that was last in the line has. */
  #lastBatch: Promise<unknown> = Promise.resolve()
  #batchesWaiting = 0

  private constructor(options: HostOptions<Request, Reply>) {
    this.#options = options
    this.#absence = new ModelError(`${options.name} is not loaded`)
  }

  /** Rejects with a `ModelError` when the first process cannot serve; then nothing is left running. */
  static async open<Request, Reply>(
    options: HostOptions<Request, Reply>,
  ): Promise<SessionHost<Request, Reply>> {
    const host = new SessionHost(options)
    await host.#startProcess(options.startsBehind, options.ended)
    return host
  }

  get available(): boolean {
    return this.#process !== null
  }

  /** The provider of the process that serves, or that served last. */
  get provider(): string {
    return this.#provider
  }

  /** Of the process that serves; null while there is none. */
  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  /**
   * See `SessionProcess.run`; calls take turns. Rejects with a `ModelDownError` while there is no process. When it returns
   * and no batch was before it, the process is at work already: the caller can use the time.
   */
  async run(request: Request, timeLimitMs: number): Promise<Reply> {
    if (this.#batchesWaiting >= batchesWaitingMax) {
      throw new ModelDownError(`too many batches wait for ${this.#options.name}`)
    }
    const batch =
      this.#batchesWaiting === 0
        ? this.#runNow(request, timeLimitMs)
        : this.#lastBatch.then(() => this.#runNow(request, timeLimitMs))
    this.#batchesWaiting++
    this.#lastBatch = batch.catch(() => undefined)
    try {
      return await batch
    } finally {
      this.#batchesWaiting--
    }
  }

  /** Kills every process, waiting for none that cannot be ended. Batches under way or in the line reject. */
  async close(): Promise<void> {
    this.#closed = true
    this.#absence = new ModelDownError(`${this.#options.name} is closed`)
    clearTimeout(this.#restartTimer)
    this.#process = null
    await Promise.all([...this.#running].map((process) => process.stop()))
  }

  async #runNow(request: Request, timeLimitMs: number): Promise<Reply> {
    const process = this.#process
    if (process === null) {
      throw new ModelDownError(`${this.#options.name} is down: ${this.#absence.message}`, {
        cause: this.#absence,
      })
    }
    const reply = await process.run(request, timeLimitMs)
    this.#restartMs = restartMsMin
    return reply
  }

  async #startProcess(cores: IdleCores | null = null, ended?: AbortSignal): Promise<void> {
    throwIfEnded(ended)
    const { name, plan, warmUp, log } = this.#options
    const strayCount = this.#running.size
    if (strayCount >= strayCountMax) {
      throw new ModelError(`${strayCount} processes of ${name} were killed and are not gone`)
    }
    const process = new SessionProcess(this.#options)
    this.#running.add(process)
    void process.gone.then(() => this.#running.delete(process))
    if (cores !== null) process.lower(cores)
    const giveUp = (): void => void process.stop()
    ended?.addEventListener('abort', giveUp)
    try {
      await process.open()
      await warmUp?.(process)
      if (cores !== null) process.rise()
      throwIfEnded(ended)
      if (this.#closed) throw this.#absence
    } catch (error) {
      await process.stop()
      // Of a process that was stopped for that, it is the reason.
      throwIfEnded(ended)
      throw error
    } finally {
      ended?.removeEventListener('abort', giveUp)
    }
    this.#process = process
    const { provider, pid } = process
    this.#provider = provider
    log.info({ provider, role: plan.role, pid }, `execution provider ${provider} serves ${name}`)
    void process.ended.then((reason) => this.#lose(process, reason))
  }

  #lose(process: SessionProcess<Request, Reply>, reason: ModelError): void {
    if (this.#process !== process) return
    this.#process = null
    this.#scheduleRestart(reason)
  }

  #scheduleRestart(reason: ModelError): void {
    this.#absence = reason
    const restartMs = this.#restartMs
    // Back to the least wait after a batch that went well, not after a start: see `#runNow`.
    this.#restartMs = Math.min(2 * restartMs, restartMsMax)
    const { name, log } = this.#options
    log.error({ err: reason, restartMs }, `${name} is down: ${reason.message}`)
    this.#restartTimer = setTimeout(() => {
      this.#startProcess().catch((error: unknown) => {
        if (!this.#closed) this.#scheduleRestart(asModelError(error))
      })
    }, restartMs)
  }
}

function asModelError(error: unknown): ModelError {
  return error instanceof ModelError ? error : new ModelError(String(error), { cause: error })
}
