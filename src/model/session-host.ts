/**
 * Keeps one session worker alive. A worker that ends is replaced, after a wait that doubles; while there is none,
 * batches are refused at once. A worker counts only when it has passed its warm-up.
 */
import { ModelError } from './model.js'
import { SessionWorker, type SessionWorkerOptions } from './session-worker.js'

const restartMsMin = 100
const restartMsMax = 10_000
/** Batches that wait for another one to end. One cycle is scored at a time, so a line of them is a mistake. */
const batchesWaitingMax = 16
/** Threads that were given up and have not returned yet, each with its session. At the bound no other is started. */
const strayThreadCountMax = 2

export interface SessionHostOptions extends SessionWorkerOptions {
  /** For one batch. A worker that takes longer is replaced. */
  readonly timeLimitMs: number
  /** Runs batches through a new worker and throws a `ModelError` when it must not serve. */
  readonly warmUp: (worker: SessionWorker) => Promise<void>
}

export class SessionHost {
  readonly #options: SessionHostOptions
  #worker: SessionWorker | null = null
  #provider = ''
  /** Why there is no worker, while there is none. */
  #absence = new ModelError('the model is not loaded')
  #restartMs = restartMsMin
  #restartTimer: NodeJS.Timeout | undefined
  /** Those with a thread: the one that serves or is being started, and those that have ended and not returned. */
  readonly #withThread = new Set<SessionWorker>()
  #closed = false
  /** Settles when the batch that was last in the line has. */
  #lastBatch: Promise<unknown> = Promise.resolve()
  #batchesWaiting = 0

  private constructor(options: SessionHostOptions) {
    this.#options = options
  }

  /** Rejects with a `ModelError` when the first worker cannot serve; then nothing is left running. */
  static async open(options: SessionHostOptions): Promise<SessionHost> {
    const host = new SessionHost(options)
    await host.#startWorker()
    return host
  }

  get available(): boolean {
    return this.#worker !== null
  }

  /** The provider of the worker that serves, or that served last. */
  get provider(): string {
    return this.#provider
  }

  /**
   * See `SessionWorker.run`; calls take turns. Rejects with a `ModelError` while there is no worker. When it returns
   * and no batch was before it, the thread is at work already: the caller can use the time.
   */
  async run(count: number, fill: (matrix: Float32Array) => void): Promise<Float32Array[]> {
    if (this.#batchesWaiting >= batchesWaitingMax) throw new ModelError('too many batches wait for the model')
    const batch =
      this.#batchesWaiting === 0
        ? this.#runNow(count, fill)
        : this.#lastBatch.then(() => this.#runNow(count, fill))
    this.#batchesWaiting++
    this.#lastBatch = batch.catch(() => undefined)
    try {
      return await batch
    } finally {
      this.#batchesWaiting--
    }
  }

  /** Ends every thread, waiting for none that does not return. Batches under way or in the line reject. */
  async close(): Promise<void> {
    this.#closed = true
    this.#absence = new ModelError('the model is closed')
    clearTimeout(this.#restartTimer)
    this.#worker = null
    await Promise.all([...this.#withThread].map((worker) => worker.stop()))
  }

  async #runNow(count: number, fill: (matrix: Float32Array) => void): Promise<Float32Array[]> {
    const worker = this.#worker
    if (worker === null) {
      throw new ModelError(`the model is down: ${this.#absence.message}`, { cause: this.#absence })
    }
    const heads = await worker.run(count, fill, this.#options.timeLimitMs)
    this.#restartMs = restartMsMin
    return heads
  }

  async #startWorker(): Promise<void> {
    const strayCount = this.#withThread.size
    if (strayCount >= strayThreadCountMax) {
      throw new ModelError(`${strayCount} threads of the model have not returned`)
    }
    const worker = new SessionWorker(this.#options)
    this.#withThread.add(worker)
    void worker.gone.then(() => this.#withThread.delete(worker))
    try {
      await worker.open()
      await this.#options.warmUp(worker)
      if (this.#closed) throw this.#absence
    } catch (error) {
      await worker.stop()
      throw error
    }
    this.#worker = worker
    this.#provider = worker.provider
    const { provider } = worker
    const threads = this.#options.plan.intraOpThreads
    this.#options.log.info({ provider, threads }, `execution provider ${provider} serves the model`)
    void worker.ended.then((reason) => this.#lose(worker, reason))
  }

  #lose(worker: SessionWorker, reason: ModelError): void {
    if (this.#worker !== worker) return
    this.#worker = null
    this.#scheduleRestart(reason)
  }

  #scheduleRestart(reason: ModelError): void {
    this.#absence = reason
    const restartMs = this.#restartMs
    // Back to the least wait after a batch that went well, not after a start: see `#runNow`.
    this.#restartMs = Math.min(2 * restartMs, restartMsMax)
    this.#options.log.error({ err: reason, restartMs }, `the model is down: ${reason.message}`)
    this.#restartTimer = setTimeout(() => {
      this.#startWorker().catch((error: unknown) => {
        if (!this.#closed) this.#scheduleRestart(asModelError(error))
      })
    }, restartMs)
  }
}

function asModelError(error: unknown): ModelError {
  return error instanceof ModelError ? error : new ModelError(String(error), { cause: error })
}
