/** Intake of cycles, and the queues and limits in front of the pipeline. */
export { Intake, type CycleLimits, type NewCycle } from './intake.js'
export type { CycleReader } from './known-cycles.js'
export { requestHash, RequestBody, unpackRequest } from './request-body.js'
export { SerialQueue } from './serial-queue.js'
export type { AnsweredCycle } from './stored-responses.js'
