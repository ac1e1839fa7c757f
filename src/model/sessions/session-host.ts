/**
 * Keeps one session process running. A process that ends is replaced, after a delay that doubles; while there is none,
 * batches are refused immediately. A process serves only after its warm-up.
 */
import { inBackground } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { ModelDownError, ModelError, type Vectors } from '../model.js'
import { placementText, providersOf, type Placement } from './placement.js'
import type { HeadsPlan, ImagePlan, Role, ServingPlan, TextPlan } from './plans.js'
import { encoderOwnerFormat, headsOwnerFormat, type EncoderRequest, type HeadRows } from './batches.js'
import type { OutgoingMessage, OwnerFormat } from './messages.js'
import type { Ports } from './ports.js'
import type { ReadyHeader } from './protocol.js'
import { SessionProcess, startMsMax, type ProcessOptions } from './session-process.js'

const restartMsMin = 100
const restartMsMax = 10_000
/** Batches that wait for another one to end. One cycle is scored at a time, so a longer queue is a bug. */
const batchesWaitingMax = 16
/** Processes that were killed and have not ended yet, because of a driver for example. At this number no other is started. */
const killedCountMax = 2

export interface ServingOptions extends Pick<ProcessOptions, 'bytesMax' | 'log' | 'warmUpMsMax'> {
  /** Cancels the start of the first process: `open` rejects, and the process ends. It has no effect later. */
  readonly signal?: AbortSignal | undefined
  /** Called when a process that served has ended. */
  readonly onProcessLost?: ((role: Role) => void) | undefined
}

export interface HostOptions<Request, Reply> extends ProcessOptions, ServingOptions {
  readonly plan: ServingPlan
  readonly format: OwnerFormat<Request, Reply>
  /** Runs batches through a new process and throws a `ModelError` when it must not serve. Default: none are run. */
  readonly warmUp?: (run: (request: Request) => Promise<Reply>) => Promise<void>
}

export type HeadsHost = SessionHost<HeadRows, Float32Array[]>
export type EncoderHost = SessionHost<EncoderRequest, Vectors>

export class SessionHost<Request, Reply> {
  readonly #options: HostOptions<Request, Reply>
  #process: SessionProcess | null = null
  #opened: Pick<ReadyHeader, 'placements' | 'ports'> = { placements: [], ports: [] }
  /** Why no process serves, while none does. */
  #absence: ModelError
  #restartMs = restartMsMin
  #restartTimer: NodeJS.Timeout | undefined
  /** The one that serves or is being started, and those that were killed and have not ended. */
  readonly #running = new Set<SessionProcess>()
  #closed = false
  /** Settles when the last batch of the queue has. */
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
    await host.#startProcess(options.signal)
    return host
  }

  get available(): boolean {
    return this.#process !== null
  }

  /** Those of the graphs in the process that serves, or that served last. */
  get placements(): readonly Placement[] {
    return this.#opened.placements
  }

  /** Those of the same graphs, in the same order. */
  get ports(): readonly Ports[] {
    return this.#opened.ports
  }

  /** Id of the serving process; null while there is none. */
  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  /**
   * Runs one batch; calls wait for those before them. Rejects with a `ModelDownError` while there is no process, and
   * with a `ModelError` when the batch fails or its time limit has passed. The request has been read when this returns
   * its promise.
   */
  async run(request: Request, timeLimitMs: number): Promise<Reply> {
    const { name, format } = this.#options
    if (this.#batchesWaiting >= batchesWaitingMax)
      throw new ModelDownError(`too many batches wait for ${name}`)
    const turn = this.#batchesWaiting === 0 ? null : this.#lastBatch
    const batch = Promise.withResolvers<undefined>()
    this.#lastBatch = batch.promise
    this.#batchesWaiting++
    try {
      // By its turn, what the request reads may have changed: other posts may have these places in the vectors.
      const message = turn === null ? undefined : copyOf(format.encodeRequest(request))
      if (turn !== null) await turn
      if (this.#process === null)
        throw new ModelDownError(`${name} is down: ${this.#absence.message}`, { cause: this.#absence })
      const reply = await this.#process.run(format, request, timeLimitMs, message)
      this.#restartMs = restartMsMin
      return reply
    } finally {
      this.#batchesWaiting--
      assert(this.#batchesWaiting >= 0, 'each batch leaves the queue once')
      batch.resolve(undefined)
    }
  }

  /** Kills every process, and does not wait for one that cannot be ended. Batches in progress or waiting reject. */
  async close(): Promise<void> {
    this.#closed = true
    this.#absence = new ModelDownError(`${this.#options.name} is closed`)
    clearTimeout(this.#restartTimer)
    this.#process = null
    await Promise.all([...this.#running].map((process) => process.stop()))
  }

  async #startProcess(signal?: AbortSignal): Promise<void> {
    const { name, plan, format, warmUp, warmUpMsMax = startMsMax, log } = this.#options
    const killedCount = this.#running.size
    if (killedCount >= killedCountMax) {
      throw new ModelError(`${killedCount} processes of ${name} were killed but have not exited`)
    }
    const process = await SessionProcess.start(this.#options, signal)
    this.#running.add(process)
    inBackground(
      'model process',
      process.exited.then(() => this.#running.delete(process)),
    )
    const opened = await process.starting(async () => {
      // `close` stops the processes that have been started.
      if (this.#closed) throw this.#absence
      const ready = await process.open()
      await warmUp?.((request) => process.run(format, request, warmUpMsMax))
      return ready
    })
    assert(this.#process === null, 'one process serves at a time')
    this.#opened = opened
    this.#process = process
    const { placements } = opened
    const provider = providersOf(placements)
    const graphs = placements.filter(({ nodes }) => nodes !== null).map(placementText)
    const more = graphs.length === 0 ? {} : { graphs }
    log.info({ provider, role: plan.role, pid: process.pid, ...more }, 'execution provider selected')
    inBackground(
      'model process',
      process.ended.then((reason) => this.#lose(process, reason)),
    )
  }

  #lose(process: SessionProcess, reason: ModelError): void {
    if (this.#process !== process) return
    this.#process = null
    this.#scheduleRestart(reason)
    this.#options.onProcessLost?.(this.#options.plan.role)
  }

  #scheduleRestart(reason: ModelError): void {
    this.#absence = reason
    const restartMs = this.#restartMs
    // Reset by a batch that succeeds, not by a process that starts: see `run`.
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

export function openHeadsHost(
  plan: HeadsPlan,
  options: ServingOptions & Pick<HostOptions<HeadRows, Float32Array[]>, 'warmUp'>,
): Promise<HeadsHost> {
  return SessionHost.open({
    ...options,
    name: 'the model',
    plan,
    format: headsOwnerFormat(plan),
  })
}

/** An encoder runs its own batch when it opens, so there is no other warm-up. */
export function openEncoderHost(plan: TextPlan | ImagePlan, options: ServingOptions): Promise<EncoderHost> {
  return SessionHost.open({
    ...options,
    name: `the ${plan.role} encoder`,
    plan,
    format: encoderOwnerFormat(plan.role),
  })
}

/** The memory of the parts is used again for the next request. */
function copyOf({ header, parts }: OutgoingMessage): OutgoingMessage {
  const copies = parts.map((part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength).slice())
  return { header, parts: copies }
}

function asModelError(error: unknown): ModelError {
  return error instanceof ModelError ? error : new ModelError(String(error), { cause: error })
}
