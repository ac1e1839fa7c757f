/**
 * Reading bodies without holding up the event loop. A small one is read at once; a large one in a thread of its own, one
 * at a time, since a body that is wrong on purpose takes up to half a second to be told what is wrong with it. What a
 * thread says is what would have been said here. A thread that fails takes nothing with it but its body.
 */
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { jsonBodyBytesMax, ServiceError } from '../contract/index.js'
import {
  readers,
  takeAnswer,
  type BodyKind,
  type ReadAs,
  type ReadingAnswer,
  type ReadingTask,
} from './reading.js'
import { answerOfThread } from './thread-answer.js'

/** Bodies up to this size are read at once: it takes a few milliseconds, less than starting a thread. */
export const promptBytesMax = 64 * 1024
/** The worst body takes half a second on a core of its own. A bound, not an expectation. */
const readingMsMax = 30_000
/** The worst body needs half of it. A thread that needs more ends; the process does not. */
const threadHeapMiBMax = 1024
/** Bodies that wait for the thread: the memory is the bodies' own, and what waits longer had better come again. */
const waitingBytesMax = 4 * jsonBodyBytesMax
const retryAfterS = 1

/** How a body comes to its thread; tests put in threads that fail. */
export type StartReading = (task: ReadingTask) => Worker

/** Ends of the readings that have been asked for: the last one's turn comes after all others. */
let lastTurn: Promise<unknown> = Promise.resolve()
let waitingBytes = 0

/**
 * Reads a body. Leave it unchanged until the promise has settled. Rejects with the refusal of `readers`; with
 * `unavailable` when too many bytes wait, or when the thread fails, runs out of memory or takes too long.
 */
export async function readBody<Kind extends BodyKind>(
  kind: Kind,
  body: Uint8Array,
  start: StartReading = startReading,
): Promise<ReadAs[Kind]> {
  if (body.length <= promptBytesMax) return readers[kind](body)
  if (waitingBytes + body.length > waitingBytesMax)
    throw new ServiceError('unavailable', 'too many large bodies wait to be examined', { retryAfterS })
  waitingBytes += body.length
  const turn = lastTurn
    // The body has cost this turn of the event loop enough already.
    .then(() => nextTurn())
    .then(() => answerOfThread(start({ kind, body: copyOf(body) }), work))
    .finally(() => (waitingBytes -= body.length))
  lastTurn = turn.catch(() => undefined)
  const answer = await turn.catch((cause: unknown) => {
    throw new ServiceError('unavailable', 'the body could not be examined', { cause })
  })
  return takeAnswer(kind, answer as ReadingAnswer)
}

const nextTurn = promisify(setImmediate)
const work = { does: 'examines a body', msMax: readingMsMax }

/** In memory of its own, which the thread can be given: a body may be part of a larger buffer, and others read it. */
function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** The thread as it is used in earnest. From source, too, the built file runs: its imports name built files. */
export function startReading(task: ReadingTask): Worker {
  const file = import.meta.url.endsWith('.ts') ? '../../dist/codec/reading-worker.js' : './reading-worker.js'
  return new Worker(new URL(file, import.meta.url), {
    workerData: task,
    transferList: [task.body.buffer],
    // Without the flags of this process: a test runner's would follow the thread.
    execArgv: [],
    name: 'reading',
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMiBMax },
  })
}
