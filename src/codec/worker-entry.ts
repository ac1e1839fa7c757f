/**
 * Entry of the worker thread (worker.ts): runs the tasks that it receives and posts what they return.
 */
import { parentPort } from 'node:worker_threads'
import type { CycleColumns } from '../contract/index.js'
import { outcomeOf, runInline, type BodyTaskName } from './body-tasks.js'
import { decodeCycle } from './loaded.js'
import type { WorkerTask } from './worker.js'

parentPort?.on('message', ({ name, bodies }: WorkerTask) => {
  const [first = new Uint8Array(), second = first] = bodies
  if (name !== 'cycle') {
    parentPort?.postMessage(outcomeOf(() => runInline(name as BodyTaskName, [first, second])))
    return
  }
  const outcome = outcomeOf(() => decodeCycle(first))
  // The native codec has all columns in one buffer, which is not copied.
  const transferred = 'value' in outcome ? [(outcome.value as CycleColumns).candidates.postNo.buffer] : []
  parentPort?.postMessage(outcome, transferred as ArrayBuffer[])
})
