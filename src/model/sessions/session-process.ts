/**
 * One child process, from its start to its end. It is killed at the first failure: a crash, an error of the program, a
 * batch past its time limit, memory past its bound. It is never repaired; its owner starts another.
 */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { assert } from '../../contract/index.js'
import type { ModelLog } from '../log.js'
import { ModelDownError, ModelError } from '../model.js'
import { startChild, type StartedChild } from './child-process.js'
import { FrameReader, FrameWriter, withoutPayload, type Frame, type Message } from './frames.js'
import { watchMemory } from './memory-bound.js'
import { reasonOf } from './onnx-errors.js'
import type { ChildHeader, OpenHeader, ProcessPlan, ReadyHeader } from './protocol.js'

/** Reading graphs and preparing them for a device. A bound, not an expectation: TensorRT takes minutes. */
export const startMsMax = 10 * 60_000
/** A killed process is gone at once, unless a driver holds it. A shutdown does not wait longer. */
const stopMsMax = 2000
/** Of a line that native code prints. */
const lineCharsMax = 1000

export interface ProcessOptions {
  /** Its name in messages, such as `the model` or `the text encoder`. */
  readonly name: string
  readonly plan: ProcessPlan
  /** Resident memory of the process; past it, it is killed. */
  readonly bytesMax: number
  readonly log: ModelLog
  /** Default 10 minutes. */
  readonly startMsMax?: number
  /** For tests that need access to the process. */
  readonly startChild?: () => StartedChild
}

/** The caller that waits for the next frame of the child. */
interface Waiter {
  readonly resolve: (frame: Frame) => void
  readonly reject: (error: ModelError) => void
  readonly timer: NodeJS.Timeout
}

export class SessionProcess {
  /** Resolves with the reason when this process can serve no more. */
  readonly ended: Promise<ModelError>
  /** Resolves when the process is gone: right after it has ended, unless the system cannot end it. */
  readonly gone: Promise<void>
  readonly #options: ProcessOptions
  readonly #child: StartedChild
  readonly #reader = new FrameReader()
  readonly #writer = new FrameWriter()
  readonly #end: (reason: ModelError) => void
  readonly #stopWatching: () => void
  #endReason: ModelError | null = null
  #waiter: Waiter | null = null

  /** Starts the process; `open` waits for it. Throws a `ModelError` when it cannot be started. */
  constructor(options: ProcessOptions) {
    this.#options = options
    let end: (reason: ModelError) => void = () => undefined
    this.ended = new Promise((resolve) => (end = resolve))
    this.#end = end
    try {
      this.#child = (options.startChild ?? startChild)()
    } catch (cause) {
      // When there is no memory for another process, for example.
      throw new ModelError(`${this.#name} cannot be started: ${reasonOf(cause)}`, { cause })
    }
    const { pid, outputs, messages } = this.#child
    this.gone = this.#child.gone
    void this.#child.ended.then((how) => this.#fail(new ModelError(`${this.#name} ${how}`)))
    if (pid === undefined) {
      this.#stopWatching = () => undefined
      return
    }
    this.#stopWatching = watchMemory(pid, options.bytesMax, (bytes) =>
      this.#fail(
        new ModelError(
          `${this.#name} holds ${mebibytes(bytes)}, and may hold ${mebibytes(options.bytesMax)}`,
        ),
      ),
    )
    for (const output of outputs) this.#logLines(output)
    messages?.on('data', (chunk: Buffer) => this.#receive(chunk))
  }

  /** undefined: it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Once. Resolves when the program is open and its graphs fit the plan. Rejects with a `ModelError`. */
  async open(): Promise<ReadyHeader> {
    const { name, plan } = this.#options
    const header: OpenHeader = { kind: 'open', plan }
    const frame = await this.#exchange(
      withoutPayload(header),
      this.#options.startMsMax ?? startMsMax,
      `the start of ${name}`,
    )
    return this.#expect(frame, 'ready')
  }

  /**
   * One batch, described by `what`; the next may begin when this one has settled. `onSent` is called when the child has
   * been sent the whole request, or has ended. Rejects with a `ModelError`, also when the time limit has passed; then
   * the process has ended.
   */
  async run(request: Message, timeLimitMs: number, what: string, onSent?: () => void): Promise<Frame> {
    if (this.#endReason !== null) throw this.#endReason
    const frame = await this.#exchange(request, timeLimitMs, what, onSent)
    this.#expect(frame, 'done')
    return frame
  }

  /** Kills the process, and resolves when it is gone or cannot be ended. A batch in progress rejects. */
  async stop(): Promise<void> {
    this.#fail(new ModelDownError(`${this.#options.name} is closed`))
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, stopMsMax)))
    await Promise.race([this.gone, timeout])
    clearTimeout(timer)
  }

  get #name(): string {
    return `the process of ${this.#options.name}`
  }

  /** Sends a message and waits for the next frame. */
  #exchange(message: Message, timeLimitMs: number, what: string, onSent?: () => void): Promise<Frame> {
    assert(this.#waiter === null, 'a process answers one message at a time')
    const frame = this.#layOut(message)
    return new Promise((resolve, reject) => {
      if (this.#endReason !== null) {
        reject(this.#endReason)
        return
      }
      const timer = setTimeout(() => {
        this.#fail(new ModelError(`${what} took longer than its time limit of ${timeLimitMs} ms`))
      }, timeLimitMs)
      this.#waiter = { resolve, reject, timer }
      // Not copied: the memory is not written again before the child has answered, which it does after reading all.
      // A process that could not be started has no pipes; `ended` reports that.
      this.#child.messages?.write(frame, () => onSent?.())
    })
  }

  #layOut(message: Message): Buffer {
    try {
      return this.#writer.frame(message)
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause
      throw new ModelError(`there is no memory for a batch of ${message.payloadBytes} bytes`, { cause })
    }
  }

  #expect<Kind extends 'ready' | 'done'>(frame: Frame, kind: Kind): Extract<ChildHeader, { kind: Kind }> {
    const header = frame.header as ChildHeader
    if (header.kind === kind) return header as Extract<ChildHeader, { kind: Kind }>
    throw new ModelError(`${this.#name} sent ${header.kind} in place of ${kind}`)
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.take(chunk)) this.#handle(frame)
    } catch (cause) {
      this.#fail(
        new ModelError(`${this.#name} sent bytes that are not a message: ${reasonOf(cause)}`, { cause }),
      )
    }
  }

  #handle(frame: Frame): void {
    const header = frame.header as ChildHeader
    if (header.kind === 'log') {
      const { log, plan } = this.#options
      log[header.level]({ role: plan.role, ...header.fields }, header.message)
    } else if (header.kind === 'failed') {
      this.#fail(new ModelError(header.reason))
    } else {
      this.#takeWaiter()?.resolve(frame)
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
    this.#end(reason)
  }

  /** Native libraries print to the standard streams, ONNX Runtime in colours. */
  #logLines(output: Readable): void {
    const { name, log } = this.#options
    createInterface({ input: output }).on('line', (printed) => {
      const line = stripVTControlCharacters(printed).slice(0, lineCharsMax)
      if (line.trim() !== '') log.warn({ pid: this.pid }, `${name}: ${line}`)
    })
  }
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}
