/** When the hashes of a cycle are computed. What they are is tested in the store's suite. */
import { expect, test, vi } from 'vitest'
import { cycleSample } from '../../../test/helpers/store-samples.js'
import { createMemoryStore } from '../memory/memory-store.js'

// The pause after which the hashes of a cycle are computed never ends.
vi.mock(import('node:timers/promises'), async (original) => ({
  ...(await original()),
  setTimeout: () => new Promise<never>(() => undefined),
}))

test('a cycle waits for no pause of the cycles before it, also when they were stored together', async () => {
  const store = createMemoryStore()
  for (const numbers of [[1], [2, 3], [4, 5, 6], [7]])
    await Promise.all(numbers.map((number) => store.appendCycle(cycleSample(number))))
  expect(store.lastCycle()?.position).toBe(7)
})
