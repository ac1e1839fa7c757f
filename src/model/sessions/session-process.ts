/**
 * One child process with one program, from its start to its end. It ends on the first trouble: a crash, an error of
 * the program, a batch past its time limit, memory past its bound. It is never repaired; its owner starts another.
 */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import type { ModelLog } from '../log.js'
import { ModelDownError, ModelError } from '../model.js'
import { ProcessBehind, type IdleCores } from '../priority.js'
import { startProcess, type StartedProcess } from '../processes/index.js'
import type { Courier } from './courier.js'
import { FrameReader, frameOf } from './frames.js'
import { reasonOf } from './graph-session.js'
import { watchMemory } from './memory-bound.js'
import type { ChildMessage, OwnerMessage, ProgramPlan } from './protocol.js'

/** Reading graphs and preparing them for a device. A bound, not an expectation: TensorRT takes minutes. */
export const startMsMax = 10 * 60_000
/** A killed process is gone at once, but for one that a driver holds. Shutdown does not wait for that. */
const stopMsMax = 2000
/** Of a line that native code prints. */
const lineCharsMax = 1000

/** Types are stripped by nobody in a child: from source, too, it is the built file that runs. */
const childFile = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/model/sessions/child.js' : './child.js',
    import.meta.url,
  ),
)

export interface ProcessOptions<Request, Reply> {
  /** How messages call the program, such as `the model` or `the text encoder`. */
  readonly name: string
  readonly plan: ProgramPlan
  readonly openCourier: () => Courier<Request, Reply>
  /** How a time limit that has passed calls a batch, such as `a batch of 5 rows`. */
  readonly describe: (request: Request) => string
  /** Resident memory of the process; past it, it is killed. */
  readonly bytesMax: number
  readonly log: ModelLog
  /** For tests that need a hand on the process. */
  readonly startChild?: StartChild
}

/** Starts the process with what it shares with this one; null: there is no such thing. */
export type StartChild = (shared: {
  readonly memory: number | null
  readonly doorbell: number | null
}) => StartedProcess

/** Who waits for the next message of the child. */
interface Waiter {
  readonly resolve: (message: ChildMessage) => void
  readonly reject: (error: ModelError) => void
  readonly timer: NodeJS.Timeout
}

export class SessionProcess<Request, Reply> {
  /** Resolves, with the reason, when this process has become useless. */
  readonly ended: Promise<ModelError>
  /** Resolves when the process is no more: right after it has ended, unless the system cannot end it. */
  readonly gone: Promise<void>
  /** The execution provider that serves; empty until `open` has resolved. */
  provider = ''
  readonly #options: ProcessOptions<Request, Reply>
  readonly #courier: Courier<Request, Reply>
  readonly #child: StartedProcess
  readonly #frames = new FrameReader()
  readonly #end: (reason: ModelError) => void
  readonly #stopWatching: () => void
  #behind: ProcessBehind | null = null
  #endReason: ModelError | null = null
  #waiter: Waiter | null = null

  /** Starts the process; `open` waits for it. Throws what the system says when it cannot. */
  constructor(options: ProcessOptions<Request, Reply>) {
    this.#options = options
    let end: (reason: ModelError) => void = () => undefined
    this.ended = new Promise((resolve) => (end = resolve))
    this.#end = end
    this.#courier = options.openCourier()
    try {
      this.#child = (options.startChild ?? startChild)(this.#courier)
    } catch (cause) {
      // Where there is no memory for one more process, for example.
      this.#courier.close()
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
    messages?.on('data', (piece: Buffer) => this.#hearPiece(piece))
  }

  /** undefined: it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** From now on it runs behind the service. */
  lower(cores: IdleCores): void {
    if (this.pid !== undefined) this.#behind = new ProcessBehind(this.pid, { cores })
  }

  /** It runs like this process again. Throws a `ModelError` where the system does not allow it. */
  rise(): void {
    try {
      this.#behind?.rise()
    } catch (cause) {
      throw new ModelError(`${this.#name} is not given its priority back: ${reasonOf(cause)}`, { cause })
    }
  }

  /** Once. Resolves when the program is open and its graphs have what the plan says. Rejects with a `ModelError`. */
  async open(): Promise<void> {
    const { name, plan } = this.#options
    const opening: OwnerMessage = { kind: 'open', plan, hasDoorbell: this.#courier.doorbell !== null }
    // One that could not be started has no pipes; that it could not is on its way.
    this.#child.messages?.write(frameOf(opening, 'json'))
    const message = await this.#hearNext(startMsMax, `the start of ${name}`)
    if (message.kind !== 'ready') throw new ModelError(`${this.#name} said ${message.kind} at its start`)
    this.provider = message.provider
  }

  /**
   * One batch; the next may begin when this one has settled. Rejects with a `ModelError`, also when the time limit has
   * passed; then the process has ended.
   */
  async run(request: Request, timeLimitMs: number): Promise<Reply> {
    if (this.#endReason !== null) throw this.#endReason
    if (this.#waiter !== null) throw new Error('a batch is under way')
    this.#courier.send(request, this.#child)
    const message = await this.#hearNext(timeLimitMs, this.#options.describe(request))
    if (message.kind !== 'done') throw new ModelError(`${this.#name} said ${message.kind} to a batch`)
    return this.#courier.receive(message.reply)
  }

  /** Kills the process, and resolves when it is gone or cannot be ended. A batch under way rejects. */
  async stop(): Promise<void> {
    this.#fail(new ModelDownError(`${this.#options.name} is closed`))
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, stopMsMax)))
    await Promise.race([this.gone, patience])
    clearTimeout(timer)
  }

  get #name(): string {
    return `the process of ${this.#options.name}`
  }

  #hearPiece(piece: Buffer): void {
    try {
      for (const { value } of this.#frames.take(piece)) this.#hear(value as ChildMessage)
    } catch (cause) {
      this.#fail(new ModelError(`${this.#name} cannot be understood: ${reasonOf(cause)}`, { cause }))
    }
  }

  #hear(message: ChildMessage): void {
    if (message.kind === 'unavailable') {
      const { provider, file, reason } = message
      const { log, plan } = this.#options
      log.warn(
        { provider, role: plan.role },
        `execution provider ${provider} cannot serve ${file}: ${reason}`,
      )
    } else if (message.kind === 'failed') {
      this.#fail(new ModelError(message.reason))
    } else {
      const waiter = this.#waiter
      this.#waiter = null
      clearTimeout(waiter?.timer)
      waiter?.resolve(message)
    }
  }

  #hearNext(timeLimitMs: number, what: string): Promise<ChildMessage> {
    return new Promise((resolve, reject) => {
      if (this.#endReason !== null) {
        reject(this.#endReason)
        return
      }
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
    this.#stopWatching()
    this.#behind?.leave()
    this.#child.kill()
    this.#courier.close()
    this.#end(reason)
  }

  /** Native libraries print what they have to say, ONNX Runtime in colours. */
  #logLines(output: Readable): void {
    const { name, log } = this.#options
    createInterface({ input: output }).on('line', (printed) => {
      const line = stripVTControlCharacters(printed).slice(0, lineCharsMax)
      if (line.trim() !== '') log.warn({ pid: this.pid }, `${name}: ${line}`)
    })
  }
}

const startChild: StartChild = ({ memory, doorbell }) => startProcess([childFile], [memory, doorbell])

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}
