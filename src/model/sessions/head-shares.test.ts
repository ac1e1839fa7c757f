/**
 * Shares: rounding is corrected, and larger errors are reported.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clampHeads } from './head-shares.js'

describe('a head', () => {
  test('beyond a limit by rounding is clamped, and other values are unchanged', () => {
    const values = Float32Array.of(1.0000001192092896, -1e-8, 0, 1, 0.25, -0)
    clampHeads(['p_up'], [values])
    expect([...values]).toEqual([1, 0, 0, 1, 0.25, -0])
  })

  test('outside 0 to 1 is reported with a remedy, and NaN without one', () => {
    expect(() => clampHeads(['p_up'], [Float32Array.of(0.5, 3)])).toThrow(
      /^head p_up: 1 of 2 rows .* row 1 with 3; let the graph end in a sigmoid, or set activation in the manifest/,
    )
    expect(() => clampHeads(['p_up'], [Float32Array.of(NaN)])).toThrow(/with NaN$/)
  })

  test('is named with its first bad row, after valid heads', () => {
    const columns = [Float32Array.of(0, 0.5, 1, 0), Float32Array.of(0, 7, 0.5, 9)]
    expect(() => clampHeads(['p_up', 'p_views'], columns)).toThrow(
      /^head p_views: 2 of 4 rows .* row 1 with 7/,
    )
  })

  test('is within 0 to 1, or the model fails', () => {
    const value = fc.oneof(
      fc.float({ min: Math.fround(-1e-5), max: Math.fround(1e-5) }),
      fc.float({ min: Math.fround(0.99999), max: Math.fround(1.00001) }),
      fc.float(),
    )
    fc.assert(
      fc.property(fc.array(value, { maxLength: 20 }), (list) => {
        const values = Float32Array.from(list)
        const isOutside = list.some((x) => !(Math.abs(x - 0.5) <= 0.5 + 1e-6))
        let failed = false
        try {
          clampHeads(['p_views'], [values])
        } catch {
          failed = true
        }
        expect(failed).toBe(isOutside)
        if (!failed) expect(values.every((x) => x >= 0 && x <= 1)).toBe(true)
      }),
    )
  })
})
