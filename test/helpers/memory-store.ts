/**
 * The store in memory, with contents that outlive it and with writes that fail or wait.
 */
import { createRecordStore, type RecordStoreParts, type Write } from '../../src/store/records/index.js'
import {
  createMemoryContents,
  MemoryWrites,
  type MemoryContents,
} from '../../src/store/memory/memory-store.js'
import type { Store } from '../../src/store/index.js'

export { createMemoryContents, type MemoryContents }

export interface MemoryStoreOptions {
  /** Runs before a write changes anything; what it throws, the write rejects with, and nothing is stored. */
  readonly beforeWrite?: (write: Pick<Write, 'isCycle'>) => void | Promise<void>
  /** What a disk would hold. A second store with the same contents simulates a restart. */
  readonly contents?: MemoryContents
}

export function memoryStore(options: MemoryStoreOptions): Store {
  return createRecordStore(memoryParts(options))
}

export function memoryParts({
  contents = createMemoryContents(),
  beforeWrite = () => undefined,
}: MemoryStoreOptions): RecordStoreParts {
  const writes = new InterruptedWrites(beforeWrite)
  return { databases: contents, writes, close: () => writes.close() }
}

class InterruptedWrites extends MemoryWrites {
  readonly #beforeWrite: NonNullable<MemoryStoreOptions['beforeWrite']>

  constructor(beforeWrite: NonNullable<MemoryStoreOptions['beforeWrite']>) {
    super()
    this.#beforeWrite = beforeWrite
  }

  protected override async commit(batch: readonly Write[]): Promise<void> {
    for (const write of batch) {
      try {
        await this.#beforeWrite(write)
      } catch (error) {
        this.refuse(write, error)
        continue
      }
      await super.commit([write])
    }
  }
}
