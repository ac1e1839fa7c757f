/**
 * Arenas: memory serves a later cycle exactly when its last holder has released it.
 */
import { expect, test } from 'vitest'
import { ArenaPool } from './arena.js'

test('columns of one arena do not overlap, even when the block is too small for them', () => {
  const arena = new ArenaPool().acquire()
  const columns = Array.from({ length: 40 }, (_, i) => arena.float64(1001).fill(i))
  columns.forEach((column, i) => expect(column.every((value) => value === i)).toBe(true))
})

test('the next arena reuses the memory of the released one, in one block of the total size', () => {
  const arenas = new ArenaPool()
  const first = arenas.acquire()
  first.float64(100_000)
  first.release()
  const second = arenas.acquire()
  const [a, b] = [second.float64(50_000), second.float64(50_000)]
  expect(a.buffer).toBe(b.buffer)
  second.release()
  expect(arenas.acquire().float64(1).buffer).toBe(a.buffer)
})

test('memory that another holder has retained is not used again', () => {
  const arenas = new ArenaPool()
  const arena = arenas.acquire()
  arena.retain()
  arena.release()
  expect(arenas.acquire()).not.toBe(arena)
  arena.release()
  expect(arenas.acquire()).toBe(arena)
})

test('a second release by one holder fails an assertion', () => {
  const arena = new ArenaPool().acquire()
  arena.release()
  expect(() => arena.release()).toThrow('broken invariant')
})
