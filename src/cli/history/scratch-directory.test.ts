/** A scratch directory ends with its command. */
import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { withScratchDirectory } from './scratch-directory.js'

test('the directory is removed when the work ends, and when it fails', async () => {
  let used = ''
  const work = (directory: string): Promise<string> => {
    used = directory
    writeFileSync(join(directory, 'file'), 'x')
    return Promise.resolve('result')
  }
  expect(await withScratchDirectory('understudy-test-', work)).toBe('result')
  expect(used.startsWith(join(tmpdir(), 'understudy-test-'))).toBe(true)
  expect(existsSync(used)).toBe(false)
  const failing = withScratchDirectory('understudy-test-', async (directory) => {
    await work(directory)
    throw new Error('failed')
  })
  await expect(failing).rejects.toThrow('failed')
  expect(existsSync(used)).toBe(false)
})

// The process of the tests has handlers of its own, which would end it.
test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s removes the directory and is sent again',
  async (signal) => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
    try {
      await withScratchDirectory('understudy-test-', (directory) => {
        const [handler] = process.listeners(signal).slice(-1)
        handler?.(signal)
        expect(existsSync(directory)).toBe(false)
        expect(process.listeners(signal)).not.toContain(handler)
        return Promise.resolve()
      })
      expect(kill.mock.calls).toEqual([[process.pid, signal]])
    } finally {
      kill.mockRestore()
    }
  },
)

test('signals have their default effect again after the work', async () => {
  const before = process.listenerCount('SIGTERM')
  await withScratchDirectory('understudy-test-', () => Promise.resolve())
  expect(process.listenerCount('SIGTERM')).toBe(before)
})
