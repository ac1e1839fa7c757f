/** How writes are grouped into commits. What a commit does with them is tested with LMDB, in writer.test.ts. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { mebibyte, nextTurn } from '../../base/index.js'
import { WriteQueue, type Write } from './write-queue.js'

class RecordedQueue extends WriteQueue {
  /** The writes of each commit. */
  readonly commits: number[] = []

  constructor() {
    super(mebibyte)
  }

  protected override async commit(batch: readonly Write[]): Promise<void> {
    this.commits.push(batch.length)
    await nextTurn()
    for (const write of batch) this.resolve(write, write.apply())
  }
}

/** A client that writes again one turn after each answer. */
async function client(queue: WriteQueue, writes: number): Promise<void> {
  for (let i = 0; i < writes; i++) {
    await queue.write(1, () => undefined)
    await nextTurn()
  }
}

test('writers that had their answers together are committed together again', async () => {
  // A turn of a busy machine may take longer than the queue waits.
  const now = vi.spyOn(performance, 'now').mockReturnValue(0)
  onTestFinished(() => now.mockRestore())
  const queue = new RecordedQueue()
  await Promise.all(Array.from({ length: 4 }, () => client(queue, 5)))
  expect(queue.commits).toEqual([4, 4, 4, 4, 4])
})

test('a writer that remains alone waits once', async () => {
  const queue = new RecordedQueue()
  await Promise.all(Array.from({ length: 4 }, () => client(queue, 1)))
  await client(queue, 1)
  const write = queue.write(1, () => undefined)
  await Promise.resolve()
  await Promise.resolve()
  expect(queue.commits).toEqual([4, 1, 1])
  await write
})

test('a cycle does not wait for other writers', async () => {
  const queue = new RecordedQueue()
  await Promise.all(Array.from({ length: 4 }, () => client(queue, 1)))
  const cycle = queue.write(1, () => undefined, true)
  await Promise.resolve()
  await Promise.resolve()
  expect(queue.commits).toEqual([4, 1])
  await cycle
})

test('writes are counted until they are settled', async () => {
  const queue = new RecordedQueue()
  const writes = [1, 2, 3].map((value) => queue.write(1, () => value))
  expect(queue.count).toBe(3)
  await Promise.all(writes)
  await queue.idle()
  expect(queue.count).toBe(0)
})
