/** The file that shows the states of the model versions to commands. */
import {
  lutimesSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readStatus, StatusFile, type LifecycleStatus } from './status-file.js'

const loading: LifecycleStatus = {
  versions: [{ version: 'm1', role: 'active', state: 'loading' }],
  failures: [],
}
const longAgo = new Date(Date.UTC(2020, 0))

let dataDir: string
let file: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'understudy-status-'))
  file = join(dataDir, 'models-status.json')
})
afterEach(() => rmSync(dataDir, { recursive: true }))

test('commands read the status that the server wrote, until the server removes it', async () => {
  const status = new StatusFile(dataDir, '/models')
  await status.write(loading)
  expect(await readStatus(dataDir)).toEqual({ modelsDir: '/models', ...loading })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await status.remove()
  expect(await readStatus(dataDir)).toBeNull()
})

test('a file that was not updated recently is ignored; the server also updates the time of an unchanged one', async () => {
  const status = new StatusFile(dataDir, '/models')
  await status.write(loading)
  utimesSync(file, longAgo, longAgo)
  expect(await readStatus(dataDir)).toBeNull()
  await status.write(loading)
  expect(await readStatus(dataDir)).toEqual({ modelsDir: '/models', ...loading })
})

test('a file that somebody has deleted is written again, after one failure', async () => {
  const status = new StatusFile(dataDir, '/models')
  await status.write(loading)
  rmSync(file)
  await expect(status.write(loading)).rejects.toThrow('ENOENT')
  await status.write(loading)
  expect(await readStatus(dataDir)).toEqual({ modelsDir: '/models', ...loading })
})

test('links are replaced and never followed, because root may serve a directory of another user', async () => {
  const target = join(dataDir, 'target')
  writeFileSync(target, 'unchanged')
  utimesSync(target, longAgo, longAgo)
  for (const name of [file, `${file}.partial`]) symlinkSync(target, name)
  const status = new StatusFile(dataDir, '/models')
  await status.write(loading)
  expect(await readStatus(dataDir)).toEqual({ modelsDir: '/models', ...loading })
  rmSync(file)
  symlinkSync(target, file)
  lutimesSync(file, longAgo, longAgo)
  await status.write(loading)
  expect([readFileSync(target, 'utf8'), statSync(target).mtime]).toEqual(['unchanged', longAgo])
})
