/** What a child process gets from the process that starts it: the descriptors that its start names, and no secrets. */
import { spawnSync } from 'node:child_process'
import { openSync, closeSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { builtFile } from './index.js'
import { areDescriptorsPrivate, publicEnvironment, startProcess } from './processes.js'

const built = builtFile('base/index.js').href

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
    const expected = ['0', '1', '2', '3']
    expect(printed(`startProcess(${list}, { stdio: 'inherit' })`).split('\n').slice(0, -1)).toEqual(expected)
    const program = `startProgram(${list}, { encoding: 'buffer' }, (_, stdout) => process.stdout.write(stdout))`
    expect(printed(program).split('\n').slice(0, -1)).toEqual(expected)
  },
)

test.runIf(process.platform === 'linux')('a child gets the descriptors that its start names', () => {
  const start = `startProcess(${list}, { stdio: ['inherit', 'inherit', 'inherit', 'ignore', ${inherited}] })`
  expect(printed(start).split('\n')).toContain('4')
})

test.runIf(process.platform === 'linux')('flock inherits the file that it locks, and no other', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-flock-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  // In place of flock(1). What it writes to stderr becomes the message of the error.
  writeFileSync(join(directory, 'flock'), '#!/bin/sh\nls -l /proc/self/fd >&2\nexit 2\n', { mode: 0o755 })
  const code = `
    const { openLocked } = await import(process.argv[1])
    const { openSync } = await import('node:fs')
    openSync(process.argv[2])
    await openLocked(process.argv[3]).catch(({ message }) => console.log(message))`
  const files = [join(directory, 'flock'), directory]
  const { stdout } = startProcess(process.execPath, ['--input-type=module', '-e', code, built, ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PATH: `${directory}:${process.env['PATH']}` },
  })
  const lines = (await text(stdout!)).split('\n')
  const descriptors = lines.flatMap((line) => / (\d+) -> (.*)$/.exec(line)?.slice(1, 3).join(' ') ?? [])
  expect(descriptors.map((line) => line.split(' ')[0])).toEqual(['0', '1', '2', '3', '4'])
  expect(descriptors[3]).toBe(`3 ${directory}`)
  // The directory that `ls` lists.
  expect(descriptors[4]).toMatch(/^4 \/proc\/\d+\/fd$/)
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
