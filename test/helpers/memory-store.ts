/**
 * The store in memory, with contents that outlive it and with writes that fail or wait.
 */
import {
  createRecordStore,
  type Change,
  type DatabaseName,
  type RecordStoreParts,
} from '../../src/store/records/index.js'
import {
  createMemoryContents,
  memoryParts as memoryPartsOf,
  type MemoryContents,
} from '../../src/store/memory/memory-store.js'
import type { Store } from '../../src/store/index.js'

export { createMemoryContents, type MemoryContents }

export interface MemoryStoreOptions {
  /** Runs before changes are stored; what it throws, their write rejects with, and nothing is stored. */
  readonly beforeWrite?: (changes: readonly Change<DatabaseName>[]) => void | Promise<void>
  /** What a disk would hold. A second store with the same contents simulates a restart. */
  readonly contents?: MemoryContents
}

export function memoryStore(options: MemoryStoreOptions): Store {
  return createRecordStore(memoryParts(options))
}

export function memoryParts({
  contents = createMemoryContents(),
  beforeWrite,
}: MemoryStoreOptions): RecordStoreParts {
  return memoryPartsOf(contents, beforeWrite)
}
