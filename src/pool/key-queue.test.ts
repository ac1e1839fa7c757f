/** The queue of keys: in order, and in rows that are used again. */
import { expect, test } from 'vitest'
import { KeyQueue } from './key-queue.js'

test('keys leave in the order that they came, and rows are used again for ever', () => {
  const queue = new KeyQueue()
  const rows: number[] = []
  const countMax = 5000
  const { bytes } = queue
  for (let postNo = 0; postNo < 8 * countMax; postNo++) {
    rows.push(queue.add(3, postNo))
    if (rows.length <= countMax) continue
    const oldest = rows.shift() as number
    expect(queue.oldest).toBe(oldest)
    expect(queue.holds(oldest, 3, 0, postNo - countMax)).toBe(true)
    queue.dropOldest()
  }
  // Pages of 4096 rows: 5,000 keys lie in three at most.
  expect(Math.max(...rows)).toBeLessThan(3 * 4096)
  rows.forEach(() => {
    queue.dropOldest()
  })
  expect(queue.bytes).toBeLessThanOrEqual(bytes + 12 * 4096)
})
