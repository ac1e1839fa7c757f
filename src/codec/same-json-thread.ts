/**
 * `sameJson` without holding up the event loop: a respelled body of five megabytes takes a tenth of a second to compare,
 * and several if it means harm. One thread a comparison, one comparison at a time; a thread that fails takes nothing with
 * it but its comparison.
 */
import { Worker } from 'node:worker_threads'
import { sameJson, type JsonPair } from './same-json.js'
import { answerOfThread } from './thread-answer.js'

/** Bodies up to this size, both together, are compared at once: starting a thread would take longer. */
export const inlineBytesMax = 256 * 1024
/** The longest of two full bodies takes a few seconds. A bound, not an expectation. */
const comparisonMsMax = 60_000
/** A cycle's own two bodies need a tenth of it. A thread that needs more ends; the process does not. */
const threadHeapMiBMax = 1024

/** How a comparison comes to its thread; tests put in threads that fail. */
export type StartThread = (pair: JsonPair) => Worker

/** Ends of the comparisons that have been asked for: the last one's turn comes after all others. */
let lastTurn: Promise<unknown> = Promise.resolve()

/** Whether bodies of so many bytes take a thread for certain: they differ, and are too long for anything else. */
export function needsThread(aBytes: number, bBytes: number): boolean {
  return aBytes !== bBytes && aBytes + bBytes > inlineBytesMax
}

/** Compares the values of two bodies that both parse, where that takes no time; else null. */
export function sameJsonAtOnce(a: Uint8Array, b: Uint8Array): boolean | null {
  if (sameBytes(a, b)) return true
  return a.byteLength + b.byteLength <= inlineBytesMax ? sameJson(a, b) : null
}

/**
 * Compares the values of two bodies that both parse. Leave both unchanged until the promise has settled. Rejects, with
 * an `Error`, when the thread fails, runs out of memory or takes too long.
 */
export async function sameJsonOffThread(
  a: Uint8Array,
  b: Uint8Array,
  start: StartThread = startThread,
): Promise<boolean> {
  const known = sameJsonAtOnce(a, b)
  if (known !== null) return known
  const turn = lastTurn.then(() => compare({ sameJson: [copyOf(a), copyOf(b)] }, start))
  lastTurn = turn.catch(() => undefined)
  return turn
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** In memory of its own, which the thread can be given: a body may be part of a larger buffer. */
function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** The thread as it is used in earnest. Node strips the types of `same-json.ts` when sources run unbuilt. */
export function startThread(pair: JsonPair): Worker {
  const file = import.meta.url.endsWith('.ts') ? './same-json.ts' : './same-json.js'
  return new Worker(new URL(file, import.meta.url), {
    workerData: pair,
    transferList: pair.sameJson.map((bytes) => bytes.buffer as ArrayBuffer),
    // Without the flags of this process: a test runner's would follow the thread.
    execArgv: [],
    name: 'same-json',
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMiBMax },
  })
}

async function compare(pair: JsonPair, start: StartThread): Promise<boolean> {
  const answer = await answerOfThread(start(pair), { does: 'compares two bodies', msMax: comparisonMsMax })
  return answer as boolean
}
