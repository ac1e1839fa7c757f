/**
 * Reading bodies without holding up the event loop. A small one is read at once; a large one in a thread, one at a time,
 * since a body that is wrong on purpose takes up to half a second to be told what is wrong with it. What the thread says
 * is what would have been said here. A thread that fails takes nothing with it but its body.
 */
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { jsonBodyBytesMax, ServiceError } from '../contract/index.js'
import { bodyBufferBytes } from './body-buffer.js'
import { KeptThread } from './kept-thread.js'
import {
  readers,
  takeAnswer,
  type BodyKind,
  type ReadAs,
  type ReadingReply,
  type ReadingTask,
} from './reading.js'

/** Bodies up to this size are read at once: it takes a few milliseconds, less than the way to a thread and back. */
export const promptBytesMax = 64 * 1024
/** The worst body takes half a second on a core of its own. A bound, not an expectation. */
const readingMsMax = 30_000
/** The worst body needs half of it. A thread that needs more ends; the process does not. */
const threadHeapMiBMax = 1024
/** Bodies that wait for the thread: the memory is the bodies' own, and what waits longer had better come again. */
const waitingBytesMax = 4 * jsonBodyBytesMax
const retryAfterS = 1
/** A body is copied so much a turn: 16 MiB at once would take ten milliseconds of the event loop. */
const pieceBytes = 1024 * 1024
/** Without large bodies for so long the thread ends. Cycles come every few minutes. */
const restMsMax = 15 * 60_000
/** A thread whose heap has grown past this, which no cycle that is right brings about, ends when nothing waits for it. */
const restHeapBytesMax = 128 * 1024 * 1024
const swollenRestMsMax = 1000

/** How a thread starts; tests put in threads that fail. */
export type StartReading = () => Worker

/** Reads bodies; a process has one, tests have some of their own. */
export class BodyReader {
  readonly #thread: KeptThread
  /** Where a body goes to the thread; null while the thread has it, or lost it. */
  #box: ArrayBuffer | null = null
  /** End of the readings that have been asked for: the last one's turn comes after all others. */
  #lastTurn: Promise<unknown> = Promise.resolve()
  #waitingBytes = 0

  constructor(start: StartReading = startReading) {
    this.#thread = new KeptThread(start, { does: 'examines a body', msMax: readingMsMax })
  }

  /** As `readBody`. */
  async read<Kind extends BodyKind>(kind: Kind, body: Uint8Array): Promise<ReadAs[Kind]> {
    if (body.length <= promptBytesMax) return readers[kind](body)
    if (this.#waitingBytes + body.length > waitingBytesMax)
      throw new ServiceError('unavailable', 'too many large bodies wait to be examined', { retryAfterS })
    this.#waitingBytes += body.length
    const turn = this.#lastTurn
      .then(() => this.#reply(kind, body))
      .finally(() => (this.#waitingBytes -= body.length))
    this.#lastTurn = turn.catch(() => undefined)
    const { answer } = await turn.catch((cause: unknown) => {
      throw new ServiceError('unavailable', 'the body could not be examined', { cause })
    })
    return takeAnswer(kind, answer)
  }

  /** Ends the thread, which must have nothing to do. */
  end(): void {
    this.#thread.end()
  }

  async #reply(kind: BodyKind, body: Uint8Array): Promise<ReadingReply> {
    const box = await this.#boxWith(body)
    const task: ReadingTask = { kind, box, bytes: body.length }
    const reply = (await this.#thread.ask(task, [box])) as ReadingReply
    this.#box = reply.box
    this.#thread.restFor(reply.heapBytes > restHeapBytesMax ? swollenRestMsMax : restMsMax)
    return reply
  }

  /**
   * The body in memory that the thread can be given: it may be part of a larger buffer, and others read it. The same
   * memory for each, since new pages cost more than the copy.
   */
  async #boxWith(body: Uint8Array): Promise<ArrayBuffer> {
    const bytes = bodyBufferBytes(body.length)
    const kept = this.#box
    this.#box = null
    const box = kept !== null && kept.byteLength >= bytes ? kept : new ArrayBuffer(boxBytes(bytes))
    const into = new Uint8Array(box)
    for (let start = 0; start < body.length; start += pieceBytes) {
      // Before each, for the body has cost this turn of the event loop enough already.
      await nextTurn()
      into.set(body.subarray(start, start + pieceBytes), start)
    }
    return box
  }
}

/** Only what is written becomes memory: a box has room for the largest body from the start. */
function boxBytes(bytes: number): number {
  return Math.max(bytes, bodyBufferBytes(jsonBodyBytesMax))
}

const nextTurn = promisify(setImmediate)

const reader = new BodyReader()

/**
 * Reads a body. Leave it unchanged until the promise has settled. Rejects with the refusal of `readers`; with
 * `unavailable` when too many bytes wait, or when the thread fails, runs out of memory or takes too long.
 */
export function readBody<Kind extends BodyKind>(kind: Kind, body: Uint8Array): Promise<ReadAs[Kind]> {
  return reader.read(kind, body)
}

/** The thread as it is used in earnest. From source, too, the built file runs: its imports name built files. */
export function startReading(): Worker {
  const file = import.meta.url.endsWith('.ts') ? '../../dist/codec/reading-worker.js' : './reading-worker.js'
  return new Worker(new URL(file, import.meta.url), {
    // Without the flags of this process: a test runner's would follow the thread.
    execArgv: [],
    name: 'reading',
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMiBMax },
  })
}
