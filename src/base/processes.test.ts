/** What a child process gets from the process that starts it: the descriptors that its start names, and no secrets. */
import { spawnSync } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { devNull } from 'node:os'
import { expect, test } from 'vitest'
import { areDescriptorsPrivate, publicEnvironment } from './processes.js'

const built = new URL('../../dist/base/index.js', import.meta.url).href

/** Node itself marks the lowest descriptors that it inherits, so a higher one. */
const inherited = 60

/** What `start`, code that starts a program by `args`, prints in a process that has the descriptor 60 without a mark. */
function printed(start: string): string {
  const code = `
    const { startProcess, startProgram } = await import(process.argv[1])
    const { spawn } = await import('node:child_process')
    ${start}`
  const file = openSync(devNull, 'r')
  try {
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code, built], {
      encoding: 'utf8',
      stdio: [
        'ignore',
        'pipe',
        'inherit',
        ...Array.from({ length: inherited - 3 }, () => 'ignore' as const),
        file,
      ],
    })
    return stdout
  } finally {
    closeSync(file)
  }
}

const list = `'ls', ['/proc/self/fd']`

test.runIf(process.platform === 'linux')(
  'a child inherits no descriptor that its start does not name',
  () => {
    expect(areDescriptorsPrivate()).toBe(true)
    // Otherwise this test shows nothing.
    expect(printed(`spawn(${list}, { stdio: 'inherit' })`).split('\n')).toContain(String(inherited))
    const own = ['0', '1', '2', '3']
    expect(printed(`startProcess(${list}, { stdio: 'inherit' })`).split('\n').slice(0, -1)).toEqual(own)
    const program = `startProgram(${list}, { encoding: 'buffer' }, (_, stdout) => process.stdout.write(stdout))`
    expect(printed(program).split('\n').slice(0, -1)).toEqual(own)
  },
)

test.runIf(process.platform === 'linux')('a child gets the descriptors that its start names', () => {
  const start = `startProcess(${list}, { stdio: ['inherit', 'inherit', 'inherit', 'ignore', ${inherited}] })`
  expect(printed(start).split('\n')).toContain('4')
})

test('settings, tokens, passwords and flags of Node are not passed on, and everything else is', () => {
  const env = {
    PATH: '/bin',
    CUDA_VISIBLE_DEVICES: '0',
    LD_LIBRARY_PATH: '/lib',
    PAGER: 'less',
    HOME: '/root',
    UNDERSTUDY_API_KEYS: 'a',
    UNDERSTUDY_ADMIN_TOKEN: 'b',
    UNDERSTUDY_JOURNAL: 'c',
    PGPASSWORD: 'd',
    PGPASSFILE: 'e',
    OTEL_EXPORTER_OTLP_HEADERS: 'f',
    NODE_OPTIONS: '--inspect',
  }
  expect(Object.keys(publicEnvironment(env))).toEqual([
    ...['PATH', 'CUDA_VISIBLE_DEVICES', 'LD_LIBRARY_PATH', 'PAGER', 'HOME'],
  ])
})
