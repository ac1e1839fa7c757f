/** When snapshots of the pool are written. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs } from '../../../test/helpers/bodies.js'
import { RecordedMemory } from '../../../test/helpers/recorded-memory.js'
import { cycleSample } from '../../../test/helpers/store-samples.js'
import { silentLog } from '../../base/index.js'
import { emptyPool } from '../../pool/index.js'
import { createMemoryStore, StoreError } from '../../store/index.js'
import { PoolSnapshots } from './pool-snapshots.js'

const bodyOf = (index: number) => cycleBody(index, { candidates: [candidate('g', index + 1)] })

async function submitAll(memory: RecordedMemory, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index++) await memory.submit(bodyOf(index))
}

test('a snapshot is written in the background after every eight cycles, and at shutdown', async () => {
  const memory = await RecordedMemory.open()
  await submitAll(memory, 0, 8)
  expect(memory.store.poolSnapshots()).toEqual([])
  await vi.waitUntil(() => memory.store.poolSnapshots().length === 1)
  await submitAll(memory, 8, 18)
  expect(memory.store.poolSnapshots()).toEqual([16, 8])
  await memory.service.close()
  expect(memory.store.poolSnapshots()).toEqual([18, 16])
})

test('a shutdown after a snapshot writes no other', async () => {
  const memory = await RecordedMemory.open()
  const write = vi.spyOn(memory.store, 'putPoolSnapshot')
  await submitAll(memory, 0, 1)
  await memory.service.close()
  await memory.service.close()
  expect(write).toHaveBeenCalledOnce()
})

test('while cycles follow each other without a pause, a snapshot waits, but not longer than eleven cycles', async () => {
  const store = createMemoryStore()
  let position = 0
  const snapshots = new PoolSnapshots({
    store,
    loaded: 0,
    state: () => ({ ...emptyPool, position }),
    isIdle: () => false,
    log: { error: (fields) => expect.fail(JSON.stringify(fields)) },
  })
  for (let number = 1; number <= 23; number++) {
    position = await store.appendCycle(cycleSample(number))
    snapshots.wake()
    await snapshots.done()
  }
  expect(store.poolSnapshots()).toEqual([22, 11])
})

test('a snapshot that cannot be written is logged and tried again; cycles are scored meanwhile', async () => {
  const errors: string[] = []
  const log = { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) }
  const memory = await RecordedMemory.open({ log })
  const write = vi.spyOn(memory.store, 'putPoolSnapshot')
  write.mockRejectedValue(new StoreError('full', 'no room'))
  await submitAll(memory, 0, 9)
  expect(errors).toContain('the snapshot of the pool could not be written')
  write.mockRestore()
  await submitAll(memory, 9, 10)
  await vi.waitUntil(() => memory.store.poolSnapshots().length === 1)
  const restarted = await RecordedMemory.open({ contents: memory.contents })
  onTestFinished(() => restarted.service.close())
  expect(restarted.service.pool.count).toBe(10)
  expect(restarted.service.pool.newestCycleMs).toBe(cycleMs(9))
})

test('a damaged snapshot is the one that the next one replaces, and covers no cycle that expires', async () => {
  const memory = await RecordedMemory.open()
  const { contents } = memory
  await submitAll(memory, 0, 8)
  await vi.waitUntil(() => memory.store.poolSnapshots().length === 1)
  await submitAll(memory, 8, 10)
  await memory.service.close()
  contents.pool.putSync(10, Uint8Array.of(1, 2, 3))
  const restarted = await RecordedMemory.open({ contents })
  await submitAll(restarted, 10, 12)
  expect(restarted.store.poolSnapshots()).toEqual([10, 8])
  await restarted.service.close()
  expect(restarted.store.poolSnapshots()).toEqual([12, 8])
})
