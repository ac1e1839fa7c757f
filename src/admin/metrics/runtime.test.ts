import { afterEach, expect, test, vi } from 'vitest'
import { createMetrics } from './registry.js'
import { RuntimeFigures } from './runtime.js'

afterEach(() => void vi.useRealTimers())

test('each reader sees the largest delay of the event loop, until a minute without one is complete', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const { metrics } = createMetrics()
  const figures = new RuntimeFigures(metrics)
  const read = async (): Promise<number> => {
    figures.collect()
    const { values } = await metrics.loopDelay.get()
    return values.find(({ labels }) => labels['percentile'] === 'max')?.value ?? NaN
  }
  // Node measures from the first tick of its own timer on: a block before it is not seen.
  await vi.waitUntil(
    () => {
      const until = performance.now() + 300
      while (performance.now() < until);
      return read().then((seconds) => seconds > 0.2)
    },
    { timeout: 10_000 },
  )
  for (let reader = 0; reader < 3; reader++) expect(await read()).toBeGreaterThan(0.2)
  vi.advanceTimersByTime(60_000)
  for (let reader = 0; reader < 3; reader++) expect(await read()).toBeGreaterThan(0.2)
  vi.advanceTimersByTime(60_000)
  expect(await read()).toBeLessThan(0.2)
  figures.close()
})
