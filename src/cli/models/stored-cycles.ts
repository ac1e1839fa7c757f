/**
 * Stored cycles for commands that read them again: the store of a data directory as it is at this moment, with its
 * server running or not, and where a cycle stands in it.
 */
import { existsSync, statSync } from 'node:fs'
import { databasePath, openSnapshot, type Position, type Store } from '../../store/index.js'
import { CommandError, UsageError } from '../failure.js'

/** What `use` makes of the store, which can be read alone. Nothing is made where a path is wrong. */
export async function withStore<T>(dataDir: string, use: (store: Store) => Promise<T>): Promise<T> {
  if (!existsSync(dataDir) || !statSync(dataDir).isDirectory())
    throw new UsageError(`the data directory ${dataDir} is not there`)
  const { store } = await openSnapshot(databasePath(dataDir))
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** Throws a `CommandError` for a cycle that is not stored. */
export function positionOf(store: Store, cycleId: string): Position {
  const position = store.findCycle(cycleId)?.position
  if (position === undefined)
    throw new CommandError(`there is no cycle ${cycleId} in the data directory: ${heldCycles(store)}`)
  return position
}

/** Arrival need not be in the order of their times. */
function heldCycles(store: Store): string {
  const last = store.lastCycle()
  for (const first of store.tail(1))
    return `by arrival, the first that it has is ${first.cycleId}, the last ${last?.cycleId ?? first.cycleId}`
  return 'it has none'
}
