/** Intake of cycles, and the queues and limits in front of the pipeline. */
export { Intake, type CycleLimits, type IntakeCounts, type NewCycle } from './intake.js'
export { checkTimes } from './check-times.js'
export { Idempotency, type CycleRecords } from './idempotency.js'
export { SerialQueue } from './serial-queue.js'
export type { StoredResponse } from './stored-responses.js'
