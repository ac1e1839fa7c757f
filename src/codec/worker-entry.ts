/**
 * Entry of the worker thread (worker.ts): runs the tasks that it receives and posts what they return.
 */
import { parentPort } from 'node:worker_threads'
import { loadCodec } from './codec.js'
import { bodyDifferences } from './body-differences.js'
import { answerOf, packOutcomes } from './read-body.js'
import { parseOutcomes, parseWeights } from './parse-records.js'
import type { TaskName, WorkerTask } from './worker.js'

const { codec } = loadCodec('auto')

const tasks: Readonly<Record<TaskName, (first: Uint8Array, second: Uint8Array) => unknown>> = {
  readCycle: (body) => answerOf(() => codec.decodeCycle(body)),
  readOutcomes: (body) => answerOf(() => packOutcomes(parseOutcomes(body))),
  readWeights: (body) => answerOf(() => parseWeights(body)),
  compareBodies: bodyDifferences,
}

parentPort?.on('message', ({ name, bodies }: WorkerTask) => {
  const [first = new Uint8Array(), second = first] = bodies
  parentPort?.postMessage(tasks[name](first, second))
})
