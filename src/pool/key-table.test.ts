/** The table over a queue of keys: as keys come and go, each is found in its row and no other is. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashFactors, hashWords } from './key-index.js'
import { KeyQueue } from './key-queue.js'
import { KeyTable } from './key-table.js'

const keyCount = 400
const seed = 11

/**
 * Numbers whose hashes share the upper 8 bits and the lower 9: all want the same of up to 512 cells of one part. The
 * first ones differ in the upper half only.
 */
const colliding: readonly number[] = (() => {
  const factors = hashFactors(seed)
  const collides = (high: number, low: number) =>
    (hashWords(0, high, low, factors) & 0xff0001ff) >>> 0 === 0xff000000
  const found: number[] = []
  for (let high = 0; high < 2 ** 21; high++) if (collides(high, 7)) found.push(high * 2 ** 32 + 7)
  for (let low = 8; found.length < keyCount; low++) if (collides(0, low)) found.push(low)
  return found
})()

test('keys are found while they are there, though all of them want one cell', () => {
  expect(colliding[1]).toBeGreaterThan(2 ** 32)
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: keyCount }),
      fc.array(fc.nat(keyCount - 1), { maxLength: 1000 }),
      (count, toggled) => {
        const queue = new KeyQueue()
        const table = new KeyTable(queue, seed)
        const rows = new Map<number, number>()
        const toggle = (postNo: number) => {
          const row = rows.get(postNo) ?? queue.add(0, postNo)
          if (rows.delete(postNo)) table.remove(row)
          else {
            rows.set(postNo, row)
            table.add(row)
          }
        }
        const check = () => {
          expect(colliding.filter((postNo) => table.find(0, postNo) !== (rows.get(postNo) ?? -1))).toEqual([])
        }
        colliding.slice(0, count).forEach(toggle)
        check()
        toggled.forEach((i) => {
          toggle(colliding[i] as number)
        })
        check()
        Array.from(rows.keys()).forEach((postNo, i) => {
          toggle(postNo)
          if (i % 50 === 0) check()
        })
        check()
      },
    ),
    { numRuns: 100 },
  )
})

test('a table that grew and was emptied is as small as a new one', () => {
  const queue = new KeyQueue()
  const table = new KeyTable(queue, seed)
  const { bytes } = table
  const rows = Array.from({ length: 10_000 }, (_, i) => queue.add(i % 7, i))
  rows.forEach((row) => {
    table.add(row)
  })
  expect(table.bytes).toBeGreaterThan(5 * bytes)
  rows.forEach((row) => {
    table.remove(row)
  })
  expect(table.bytes).toBe(bytes)
})

test('numbers that want one cell under one seed are spread under another', () => {
  const other = hashFactors(seed + 1)
  const cells = new Set(
    colliding.map((postNo) => hashWords(0, Math.floor(postNo / 2 ** 32), postNo >>> 0, other) & 0xff0001ff),
  )
  expect(cells.size).toBeGreaterThan(keyCount * 0.9)
})
