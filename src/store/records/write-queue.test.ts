/** How writes are grouped into commits. commit.test.ts of LMDB has what becomes of each write. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryContents } from '../../../test/helpers/memory-store.js'
import { bytesOf } from '../../../test/helpers/store-samples.js'
import { mebibyte, nextTurn } from '../../base/index.js'
import { WriteQueue } from './write-queue.js'

/** A queue of writes that put one record each. */
function createQueue() {
  /** The writes of each commit. */
  const commits: number[] = []
  const queue = new WriteQueue({
    databases: createMemoryContents(),
    names: ['weights'],
    batchBytesMax: mebibyte,
    commit: async (changes) => {
      commits.push(changes.length)
      await nextTurn()
    },
  })
  let count = 0
  const write = (isCycle = false): Promise<unknown> => {
    const key = ++count
    return queue.write(1, () => queue.databases.weights.put(key, bytesOf(1)), isCycle)
  }
  return { queue, write, commits }
}

/** A client that writes again one turn after each answer. */
async function client(write: () => Promise<unknown>, writes: number): Promise<void> {
  for (let i = 0; i < writes; i++) {
    await write()
    await nextTurn()
  }
}

test('writers that had their answers together are committed together again', async () => {
  // A turn of a busy machine may take longer than the queue waits.
  const now = vi.spyOn(performance, 'now').mockReturnValue(0)
  onTestFinished(() => now.mockRestore())
  const { write, commits } = createQueue()
  await Promise.all(Array.from({ length: 4 }, () => client(write, 5)))
  expect(commits).toEqual([4, 4, 4, 4, 4])
})

test('a writer that remains alone waits once', async () => {
  const { write, commits } = createQueue()
  await Promise.all(Array.from({ length: 4 }, () => client(write, 1)))
  await client(write, 1)
  const last = write()
  await Promise.resolve()
  await Promise.resolve()
  expect(commits).toEqual([4, 1, 1])
  await last
})

test('a cycle does not wait for other writers', async () => {
  const { write, commits } = createQueue()
  await Promise.all(Array.from({ length: 4 }, () => client(write, 1)))
  const cycle = write(true)
  await Promise.resolve()
  await Promise.resolve()
  expect(commits).toEqual([4, 1])
  await cycle
})

test('writes are counted until they are settled', async () => {
  const { queue, write } = createQueue()
  const writes = [write(), write(), write()]
  expect(queue.count).toBe(3)
  await Promise.all(writes)
  await queue.idle()
  expect(queue.count).toBe(0)
})
