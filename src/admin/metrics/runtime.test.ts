import { afterEach, expect, test, vi } from 'vitest'
import { RuntimeFigures } from './runtime.js'

afterEach(() => void vi.useRealTimers())

test('each reader sees the largest delay of the event loop, until a minute without one is complete', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const figures = new RuntimeFigures(() => undefined)
  // Node measures from the first tick of its own timer on: a block before it is not seen.
  await vi.waitUntil(
    () => {
      const until = performance.now() + 300
      while (performance.now() < until);
      return figures.loopDelay.max > 0.2
    },
    { timeout: 10_000 },
  )
  for (let reader = 0; reader < 3; reader++) expect(figures.loopDelay.max).toBeGreaterThan(0.2)
  vi.advanceTimersByTime(60_000)
  for (let reader = 0; reader < 3; reader++) expect(figures.loopDelay.max).toBeGreaterThan(0.2)
  vi.advanceTimersByTime(60_000)
  expect(figures.loopDelay.max).toBeLessThan(0.2)
  figures.close()
})
