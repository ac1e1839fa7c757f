/**
 * One child process, from its start to its end. It is killed at the first failure: a crash, an error of the program, a
 * batch past its time limit, memory past its bound. It is never repaired; its parent starts another.
 */
import { channel } from 'node:diagnostics_channel'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { inBackground, type Log, minuteMs, sizeText } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { GraphError, ModelDownError, ModelError } from '../model.js'
import { startChild, type StartedChild } from './child-process.js'
import {
  LineReader,
  lineOf,
  type Header,
  type Message,
  type OutgoingMessage,
  type OwnerFormat,
} from './messages.js'
import { reasonOf } from './onnx-errors.js'
import { watchMemory } from './process-memory.js'
import type { ChildHeader, OpenHeader, ProcessPlan, ReadyHeader } from './protocol.js'

/** Time limit for reading graphs and preparing them for a device: TensorRT takes minutes. */
export const startMsMax = 10 * minuteMs
/** A killed process ends immediately, unless a driver holds it. A shutdown does not wait longer. */
const stopMsMax = 2000

/** Of each chunk that a process prints, and of chunks per period. The rest is counted: logs must not grow with it. */
const outputLineBytesMax = 1000
const outputLinesMax = 50
const outputPeriodMs = 10_000

/** Published when output of a process was dropped, for the metrics. */
export interface OutputDropped {
  readonly bytes: number
}
export const outputDroppedChannel = channel('understudy:output-dropped')

export interface ProcessOptions {
  /** Its name in messages, such as `the model` or `the text encoder`. */
  readonly name: string
  readonly plan: ProcessPlan
  /** Resident memory of the process; past it, it is killed. */
  readonly bytesMax: number
  readonly log: Log
  /** Time limit of each warm-up run. Default: `startMsMax`. */
  readonly warmUpMsMax?: number
}

/** The caller that waits for a reply of the child. */
interface Waiter {
  readonly kind: 'ready' | 'done'
  readonly resolve: (message: Message) => void
  readonly reject: (error: ModelError) => void
  timer?: NodeJS.Timeout
}

export class SessionProcess {
  /** Resolves when the process has ended, or when the system cannot end it. */
  readonly exited: Promise<void>
  readonly #options: ProcessOptions
  readonly #child: StartedChild
  readonly #reader = new LineReader()
  readonly #signal: AbortSignal | undefined
  readonly #ended = Promise.withResolvers<ModelError>()
  readonly #stopWatching: () => void
  #endReason: ModelError | null = null
  #waiter: Waiter | null = null

  /** Rejects with a `ModelError` when no process can be started, or with a `ModelDownError` when `signal` has aborted. */
  static async start(options: ProcessOptions, signal?: AbortSignal): Promise<SessionProcess> {
    if (signal?.aborted === true) throw cancelled()
    try {
      return new SessionProcess(options, await startChild(), signal)
    } catch (cause) {
      // When there is no memory for another process, for example.
      throw new ModelError(`the process of ${options.name} cannot be started: ${reasonOf(cause)}`, { cause })
    }
  }

  private constructor(options: ProcessOptions, child: StartedChild, signal: AbortSignal | undefined) {
    this.#options = options
    this.#child = child
    this.#signal = signal
    const { pid, outputs, headers } = child
    this.exited = child.exited
    inBackground(
      'model process',
      child.ended.then((how) => this.#fail(new ModelError(`${this.#name} ${how}`))),
    )
    this.#stopWatching = watchMemory(pid, options.bytesMax, (bytes) => {
      const limit = sizeText(options.bytesMax)
      this.#fail(new ModelError(`${this.#name} uses ${sizeText(bytes)} of memory; the limit is ${limit}`))
    })
    for (const output of outputs) this.#logOutput(output)
    headers.on('data', (chunk: Buffer) => this.#receive(chunk))
  }

  get pid(): number {
    return this.#child.pid
  }

  /** Resolves with the reason when this process can serve no more. */
  get ended(): Promise<ModelError> {
    return this.#ended.promise
  }

  /** Runs `start` to its end. If it rejects, or the signal aborts meanwhile, the process ends and this rejects. */
  async starting<T>(start: () => Promise<T>): Promise<T> {
    const cancel = (): void => this.#fail(cancelled())
    this.#signal?.addEventListener('abort', cancel)
    if (this.#signal?.aborted === true) cancel()
    try {
      const result = await start()
      if (this.#endReason !== null) throw this.#endReason
      return result
    } catch (error) {
      await this.stop()
      throw error
    } finally {
      this.#signal?.removeEventListener('abort', cancel)
    }
  }

  /** Called once, before all else. Resolves when the program is open and its graphs fit the plan. Rejects with a `ModelError`. */
  open(): Promise<ReadyHeader> {
    const { name, plan } = this.#options
    return this.run(openFormat(name), plan, startMsMax)
  }

  /**
   * Sends a request, `encoded` if it was encoded before, and resolves with the reply; the next request may begin then. The child has the request when this
   * returns its promise. Rejects with a `ModelError`; if the request was sent, the process has ended then.
   */
  async run<Request, Reply>(
    format: OwnerFormat<Request, Reply>,
    request: Request,
    timeLimitMs: number,
    encoded?: OutgoingMessage,
  ): Promise<Reply> {
    if (this.#endReason !== null) throw this.#endReason
    assert(this.#waiter === null, 'a process handles one request at a time')
    const waiter = Promise.withResolvers<Message>()
    let message: OutgoingMessage
    try {
      message = encoded ?? format.encodeRequest(request)
      this.#child.payloads.write(message.parts)
    } catch (cause) {
      if (cause instanceof ModelError) throw cause
      throw new ModelError(`a batch cannot be sent to ${this.#name}: ${reasonOf(cause)}`, { cause })
    }
    this.#waiter = { ...waiter, kind: format.replyKind }
    this.#limit(timeLimitMs, format.describe(request))
    this.#child.headers.write(lineOf(message))
    return format.decodeReply(await waiter.promise)
  }

  /** Kills the process, and resolves when it has ended or cannot be ended. A batch in progress rejects. */
  async stop(): Promise<void> {
    this.#fail(new ModelDownError(`${this.#options.name} is closed`))
    await Promise.race([this.exited, sleep(stopMsMax, undefined, { ref: false })])
  }

  get #name(): string {
    return `the process of ${this.#options.name}`
  }

  /** The time until the next message, from now on. */
  #limit(timeLimitMs: number, what: string): void {
    if (this.#waiter === null) return
    clearTimeout(this.#waiter.timer)
    this.#waiter.timer = setTimeout(() => {
      this.#fail(new ModelError(`${what} took longer than its time limit of ${timeLimitMs} ms`))
    }, timeLimitMs)
  }

  #receive(chunk: Buffer): void {
    try {
      for (const header of this.#reader.take(chunk)) this.#handle(header as ChildHeader & Header)
    } catch (cause) {
      this.#fail(new ModelError(`${this.#name} sent an invalid message: ${reasonOf(cause)}`, { cause }))
    }
  }

  #handle(header: ChildHeader & Header): void {
    if (header.kind === 'log') {
      const { log, plan } = this.#options
      log[header.level]({ role: plan.role, ...header.fields }, header.message)
    } else if (header.kind === 'failed') {
      this.#fail(new GraphError(header.reason))
    } else if (header.kind === 'opened') {
      this.#limit(this.#options.warmUpMsMax ?? startMsMax, `the first run of ${this.#options.name}`)
    } else if (this.#waiter?.kind !== header.kind) {
      this.#fail(new ModelError(`${this.#name} sent ${header.kind} without a request for it`))
    } else {
      const parts = this.#child.payloads.read(header.lengths)
      this.#takeWaiter()?.resolve({ header, parts })
    }
  }

  #takeWaiter(): Waiter | null {
    const waiter = this.#waiter
    this.#waiter = null
    clearTimeout(waiter?.timer)
    return waiter
  }

  /** Only the first reason counts: those that follow are its consequences. */
  #fail(reason: ModelError): void {
    if (this.#endReason !== null) return
    this.#endReason = reason
    this.#takeWaiter()?.reject(reason)
    this.#stopWatching()
    this.#child.kill()
    this.#ended.resolve(reason)
  }

  /** Native libraries print to the standard streams whatever they like: it is logged as it arrives, up to a limit. */
  #logOutput(output: Readable): void {
    const { name, log } = this.#options
    let periodEndMs = -Infinity
    let linesLeft = 0
    let isDropReported = false
    output.on('data', (chunk: Buffer) => {
      const now = performance.now()
      if (now >= periodEndMs) {
        periodEndMs = now + outputPeriodMs
        linesLeft = outputLinesMax
        isDropReported = false
      }
      const loggedBytes = linesLeft > 0 ? Math.min(chunk.length, outputLineBytesMax) : 0
      linesLeft--
      const text = stripVTControlCharacters(chunk.toString('utf8', 0, loggedBytes)).trim()
      if (text !== '') log.warn({ pid: this.pid }, `${name}: ${text}`)
      const bytes = chunk.length - loggedBytes
      if (bytes === 0) return
      outputDroppedChannel.publish({ bytes } satisfies OutputDropped)
      if (!isDropReported) log.warn({ pid: this.pid }, `${name}: some of its output was dropped`)
      isDropReported = true
    })
  }
}

function openFormat(name: string): OwnerFormat<ProcessPlan, ReadyHeader> {
  return {
    replyKind: 'ready',
    describe: () => `the start of ${name}`,
    encodeRequest: (plan) => ({ header: { kind: 'open', plan } satisfies OpenHeader, parts: [] }),
    decodeReply: ({ header }) => header as ReadyHeader,
  }
}

/** The error of a load that its caller has cancelled. */
export function cancelled(): ModelDownError {
  return new ModelDownError('the load was cancelled')
}
