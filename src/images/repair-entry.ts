/**
 * Entry of the worker thread that repairs and measures JPEGs (repair-thread.ts): posts the copy of each image that it receives.
 */
import { parentPort } from 'node:worker_threads'
import type { WorkerTask } from '../codec/index.js'
import { measuringJpeg } from './jpeg-measure.js'
import { repairedJpeg } from './jpeg-repair.js'
import type { ThreadTask } from './repair-thread.js'

parentPort?.on('message', ({ name, bodies }: WorkerTask) => {
  const [bytes = new Uint8Array()] = bodies
  const task = name as ThreadTask
  parentPort?.postMessage(task === 'measure' ? measuringJpeg(bytes) : repairedJpeg(bytes, task))
})
