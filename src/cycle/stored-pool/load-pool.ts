/**
 * The pool at startup: the newest saved one that can be used, and the cycles since, planned again. Without one, all cycles
 * are planned again. So a saved pool spares time, and none of them is needed as long as no cycle has expired.
 */
import { assert } from '../../contract/index.js'
import { Pool } from '../../pool/index.js'
import { readCycleTable } from '../../records/index.js'
import { StoreError, type Position, type Store } from '../../store/index.js'
import { planStored } from './planned-again.js'
import { readPool } from './saved-pool.js'

export interface PoolSource {
  readonly store: Store
  readonly log: { warn(fields: object, message: string): void }
}

export interface LoadedPool {
  /** After the newest cycle. */
  readonly pool: Pool
  /** The saved pool with which it began; 0: none could be used. */
  readonly saved: Position
}

/** The pool after the newest cycle. Throws when the store cannot be read, or has neither a saved pool nor all requests. */
export async function loadPool({ store, log }: PoolSource): Promise<LoadedPool> {
  const last = lastPosition(store)
  let cause: unknown
  for (const position of store.savedPools()) {
    try {
      if (position > last) throw new StoreError('unusable', `a saved pool is newer than the newest cycle`)
      return { pool: await upToDate(readPool(store, position), store), saved: position }
    } catch (error) {
      if (error instanceof StoreError && error.code !== 'unusable') throw error
      log.warn({ err: error, position }, 'a saved pool cannot be used; more cycles are planned again')
      cause = error
    }
  }
  const first = store.expiry.firstPosition()
  if (first === 1) return { pool: await upToDate(new Pool(), store), saved: 0 }
  throw new StoreError(
    'unusable',
    `no saved pool can be used, and the cycles before position ${first} have expired; restore a backup`,
    { cause },
  )
}

/** Plans the cycles that `pool` lacks. */
export async function catchUp(pool: Pool, store: Store): Promise<void> {
  const last = lastPosition(store)
  assert(pool.state.position <= last, 'the pool has no cycle that the store lacks')
  const positions = range(pool.state.position + 1, last)
  for await (const { plan } of planStored(pool, store, positions))
    assert(plan.base.position === plan.position - 1, 'no cycle is left out')
  assert(pool.state.position === last, 'the pool has every stored cycle')
}

async function upToDate(pool: Pool, store: Store): Promise<Pool> {
  await catchUp(pool, store)
  checkRecorded(pool, store)
  return pool
}

/** The newest cycle has recorded where each pending post entered. */
function checkRecorded({ state }: Pool, store: Store): void {
  const record = store.readRecord(state.position)
  if (record === undefined) return
  const { count, entered_position, entered_row } = readCycleTable(record, 'results')
  const isSame =
    count === state.count &&
    entered_position.every((position, slot) => position === state.enteredPosition[slot]) &&
    entered_row.every((row, slot) => row === state.enteredRow[slot])
  if (!isSame)
    throw new StoreError('unusable', 'the pool differs from the one that the newest cycle has recorded')
}

function lastPosition(store: Store): Position {
  return store.lastCycle()?.position ?? 0
}

function* range(first: Position, last: Position): Iterable<Position> {
  for (let position = first; position <= last; position++) yield position
}
