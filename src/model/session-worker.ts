/**
 * One thread with one session, from its start to its end. It ends on the first trouble: a crash, an error of the
 * session, a batch past its time limit. It is never repaired; its owner starts another.
 * A thread is never terminated from outside: inside native code that aborts the whole process (measured with
 * ONNX Runtime 1.30, as does `process.exit`). It is asked to end, and does when that code returns.
 */
import { Worker } from 'node:worker_threads'
import type { ModelLog } from './log.js'
import { ModelError } from './model.js'
import type { OwnerMessage, SessionPlan, WorkerMessage } from './worker-protocol.js'

/** Reading a graph and preparing it for a device. A bound, not an expectation: TensorRT takes minutes. */
export const startMsMax = 10 * 60_000
/** Native code may take longer to return, or never do. Shutdown does not wait for that (decisions.md 40). */
const stopMsMax = 2000

export interface SessionWorkerOptions {
  readonly plan: SessionPlan
  readonly log: ModelLog
  readonly startThread: (plan: SessionPlan) => Worker
}

/** The thread as it is used in earnest. Node strips the types of `worker.ts` when sources run unbuilt. */
export function startThread(plan: SessionPlan): Worker {
  const file = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js'
  // Without the flags of this process: a test runner's would follow the thread.
  return new Worker(new URL(file, import.meta.url), { workerData: plan, execArgv: [], name: 'model' })
}

/** Who waits for the next message of the thread. */
interface Waiter {
  readonly resolve: (message: WorkerMessage) => void
  readonly reject: (error: ModelError) => void
  readonly timer: NodeJS.Timeout
}

export class SessionWorker {
  /** Resolves, with the reason, when this thread has become useless. */
  readonly ended: Promise<ModelError>
  /** Resolves when the thread is no more: some time after it has ended. */
  readonly gone: Promise<void>
  /** The execution provider that serves; empty until `open` has resolved. */
  provider = ''
  readonly #options: SessionWorkerOptions
  readonly #thread: Worker
  readonly #end: (reason: ModelError) => void
  #endReason: ModelError | null = null
  #waiter: Waiter | null = null
  // Of this thread alone: one that was told to stop may still write for a while.
  #features = new SharedArrayBuffer(0)
  #heads = new SharedArrayBuffer(0)

  /** Starts the thread; `open` waits for it. */
  constructor(options: SessionWorkerOptions) {
    this.#options = options
    let end: (reason: ModelError) => void = () => undefined
    this.ended = new Promise((resolve) => (end = resolve))
    this.#end = end
    this.#thread = options.startThread(options.plan)
    this.#thread.on('message', (message: WorkerMessage) => this.#hear(message))
    this.#thread.on('error', (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      this.#fail(new ModelError(`the model thread failed: ${reason}`, { cause }))
    })
    this.gone = new Promise((resolve) => {
      this.#thread.on('exit', (code) => {
        this.#fail(new ModelError(`the model thread ended with code ${code}`))
        resolve()
      })
    })
  }

  /** Once. Resolves when the session is open and its graph has what the plan says. Rejects with a `ModelError`. */
  async open(): Promise<void> {
    const message = await this.#hearNext(startMsMax, 'the start of the model')
    if (message.kind !== 'ready') throw new ModelError(`the model thread said ${message.kind} at its start`)
    this.provider = message.provider
  }

  /**
   * One batch; the next may begin when this one has settled. `fill` writes the row-major feature matrix, and must
   * write all of it: the memory is reused. Resolves with the heads of the plan, `count` values each, in memory of
   * their own. Rejects with a `ModelError`, also when the time limit has passed; then the thread has ended.
   */
  async run(
    count: number,
    fill: (matrix: Float32Array) => void,
    timeLimitMs: number,
  ): Promise<Float32Array[]> {
    if (this.#endReason !== null) throw this.#endReason
    if (this.#waiter !== null) throw new Error('a batch is under way')
    const { plan } = this.#options
    this.#features = grown(this.#features, count * plan.featureCount)
    this.#heads = grown(this.#heads, count * plan.heads.length)
    fill(new Float32Array(this.#features, 0, count * plan.featureCount))
    const batch: OwnerMessage = { kind: 'batch', count, features: this.#features, heads: this.#heads }
    const answer = this.#hearNext(timeLimitMs, `a batch of ${count} rows`)
    this.#thread.postMessage(batch)
    const message = await answer
    if (message.kind !== 'done') throw new ModelError(`the model thread said ${message.kind} to a batch`)
    return plan.heads.map((_, head) =>
      new Float32Array(this.#heads, head * count * Float32Array.BYTES_PER_ELEMENT, count).slice(),
    )
  }

  /** Asks the thread to end, and resolves when it is gone or does not return. A batch under way rejects. */
  async stop(): Promise<void> {
    this.#fail(new ModelError('the model is closed'))
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, stopMsMax)))
    await Promise.race([this.gone, patience])
    clearTimeout(timer)
  }

  #hear(message: WorkerMessage): void {
    if (message.kind === 'unavailable') {
      const { provider, reason } = message
      this.#options.log.warn({ provider, reason }, `execution provider ${provider} cannot serve: ${reason}`)
    } else if (message.kind === 'failed') {
      this.#fail(new ModelError(message.reason))
    } else {
      const waiter = this.#waiter
      this.#waiter = null
      clearTimeout(waiter?.timer)
      waiter?.resolve(message)
    }
  }

  #hearNext(timeLimitMs: number, what: string): Promise<WorkerMessage> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#fail(new ModelError(`${what} took longer than its time limit of ${timeLimitMs} ms`))
      }, timeLimitMs)
      this.#waiter = { resolve, reject, timer }
    })
  }

  /** Only the first reason counts: what follows is its consequence. */
  #fail(reason: ModelError): void {
    if (this.#endReason !== null) return
    this.#endReason = reason
    const waiter = this.#waiter
    this.#waiter = null
    clearTimeout(waiter?.timer)
    waiter?.reject(reason)
    this.#end(reason)
    const message: OwnerMessage = { kind: 'end' }
    this.#thread.postMessage(message)
  }
}

/** `memory` if it holds `valueCount` float32 values, or at least twice as much of it. */
function grown(memory: SharedArrayBuffer, valueCount: number): SharedArrayBuffer {
  const bytes = valueCount * Float32Array.BYTES_PER_ELEMENT
  return bytes <= memory.byteLength ? memory : new SharedArrayBuffer(Math.max(bytes, 2 * memory.byteLength))
}
