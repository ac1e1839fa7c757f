/** The watch over the memory of a process. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { residentBytes, watchMemory } from './process-memory.js'

test.skipIf(process.platform !== 'linux')(
  'a process that holds more than its limit is reported once, with what it holds',
  async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const reports: number[] = []
    const within = vi.fn()
    const stops = [
      watchMemory(process.pid, 1, (bytes) => reports.push(bytes)),
      watchMemory(process.pid, Number.MAX_SAFE_INTEGER, within),
    ]
    vi.advanceTimersByTime(1000)
    while (reports.length === 0) await residentBytes(process.pid, 'VmRSS')
    vi.advanceTimersByTime(5000)
    for (let read = 0; read < 10; read++) await residentBytes(process.pid, 'VmRSS')
    for (const stop of stops) stop()
    expect([reports.length, within.mock.calls.length]).toEqual([1, 0])
    expect(reports[0]).toBeGreaterThan(1024 * 1024)
  },
)
