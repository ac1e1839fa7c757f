/**
 * Swapping models: which version serves and which score in the shadow, from the files `ACTIVE` and `SHADOW` to models
 * that are adopted and released. `machine.ts` has the rules, `lifecycle.ts` their effects.
 */
export { ModelLifecycle, type LifecycleParts, type ModelUsers } from './lifecycle.js'
export { readStatus, StatusFile, type LifecycleStatus } from './status-file.js'
