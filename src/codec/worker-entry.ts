/**
 * Entry of the worker thread (worker.ts): runs the tasks that it receives and posts what they return.
 */
import { parentPort } from 'node:worker_threads'
import { outcomeOf, runInline, type BodyTaskName } from './body-tasks.js'
import { loadCodec } from './codec.js'
import type { WorkerTask } from './worker.js'

const { codec } = loadCodec('auto')

parentPort?.on('message', ({ name, bodies }: WorkerTask) => {
  const [first = new Uint8Array(), second = first] = bodies
  const run = (): unknown =>
    name === 'cycle' ? codec.decodeCycle(first) : runInline(name as BodyTaskName, [first, second])
  parentPort?.postMessage(outcomeOf(run))
})
