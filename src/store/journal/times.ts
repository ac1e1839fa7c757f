/**
 * When a process of an environment polls and renews, how long it waits, and how long it leaves the environment to others.
 */
import { dayMs, hourMs } from '../../base/index.js'
export const renewMs = 5000
export const pollMs = 1000
/** The owner stops serving this long before another process can take over. */
export const leaseMarginMs = 1000
export const pruneMs = hourMs
/** A view that was not read for this long is read again from the first entry. */
export const pruneAgeMs = 7 * dayMs

/** How long a process that cannot serve leaves a free lease to others. */
export const yieldMs = 5000
/** An owner that cannot serve for this long frees its lease: a model that is loaded again is faster. */
export const unableMsMax = 8000
/** The same for one that could not serve when it took the environment, which nobody else had taken. */
export const neverAbleMsMax = 20_000
/** A process that could not prepare itself leaves the lease to others for this long. */
export const holdOffMs = 30_000
/** A server that starts waits this long for its role. */
export const attemptMsMax = 3000
/** The time of each step of a stop while the journal cannot be reached. */
export const stopMsMax = 1500
