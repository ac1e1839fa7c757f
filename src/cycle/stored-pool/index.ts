/**
 * The pool on disk: snapshots of it, the cycles since, and the pool that they give at startup.
 */
export { catchUp, loadPool, type LoadedPool } from './load-pool.js'
export { PoolSnapshots } from './pool-snapshots.js'
export { planStored, readBody, type PlannedAgain } from './planned-again.js'
export { packPool, readPool } from './snapshot.js'
