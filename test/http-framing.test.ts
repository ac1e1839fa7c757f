/**
 * The framing of src/server/native, which has no JavaScript in it: its C++ test, built with sanitizers.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/server-process.js'
import { scratchDir } from './helpers/servers.js'

const compiler = process.env.CXX ?? 'g++'
const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']
const missing = spawnSync(compiler, ['--version']).error !== undefined

test.skipIf(missing)(
  `where a request ends does not depend on how its bytes arrive${missing ? ` (skipped: no ${compiler})` : ''}`,
  () => {
    const program = join(scratchDir(), 'http-framing-test')
    const sources = ['test/native/http_framing_test.cc', 'src/server/native/http_framing.cc']
    const warnings = ['-Wall', '-Wextra', '-Werror']
    const built = spawnSync(
      compiler,
      ['-std=c++17', '-O1', '-g', ...warnings, ...sanitizers, '-o', program, ...sources],
      { cwd: projectDir, encoding: 'utf8' },
    )
    expect(built.stderr).toBe('')
    const { status, stderr } = spawnSync(program, { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  },
)
