/** The file that keeps a fallback across restarts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FallbackFile } from './fallback-file.js'

test('a fallback is read as it was saved, and none from a file that is damaged or removed', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'understudy-fallback-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const file = new FallbackFile(dataDir)
  const fallback = {
    version: 'a',
    failed: 'b',
    cause: 'cycles' as const,
    stamp: '7',
    isTriedAgain: true,
    problem: 'post g/1',
    atMs: 5,
  }
  await file.save(fallback)
  expect(await file.read()).toEqual(fallback)
  await file.save(null)
  expect(await file.read()).toBeNull()
  writeFileSync(join(dataDir, 'models-fallback.json'), '{"version":"a"')
  expect(await file.read()).toBeNull()
})
