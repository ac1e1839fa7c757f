import { expect, test } from 'vitest'
import '../../test/helpers/poisoned-memory.js'
import type { StoredCycle } from '../store/index.js'
import { scoredBefore, type ScoredCycles } from './scored-before.js'

/** A store whose cycles were scored by `versions`, one each, at the positions from `first` on. */
function storeOf(
  versions: readonly string[],
  first = 1,
): ScoredCycles & { readonly readCount: () => number } {
  let readCount = 0
  const cycles = versions.map(
    (modelVersion, index) => ({ position: first + index, modelVersion }) as StoredCycle,
  )
  return {
    closed: false,
    lastCycle: () => cycles.at(-1),
    *tail(position) {
      for (const cycle of cycles.slice(Math.max(0, position - first))) {
        readCount++
        yield cycle
      }
    },
    expiry: { firstPosition: () => first },
    readCount: () => readCount,
  }
}

const repeat = (version: string, count: number): string[] => new Array<string>(count).fill(version)

test('the newest version other than the given one is found, however far back', async () => {
  expect(await scoredBefore(storeOf([]), new Set(['b']))).toBeNull()
  expect(await scoredBefore(storeOf(repeat('b', 450)), new Set(['b']))).toBeNull()
  expect(await scoredBefore(storeOf(['z', 'a', 'b']), new Set(['b']))).toBe('a')
  expect(await scoredBefore(storeOf(['z', 'a', ...repeat('b', 450)], 77), new Set(['b']))).toBe('a')
  expect(await scoredBefore(storeOf(['a', ...repeat('b', 199), 'c']), new Set(['b']))).toBe('c')
  expect(await scoredBefore(storeOf(['z', 'a', 'b']), new Set(['b']), 1)).toBe('a')
  expect(await scoredBefore(storeOf(['z', 'a', 'b']), new Set(['b']), 2)).toBeNull()
  expect(await scoredBefore(storeOf(['z', 'a', 'b']), new Set(['a', 'b']))).toBe('z')
  expect(await scoredBefore(storeOf(['z', 'a', 'b']), new Set())).toBe('b')
})

test('each stored cycle is read at most once, and one more per step', async () => {
  const store = storeOf(repeat('b', 10_000))
  expect(await scoredBefore(store, new Set(['b']))).toBeNull()
  expect(store.readCount()).toBeLessThan(10_100)
})
