/**
 * Entry of the worker thread that checks the trees of a large database file (file-check.ts): posts the problem, or null.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { checkTrees, type TreeCheck } from './tree-check.js'

parentPort?.postMessage(checkTrees(workerData as TreeCheck))
