/**
 * Compares the figures of a report with those of the oracle.
 */
import { expect } from 'vitest'

/** The members of `expected` in `actual`, numbers to 1e-9. */
export function expectFigures(actual: unknown, expected: unknown, path = ''): void {
  if (typeof expected === 'number' && typeof actual === 'number')
    expect(Math.abs(actual - expected), path).toBeLessThanOrEqual(1e-9)
  else if (expected !== null && typeof expected === 'object') {
    if (Array.isArray(expected)) expect(actual, path).toHaveLength(expected.length)
    for (const [name, value] of Object.entries(expected))
      expectFigures((actual as Record<string, unknown>)[name], value, `${path}.${name}`)
  } else expect(actual, path).toEqual(expected)
}
