/**
 * Entry of the worker thread that repairs JPEGs (repair-thread.ts): posts the repaired copy of each image that it receives.
 */
import { parentPort } from 'node:worker_threads'
import type { WorkerTask } from '../codec/index.js'
import { repairedJpeg, type Repair } from './jpeg-repair.js'

parentPort?.on('message', ({ name, bodies }: WorkerTask) => {
  parentPort?.postMessage(repairedJpeg(bodies[0] ?? new Uint8Array(), name as Repair))
})
