/**
 * Runs tasks that would take the event loop too long in a worker thread: one at a time, with limits on the time of a
 * task and the heap of the thread. A failure of the thread fails only the current task.
 * The thread runs worker-entry.ts.
 */
import { Worker } from 'node:worker_threads'
import { builtFile, inBackground, messageOf, Semaphore } from '../base/index.js'
import { paddedCopy } from './body-buffer.js'

/** A task as it is posted to the thread. The bodies are copies, which are transferred. */
export interface WorkerTask {
  /** A `BodyTaskName` of body-tasks.ts, which imports this file. */
  readonly name: string
  readonly bodies: readonly Uint8Array[]
}

/** The longest task takes a few seconds. */
const taskMsMax = 60_000
/** The worst body needs half of it. A thread that needs more ends; the process does not. */
const heapMiBMax = 1024
/** Starting a thread takes 0.1 s of a core; the heap of an idle one may be large. */
const idleMsMax = 10_000

/** How a thread starts; tests pass threads that fail. */
export type StartWorker = () => Worker

export class WorkerRunner {
  readonly #start: StartWorker
  readonly #taskMsMax: number
  #thread: Worker | null = null
  #idleTimer: NodeJS.Timeout | undefined
  /** Any number of tasks may wait: the server bounds the bytes of their bodies. */
  readonly #tasks = new Semaphore(1)

  constructor(start: StartWorker = startWorker, options: { readonly taskMsMax?: number } = {}) {
    this.#start = start
    this.#taskMsMax = options.taskMsMax ?? taskMsMax
  }

  /**
   * Resolves to what the task returns. Leave the bodies unchanged until then: they are copied when the task starts.
   * Rejects with the reason of `signal` when that is aborted while the task waits, and with an `Error` when the thread fails, exceeds a limit, or the task throws.
   */
  run(name: string, bodies: readonly Uint8Array[], signal?: AbortSignal): Promise<unknown> {
    return this.#tasks.run(() => this.#runTask({ name, bodies: bodies.map(paddedCopy) }), signal)
  }

  /** Ends the thread, which must have no task. The next task starts another one. */
  end(): void {
    clearTimeout(this.#idleTimer)
    const thread = this.#thread
    this.#thread = null
    if (thread !== null) inBackground('codec thread', thread.terminate())
  }

  async #runTask(task: WorkerTask): Promise<unknown> {
    clearTimeout(this.#idleTimer)
    const thread = (this.#thread ??= this.#started())
    thread.ref()
    try {
      thread.postMessage(
        task,
        task.bodies.map(({ buffer }) => buffer as ArrayBuffer),
      )
      return await nextMessage(thread, this.#taskMsMax)
    } catch (error) {
      this.#discard(thread)
      inBackground('codec thread', thread.terminate())
      throw error
    } finally {
      // An idle thread does not keep the process running.
      thread.unref()
      this.#idleTimer = setTimeout(() => this.end(), idleMsMax).unref()
    }
  }

  #started(): Worker {
    const thread = this.#start()
    // A thread may also fail between two tasks.
    return thread.on('error', () => this.#discard(thread)).on('exit', () => this.#discard(thread))
  }

  #discard(thread: Worker): void {
    if (this.#thread === thread) this.#thread = null
  }
}

/** The next message of a thread. Rejects when the thread fails, ends without one, or takes too long. */
function nextMessage(thread: Worker, msMax: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void): void => {
      clearTimeout(timer)
      thread.off('message', onMessage).off('error', onError).off('exit', onExit)
      then()
    }
    const fail = (reason: string, options?: ErrorOptions): void =>
      settle(() => reject(new Error(`the worker thread ${reason}`, options)))
    const onMessage = (message: unknown): void => settle(() => resolve(message))
    const onError = (cause: unknown): void => fail(`failed: ${messageOf(cause)}`, { cause })
    const onExit = (code: number): void => fail(`ended with exit code ${code}`)
    const timer = setTimeout(() => fail(`took longer than ${msMax} ms`), msMax)
    thread.on('message', onMessage).on('error', onError).on('exit', onExit)
  })
}

/** Starts the real thread. */
export function startWorker(): Worker {
  return new Worker(builtFile('codec/worker-entry.js'), {
    // Without the flags of this process, such as those of a test runner.
    execArgv: [],
    name: 'codec',
    resourceLimits: { maxOldGenerationSizeMb: heapMiBMax },
  })
}
