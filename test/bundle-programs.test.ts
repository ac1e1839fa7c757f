/** The two C programs of the bundle: bin/understudy, in a bundle whose program reports how it was started, and bin/flock. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { nodeFlags } from '../src/base/index.js'
import { projectDir } from './helpers/project.js'
import { scratchDir } from './helpers/servers.js'

const hasCompiler = spawnSync('cc', ['--version']).status === 0

let bundle: string
beforeEach(() => {
  bundle = join(scratchDir(), 'a bundle')
  for (const folder of ['bin', 'dist/cli']) mkdirSync(join(bundle, folder), { recursive: true })
})

function compile(source: string, program: string): string {
  const path = join(bundle, 'bin', program)
  const { status, stderr } = spawnSync('cc', ['-o', path, join(projectDir, 'scripts', source)])
  expect(status, stderr.toString()).toBe(0)
  return path
}

describe.skipIf(!hasCompiler || process.platform !== 'linux')('bin/understudy of the bundle', () => {
  let launcher: string
  beforeEach(() => {
    launcher = compile('bundle-launcher.c', 'understudy')
    symlinkSync(process.execPath, join(bundle, 'bin/node'))
    const program = `console.log(JSON.stringify({
      args: process.argv.slice(2), flags: process.execArgv, file: process.argv[1], cwd: process.cwd(), pid: process.pid, path: process.env.PATH }))`
    writeFileSync(join(bundle, 'dist/cli/main.js'), program)
  })

  function launch(path = launcher, args: string[] = [], options: { env?: object; argv0?: string } = {}) {
    const env = (options.env ?? {}) as NodeJS.ProcessEnv
    return spawnSync(path, args, { cwd: bundle, encoding: 'utf8', ...options, env })
  }

  test('runs the program with its arguments, in the same process, without any environment', () => {
    const { stdout, pid } = launch(launcher, ['serve', '--host', 'a b', ''], { argv0: 'any text' })
    const file = join(bundle, 'dist/cli/main.js')
    const args = ['serve', '--host', 'a b', '']
    expect(JSON.parse(stdout)).toMatchObject({ args, flags: nodeFlags, file, cwd: bundle, pid })
  })

  test('adds the programs of the bundle to the end of the PATH', () => {
    const pathOf = (env: object): unknown =>
      (JSON.parse(launch(launcher, [], { env }).stdout) as { path: string }).path
    const bin = join(bundle, 'bin')
    expect([{}, { PATH: '' }, { PATH: '/usr/bin:/bin' }].map(pathOf)).toEqual([
      bin,
      bin,
      `/usr/bin:/bin:${bin}`,
    ])
  })

  test('finds the bundle through absolute and relative symlinks, even of its directory', () => {
    const links = scratchDir()
    symlinkSync(bundle, join(links, 'current'))
    symlinkSync(join(links, 'current/bin/understudy'), join(links, 'first'))
    symlinkSync('first', join(links, 'second'))
    expect(JSON.parse(launch(join(links, 'second'), ['x']).stdout)).toMatchObject({ args: ['x'] })
  })

  test('a limit of address space is an error of one line, and a server needs more than other commands', () => {
    const limited = (kibibytes: number, command: string) =>
      launch('/bin/sh', ['-c', `ulimit -v ${kibibytes}; exec '${launcher}' ${command}`])
    for (const [kibibytes, command, gibibytes] of [
      [600_000, 'verify', 32],
      [40_000_000, 'serve', 1088],
      [40_000_000, 'demo', 1088],
    ] as const) {
      const { status, stderr } = limited(kibibytes, command)
      expect(stderr).toBe(
        `understudy: the address space is limited to ${kibibytes} KiB, and ${gibibytes} GiB are needed; ` +
          'run it without the limit: ulimit -v unlimited\n',
      )
      expect(status).toBe(1)
    }
    expect(limited(40_000_000, 'verify').status).toBe(0)
  })

  test('a bundle without its Node is an error that names the file', () => {
    rmSync(join(bundle, 'bin/node'))
    const { status, stderr } = launch()
    expect(stderr).toBe(`understudy: ${join(bundle, 'bin/node')}: No such file or directory\n`)
    expect(status).toBe(1)
  })
})

describe.skipIf(!hasCompiler || process.platform !== 'linux')('bin/flock of the bundle', () => {
  test('locks the open file that it inherits, for as long as somebody has it open', () => {
    const flock = compile('bundle-flock.c', 'flock')
    const file = join(bundle, 'file')
    const open = [0, 1].map(() => openSync(file, 'w'))
    const lock = (fd = 0) =>
      spawnSync(flock, ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] }).status
    expect([lock(open[0]), lock(open[1]), lock(open[0])]).toEqual([0, 1, 0])
    closeSync(open[0] ?? 0)
    expect(lock(open[1])).toBe(0)
    closeSync(open[1] ?? 0)
  })

  test.each([[[]], [['-x', '-n', 'x']], [['-n', '-x', '3']], [['-x', '-n', '-1']]])('refuses %j', (args) => {
    expect(spawnSync(compile('bundle-flock.c', 'flock'), args).status).toBe(64)
  })

  test('a file that is not open is a failure, not a lock', () => {
    expect(spawnSync(compile('bundle-flock.c', 'flock'), ['-x', '-n', '9']).status).toBe(71)
  })
})
