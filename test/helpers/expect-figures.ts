/**
 * Compares the figures of a report with those of the oracle.
 */
import { expect } from 'vitest'

/** Members that the oracle leaves out, as paths without indexes: other tests have them. */
const withoutOracle = new Set(['.window.last_hash', '.outcomes', '.differences.more_days'])

/** All members of `actual` are in `expected`, numbers to 1e-9. */
export function expectFigures(actual: unknown, expected: unknown, path = ''): void {
  if (typeof expected === 'number' && typeof actual === 'number')
    expect(Math.abs(actual - expected), path).toBeLessThanOrEqual(1e-9)
  else if (isObject(expected) && isObject(actual)) {
    for (const name of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
      const member = Array.isArray(actual) ? path : `${path}.${name}`
      if (withoutOracle.has(member)) continue
      expect(name in expected, `${path}.${name} in the oracle`).toBe(true)
      expectFigures(actual[name], expected[name], member)
    }
  } else expect(actual, path).toEqual(expected)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object'
}
