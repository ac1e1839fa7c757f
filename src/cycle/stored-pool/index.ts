/**
 * The pool on disk: saved pools, the cycles since, and the pool that they give at startup.
 */
export { catchUp, loadPool, type LoadedPool } from './load-pool.js'
export { PoolSaver } from './pool-saver.js'
export { planStored, readBody, type PlannedAgain } from './planned-again.js'
export { packPool, readPool } from './saved-pool.js'
