/**
 * Batches of rows of different lengths.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planBatches } from './batches.js'

test('every row is in one batch, and batches are bounded and ascending', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 80 }),
      fc.integer({ min: 1, max: 1000 }),
      (lengths, tokensMax) => {
        const batches = planBatches([...lengths.keys()], (row) => lengths[row] ?? 0, tokensMax)
        const order = batches.flat()
        expect([...order].sort((a, b) => a - b)).toEqual([...lengths.keys()])
        const sorted = order.map((row) => lengths[row] ?? 0)
        expect(sorted).toEqual([...sorted].sort((a, b) => a - b))
        for (const rows of batches) {
          const length = Math.max(...rows.map((row) => lengths[row] ?? 0))
          expect(rows.length === 1 || rows.length * length <= tokensMax).toBe(true)
        }
      },
    ),
  )
})

test('a batch takes as many rows as fit', () => {
  expect(planBatches([0, 1, 2, 3, 4], () => 4, 8)).toEqual([[0, 1], [2, 3], [4]])
})
