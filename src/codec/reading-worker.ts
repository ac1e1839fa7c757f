/**
 * Entry of the thread that reads large bodies (reading-thread.ts).
 */
import { readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { loadCodec } from './codec.js'
import {
  answerTask,
  readers,
  type ReadAs,
  type ReadingAnswer,
  type ReadingReply,
  type ReadingTask,
} from './reading.js'

yieldToOthers()
const { codec } = loadCodec('auto')
parentPort?.on('message', (task: ReadingTask) => {
  const answer = answerTask(task, { ...readers, cycle: decodeForGood })
  const memory = memoryOf(answer)
  if (memory.has(task.box)) throw new Error('what was read stands in the memory of the next body')
  const reply: ReadingReply = { answer, box: task.box, heapBytes: getHeapStatistics().total_heap_size }
  parentPort?.postMessage(reply, [task.box, ...memory])
})

/** Columns whose memory nobody wants back: it goes with the answer. */
function decodeForGood(body: Uint8Array): ReadAs['cycle'] {
  const columns = { ...codec.decodeCycle(body) }
  delete columns.release
  return columns
}

/**
 * Where cores are few, the event loop comes first. This thread begins with the loop's priority, which a lead may have
 * raised (`priorityLead`): it goes a step behind that, or back to nice 0 where that is further. No more: a cycle that is
 * right may be waiting. Linux gives each thread a priority of its own; others are left be.
 */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return
  const { PRIORITY_NORMAL, PRIORITY_LOW } = constants.priority
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(threadId, Math.min(Math.max(getPriority() + 1, PRIORITY_NORMAL), PRIORITY_LOW))
  } catch {
    // Where there is no /proc the thread keeps the priority of the event loop: slower for others, and right all the same.
  }
}

/** The memory of all typed arrays in a value, to be handed over and not copied. */
function memoryOf(answer: ReadingAnswer): Set<ArrayBuffer> {
  const found = new Set<ArrayBuffer>()
  const visit = (value: unknown): void => {
    if (ArrayBuffer.isView(value)) {
      if (value.buffer instanceof ArrayBuffer) found.add(value.buffer)
    } else if (typeof value === 'object' && value !== null && !Array.isArray(value))
      Object.values(value).forEach(visit)
  }
  visit(answer)
  return found
}
