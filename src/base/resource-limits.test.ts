/** The limits of a process that a shell started with others. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fileSizeProblem, resourceLimit } from './resource-limits.js'

/** Evaluates an expression in a process with these limits. */
function evaluated(limits: string, expression: string): string {
  const url = new URL('./resource-limits.ts', import.meta.url).href
  const hooks = new URL('../../bench/typescript.mjs', import.meta.url).href
  const code = `import { fileSizeProblem, resourceLimit } from '${url}'; console.log(${expression})`
  const { stdout, stderr } = spawnSync(
    'sh',
    [
      '-c',
      `${limits}; exec "$0" --import "$1" --input-type=module --eval "$2"`,
      process.execPath,
      hooks,
      code,
    ],
    { encoding: 'utf8' },
  )
  return stdout.trim() || stderr
}

test.skipIf(!existsSync('/proc/self/limits'))('the limits of the process are read, in their units', () => {
  expect(evaluated('ulimit -n 300; ulimit -f 2048', "resourceLimit('Max open files')")).toBe('300')
  expect(evaluated('ulimit -f 2048', "resourceLimit('Max file size')")).toBe(String(2048 * 512))
  expect(evaluated('ulimit -f unlimited', "resourceLimit('Max file size')")).toBe('Infinity')
})

test.skipIf(!existsSync('/proc/self/limits'))(
  'a file may be as large as the limit, and not a byte larger',
  () => {
    const bytesMax = 2048 * 512
    const problem = (bytes: number): string => evaluated('ulimit -f 2048', `fileSizeProblem(${bytes})`)
    expect(problem(bytesMax)).toBe('null')
    expect(problem(bytesMax + 1)).toContain(`at most ${bytesMax} bytes (ulimit -f, LimitFSIZE)`)
  },
)

test('a process without limits has none', () => {
  expect(resourceLimit('Max open files')).toBeGreaterThan(0)
  expect(fileSizeProblem(1)).toBeNull()
})
