import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { removeCopies } from './package-files.js'

test('old copies that cannot be removed are a warning, and keep no model from being loaded', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'understudy-copies-'))
  const file = join(scratch, 'file')
  writeFileSync(file, '')
  const warnings: string[] = []
  await removeCopies(join(file, 'copies'), { ...silentLog, warn: (_, message) => warnings.push(message) })
  expect(warnings).toEqual(['old copies of model files cannot be removed'])
  rmSync(scratch, { recursive: true })
})
