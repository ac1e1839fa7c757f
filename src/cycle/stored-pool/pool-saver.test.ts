/** When the pool is saved. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs } from '../../../test/helpers/bodies.js'
import { createMemoryContents, memoryStore } from '../../../test/helpers/memory-store.js'
import { RecordedMemory } from '../../../test/helpers/recorded-memory.js'
import { cycleSample } from '../../../test/helpers/store-samples.js'
import { silentLog } from '../../base/index.js'
import { emptyPool } from '../../pool/index.js'
import { createMemoryStore, StoreError, type Store } from '../../store/index.js'
import { PoolSaver, type PoolSaverParts } from './pool-saver.js'

const bodyOf = (index: number) => cycleBody(index, { candidates: [candidate('g', index + 1)] })

async function submitAll(memory: RecordedMemory, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index++) await memory.submit(bodyOf(index))
}

/** The saver of a pool at a position; a failure fails the test. */
function saverOf(store: Store, position: () => number, options: Partial<PoolSaverParts> = {}): PoolSaver {
  return new PoolSaver({
    store,
    loaded: 0,
    state: () => ({ ...emptyPool, position: position() }),
    isIdle: () => true,
    log: { info: () => undefined, error: (fields) => expect.fail(JSON.stringify(fields)) },
    ...options,
  })
}

test('the pool is saved in the background after every six cycles, and at shutdown', async () => {
  const memory = await RecordedMemory.open()
  await submitAll(memory, 0, 5)
  expect(memory.store.savedPools()).toEqual([])
  await submitAll(memory, 5, 6)
  await vi.waitUntil(() => memory.store.savedPools().length === 1)
  await submitAll(memory, 6, 12)
  await vi.waitUntil(() => memory.store.savedPools().length === 2)
  await submitAll(memory, 12, 14)
  expect(memory.store.savedPools()).toEqual([12, 6])
  await memory.service.close()
  expect(memory.store.savedPools()).toEqual([14, 12])
})

test('a start that had to plan many cycles again saves the pool', async () => {
  const memory = await RecordedMemory.open()
  await submitAll(memory, 0, 7)
  await memory.service.close()
  for (const position of memory.store.savedPools()) memory.contents.pool.remove(position)
  const restarted = await RecordedMemory.open({ contents: memory.contents })
  await vi.waitUntil(() => restarted.store.savedPools().length === 1)
  expect(restarted.store.savedPools()).toEqual([7])
})

test('a shutdown right after a save saves nothing again', async () => {
  const memory = await RecordedMemory.open()
  const write = vi.spyOn(memory.store, 'savePool')
  await submitAll(memory, 0, 1)
  await memory.service.close()
  await memory.service.close()
  expect(write).toHaveBeenCalledOnce()
})

test('while cycles follow each other without a pause, the save waits, but not longer than eight cycles', async () => {
  const store = createMemoryStore()
  let position = 0
  const saver = saverOf(store, () => position, { isIdle: () => false })
  for (let number = 1; number <= 17; number++) {
    position = await store.appendCycle(cycleSample(number))
    saver.wake()
    await saver.done()
  }
  expect(store.savedPools()).toEqual([16, 8])
})

test('a pool of earlier cycles, which another process has stored, is saved', async () => {
  const store = createMemoryStore()
  let position = 0
  const saver = saverOf(store, () => position, { loaded: 100 })
  for (let number = 1; number <= 6; number++) position = await store.appendCycle(cycleSample(number))
  saver.wake()
  await saver.done()
  expect(store.savedPools()).toEqual([6])
})

test('between two saves, cycles do not ask the store for the last one', async () => {
  const store = createMemoryStore()
  let position = 0
  const saver = saverOf(store, () => position)
  const reads = vi.spyOn(store, 'savedPools')
  for (let number = 1; number <= 5; number++) {
    position = await store.appendCycle(cycleSample(number))
    saver.wake()
    await saver.done()
  }
  expect(reads).not.toHaveBeenCalled()
})

test('a saved pool that the store no longer has covers no cycle', async () => {
  const contents = createMemoryContents()
  const store = memoryStore({ contents })
  const position = await store.appendCycle(cycleSample(1))
  const saver = saverOf(store, () => position)
  await saver.cover(position)
  expect(store.savedPools()).toEqual([position])
  // What another process has written takes its place.
  contents.pool.remove(position)
  await saver.cover(position)
  expect(store.savedPools()).toEqual([position])
})

test('a save that fails is logged and tried again; cycles are scored meanwhile', async () => {
  const errors: string[] = []
  const log = { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) }
  const memory = await RecordedMemory.open({ log })
  const write = vi.spyOn(memory.store, 'savePool')
  write.mockRejectedValue(new StoreError('full', 'no room'))
  await submitAll(memory, 0, 9)
  expect(errors).toContain('the pool could not be saved')
  write.mockRestore()
  await submitAll(memory, 9, 10)
  await vi.waitUntil(() => memory.store.savedPools().length === 1)
  const restarted = await RecordedMemory.open({ contents: memory.contents })
  onTestFinished(() => restarted.service.close())
  expect(restarted.service.pool.count).toBe(10)
  expect(restarted.service.pool.newestCycleMs).toBe(cycleMs(9))
})

test('a damaged saved pool is the one that the next one replaces', async () => {
  const memory = await RecordedMemory.open()
  const { contents } = memory
  await submitAll(memory, 0, 6)
  await vi.waitUntil(() => memory.store.savedPools().length === 1)
  await submitAll(memory, 6, 8)
  await memory.service.close()
  expect(memory.store.savedPools()).toEqual([8, 6])
  contents.pool.put(8, Uint8Array.of(1, 2, 3))
  const restarted = await RecordedMemory.open({ contents })
  await submitAll(restarted, 8, 10)
  expect(restarted.store.savedPools()).toEqual([8, 6])
  await restarted.service.close()
  expect(restarted.store.savedPools()).toEqual([10, 6])
})

test('the head of the chain of hashes is logged with each save and once a day', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = createMemoryStore()
  await store.appendCycle(cycleSample(1))
  const logged: object[] = []
  const log = { info: (fields: object) => void logged.push(fields), error: () => expect.fail() }
  const saver = saverOf(store, () => 1, { log })
  const head = { position: 1, head: store.hashes(1)?.hash }
  await saver.cover(1)
  expect(logged).toEqual([head])
  vi.advanceTimersByTime(24 * 3_600_000)
  expect(logged).toEqual([head, head])
  await saver.close()
  vi.advanceTimersByTime(48 * 3_600_000)
  expect(logged).toHaveLength(2)
})
