/**
 * Staged databases against a plain copy: within a write all reads see its changes, outside of it none, and a write that throws
 * leaves nothing behind.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMemoryContents, type MemoryContents } from '../../../test/helpers/memory-store.js'
import { bytesOf } from '../../../test/helpers/store-samples.js'
import { applyChanges } from './changes.js'
import type { Databases } from './databases.js'
import { StagedDatabases } from './staged-databases.js'

const step = fc.record({
  kind: fc.constantFrom('cycles' as const, 'outcomes' as const),
  key: fc.nat(6),
  /** null: remove. */
  value: fc.option(fc.nat(255)),
})
const writes = fc.array(fc.record({ steps: fc.array(step, { maxLength: 6 }), throws: fc.boolean() }), {
  maxLength: 6,
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

function apply(databases: Databases, { kind, key, value }: Step): void {
  if (kind === 'cycles') {
    if (value === null) databases.cycles.remove(key)
    else databases.cycles.put(key, bytesOf(value))
  } else if (value === null) databases.outcomes.remove(bytesOf(key, 255 - key))
  else databases.outcomes.put(bytesOf(key, 255 - key), bytesOf(value))
}

/** All that can be read. */
function contentsOf(databases: Databases): unknown {
  const { cycles, outcomes } = databases
  const ranges = [
    {},
    { start: 2 },
    { end: 4 },
    { start: 1, end: 5, limit: 2 },
    { reverse: true },
    { reverse: true, limit: 1 },
  ]
  const keys = [0, 1, 2, 3, 4, 5, 6]
  return {
    ranges: ranges.map((range) => [...cycles.getRange(range)].map(({ key, value }) => [key, ...value])),
    keys: ranges.map((range) => [...cycles.getKeys(range)]),
    outcomes: [...outcomes.getRange({ start: bytesOf(1) })].map(({ key, value }) => [...key, ...value]),
    exists: keys.map((key) => cycles.doesExist(key)),
    values: keys.map((key) => [...(cycles.getBinary(key) ?? [])]),
  }
}

test('reads within a write are those of a database that has its changes, and the changes lead there', () => {
  fc.assert(
    fc.property(fc.array(writes, { maxLength: 4 }), (batches) => {
      const view: MemoryContents = createMemoryContents()
      const plain: MemoryContents = createMemoryContents()
      const staged = new StagedDatabases(view, ['cycles', 'outcomes'])
      for (const batch of batches) {
        const before = contentsOf(view)
        for (const { steps, throws } of batch) {
          const write = (): void => {
            for (const each of steps) {
              apply(staged.databases, each)
              if (throws) continue
              apply(plain, each)
              expect(contentsOf(staged.databases)).toEqual(contentsOf(plain))
            }
            if (throws) throw new Error('refused')
          }
          if (throws) expect(() => staged.apply(write)).toThrow('refused')
          else staged.apply(write)
          expect(contentsOf(staged.databases)).toEqual(before)
        }
        applyChanges(view, staged.take())
        expect(contentsOf(view)).toEqual(contentsOf(plain))
      }
    }),
  )
})
