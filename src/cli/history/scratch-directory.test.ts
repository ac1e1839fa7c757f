/** A scratch directory does not outlive its command, and a command removes what killed ones left behind. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { directoryLockName } from '../../store/index.js'
import { withScratchDirectory } from './scratch-directory.js'

let parent: string
beforeEach(() => (parent = mkdtempSync(join(tmpdir(), 'understudy-scratch-'))))
afterEach(() => rmSync(parent, { recursive: true }))

test('the directory is removed when the work ends, and when it fails', async () => {
  const work = (directory: string): Promise<string> => {
    writeFileSync(join(directory, 'file'), 'x')
    return Promise.resolve(directory)
  }
  const used = await withScratchDirectory('test-', work, parent)
  expect(used.startsWith(join(parent, 'test-'))).toBe(true)
  const failing = withScratchDirectory('test-', () => Promise.reject(new Error('failed')), parent)
  await expect(failing).rejects.toThrow('failed')
  expect(readdirSync(parent)).toEqual([])
})

test('leftovers with a lock that nobody holds are removed, and nothing else', async () => {
  for (const name of ['test-killed', 'test-new', 'other-killed']) {
    mkdirSync(join(parent, name))
    if (name !== 'test-new') writeFileSync(join(parent, name, directoryLockName), '')
  }
  await withScratchDirectory(
    'test-',
    async (held) => {
      await withScratchDirectory('test-', () => Promise.resolve(), parent)
      expect(existsSync(held)).toBe(true)
    },
    parent,
  )
  expect(readdirSync(parent).sort()).toEqual(['other-killed', 'test-new'])
})

test('signals have their default effect again after the work', async () => {
  const before = process.listenerCount('SIGTERM')
  await withScratchDirectory('test-', () => Promise.resolve(), parent)
  expect(process.listenerCount('SIGTERM')).toBe(before)
})
