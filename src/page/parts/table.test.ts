/** The scale that the figures of a table share. */
import { expect, test } from 'vitest'
import { scaleOf } from './table.js'

test('the scale contains every mean, interval and the reference, with a margin of a twentieth', () => {
  const rows = [
    { mean: 0.5, ci95: [0.4, 0.6] as const },
    { mean: 0.9, ci95: null },
    { mean: null, ci95: null },
  ]
  expect(scaleOf(rows)).toEqual({ low: 0.4 - 0.025, high: 0.9 + 0.025 })
  const { low, high, reference } = scaleOf(rows, 0)
  expect([low, high, reference]).toEqual([-0.045, 0.945, 0].map((end) => expect.closeTo(end, 12) as number))
})

test('one value has a scale around it, and none that from 0 to 1', () => {
  expect(scaleOf([{ mean: 0.5, ci95: null }])).toEqual({ low: 0.45, high: 0.55 })
  expect(scaleOf([])).toEqual({ low: 0, high: 1 })
})
