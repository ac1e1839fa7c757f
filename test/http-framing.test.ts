/**
 * The shim of src/server/native, which has no JavaScript in it: the C++ tests of its parts, built with sanitizers.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/server-process.js'
import { scratchDir } from './helpers/servers.js'

const compiler = process.env.CXX ?? 'g++'
const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']
const missing = spawnSync(compiler, ['--version']).error !== undefined

test.skipIf(missing).each([
  ['where a request ends does not depend on how its bytes arrive', 'http_framing'],
  [
    'as many connections of one address may enter as may, and only who is there is remembered',
    'connection_counts',
  ],
])(
  `%s${missing ? ` (skipped: no ${compiler})` : ''}`,
  (_, part) => {
    const program = join(scratchDir(), part)
    const sources = [`test/native/${part}_test.cc`, `src/server/native/${part}.cc`]
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
    // Compilers with sanitizers take their time: 37 s on two cores that others keep busy.
  },
  180_000,
)
