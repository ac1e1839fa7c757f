/** The implementations of the store, for suites that run over each of them. Stores are closed after each test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createMemoryStore, openLmdbStore, type Store } from '../../src/store/index.js'
import { openReplica, postgresBin, until } from './journals.js'

export const storeImplementations: Readonly<Record<string, () => Promise<Store>>> = {
  memory: () => Promise.resolve(createMemoryStore()),
  lmdb: async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'understudy-store-'))
    const store = await openLmdbStore({ dataDir })
    onTestFinished(async () => {
      await store.close()
      await rm(dataDir, { recursive: true })
    })
    return store
  },
  ...(postgresBin === null
    ? {}
    : {
        journal: async () => {
          const store = await openReplica()
          await until(() => store.role === 'owner')
          return store
        },
      }),
}
