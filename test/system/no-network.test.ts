/**
 * The program opens no connection of its own and writes nothing outside its directories. ONNX Runtime sends telemetry
 * through a database in the home directory, unless it is disabled or CI is set: the directory must stay empty.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)

test('a process that runs a model leaves the home directory empty', async () => {
  const home = await mkdtemp(join(tmpdir(), 'understudy-home-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const env = { HOME: home, PATH: process.env.PATH }
  const { stdout } = await run('bin/understudy', ['models', 'verify', 'transport-test-1'], { env })
  expect(stdout).toContain('transport-test-1')
  expect(await readdir(home)).toEqual([])
})
