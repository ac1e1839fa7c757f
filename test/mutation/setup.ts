/**
 * Properties as mutants need them. A mutant that fails one is killed: its smallest counterexample would cost more than all
 * other tests. Few runs, always the same ones: a score must not depend on chance.
 */
import type fastCheck from 'fast-check'
import { vi } from 'vitest'

const runsMax = 100

vi.mock('fast-check', async (importOriginal) => {
  const original = await importOriginal<{ default: typeof fastCheck }>()
  const fc = original.default
  fc.configureGlobal({ endOnFailure: true, seed: 1 })
  const assert = ((property: never, { numRuns = runsMax, ...rest }: { numRuns?: number } = {}) =>
    fc.assert(property, { ...rest, numRuns: Math.min(numRuns, runsMax) })) as typeof fc.assert
  return { ...original, default: { ...fc, assert } }
})
