/** What `npm run build` and `npm start` compile, in a small project whose compiler copies the sources. */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { projectDir } from './helpers/server-process.js'
import { scratchDir } from './helpers/servers.js'

let project: string
const write = (file: string, text: string, mode = 0o644): void =>
  writeFileSync(join(project, file), text, { mode })
const built = (): string => readFileSync(join(project, 'dist/a.ts'), 'utf8')

beforeEach(() => {
  project = scratchDir()
  for (const directory of [
    'scripts/client-package',
    'src/deep',
    'src/base/native',
    'src/codec/native',
    'src/model/image/native',
  ])
    mkdirSync(join(project, directory), { recursive: true })
  for (const script of ['build', 'build-page', 'build-native', 'check-node', 'patch-lmdb', 'source-hash'])
    copyFileSync(join(projectDir, `scripts/${script}.mjs`), join(project, `scripts/${script}.mjs`))
  for (const file of ['package.json', 'package-lock.json', 'tsconfig.json']) write(file, '{}')
  // The generator of the decoder's table reads what the real compiler writes.
  write('scripts/decode-table.mjs', '')
  for (const name of ['build-client.mjs', 'client-package/README.md', 'client-package/typia.d.ts'])
    write(`scripts/${name}`, '')
  for (const name of ['build', 'client']) write(`tsconfig.${name}.json`, '{}')
  write('src/a.ts', 'first')
  write('src/deep/b.ts', 'deep')
  write('src/codec/native/addon.cc', addonSource('first'))
  write('src/codec/native/text.h', '')
  const sources = ['node_modules/simdjson/simdjson/src/simdjson.cpp', 'src/codec/native/addon.cc']
  write('binding.gyp', JSON.stringify({ targets: [{ target_name: 'understudy_codec', sources }] }, null, 1))
  // The last argument is the directory of the output; a source that contains the marker does not compile.
  const compiler = '#!/bin/sh\ngrep -q broken src/a.ts && exit 2\nfor out; do :; done\ncp -r src "$out"\n'
  write('scripts/pinned', compiler, 0o755)
})

const withoutNpm: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)),
)

function addonSource(value: string): string {
  return `#include <node_api.h>
    NAPI_MODULE_INIT() {
      napi_value value;
      napi_create_string_utf8(env, "${value}", NAPI_AUTO_LENGTH, &value);
      return value;
    }`
}

function build(): { status: number | null; compiled: boolean } {
  const { status, stdout } = spawnSync(process.execPath, [join(project, 'scripts/build.mjs')], {
    encoding: 'utf8',
  })
  return { status, compiled: stdout.includes('compiling') }
}

test('what is up to date is not compiled again', () => {
  expect([build(), build()]).toEqual([
    { status: 0, compiled: true },
    { status: 0, compiled: false },
  ])
})

test.each([
  'src/a.ts',
  'src/deep/b.ts',
  'src/new.ts',
  'package-lock.json',
  'tsconfig.build.json',
  'scripts/client-package/README.md',
])('an edit of %s is compiled', (file) => {
  build()
  write(file, 'second')
  expect(build()).toEqual({ status: 0, compiled: true })
})

test('an edit of a test is not compiled', () => {
  build()
  write('src/a.test.ts', 'test')
  expect(build().compiled).toBe(false)
})

test('a build that fails leaves the last one, and the next build compiles again', () => {
  build()
  write('src/a.ts', 'broken')
  expect(build()).toEqual({ status: 1, compiled: true })
  expect(built()).toBe('first')
  write('src/a.ts', 'second')
  build()
  expect(built()).toBe('second')
  expect(existsSync(join(project, 'dist/deep/b.ts'))).toBe(true)
})

test.each([['start', 'serve'], ['demo']])(
  'npm run %s compiles at its first start only',
  (script, command = script) => {
    const { scripts, engines } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as {
      scripts: object
      engines: object
    }
    write('package.json', JSON.stringify({ scripts, engines }))
    mkdirSync(join(project, 'bin'))
    write('bin/understudy', '#!/bin/sh\necho "runs $*"\n', 0o755)
    const outputs = Array.from(
      { length: 2 },
      () => spawnSync('npm', ['run', script], { cwd: project, encoding: 'utf8', env: withoutNpm }).stdout,
    )
    expect(outputs.map((output) => output.includes('compiling'))).toEqual([true, false])
    for (const output of outputs) expect(output).toMatch(new RegExp(`^runs ${command}$`, 'm'))
  },
)

describe('the native codec', () => {
  const addonFile = (): string => join(project, 'build/Release/understudy_codec.node')
  const simdjson = 'node_modules/simdjson/simdjson/src'

  /** A node-gyp that copies addon.cc to the place of the addon, or fails as a compiler does for a broken source. */
  const standIn = `
    const fs = require('node:fs')
    const source = fs.readFileSync('src/codec/native/addon.cc', 'utf8')
    console.log('  CXX(target) Release/obj.target/addon.o')
    if (source.includes('broken')) {
      console.error("addon.cc:1:1: error: 'broken' does not name a type")
      process.exit(2)
    }
    fs.mkdirSync('build/Release', { recursive: true })
    fs.writeFileSync('build/Release/understudy_codec.node', source)`

  function buildNative(
    args: string[] = [],
    env: NodeJS.ProcessEnv = { npm_config_node_gyp: 'node-gyp.cjs' },
  ) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(project, 'scripts/build-native.mjs'), ...args],
      { cwd: project, encoding: 'utf8', env: { ...withoutNpm, ...env } },
    )
    return { status, stdout, stderr, compiled: stdout.includes('compiling') }
  }

  beforeEach(() => {
    write('node-gyp.cjs', standIn)
    mkdirSync(join(project, simdjson), { recursive: true })
    write(join(simdjson, 'simdjson.cpp'), '')
  })

  test('a compilation that fails keeps the addon and prints the error of the compiler', () => {
    expect(buildNative().status).toBe(0)
    const working = readFileSync(addonFile(), 'utf8')
    write('src/codec/native/addon.cc', 'broken')
    const { status, stderr } = buildNative()
    expect(status).toBe(1)
    expect(stderr).toContain("not built: addon.cc:1:1: error: 'broken' does not name a type")
    expect(stderr).toContain('the one built from earlier sources stays in place')
    expect(readFileSync(addonFile(), 'utf8')).toBe(working)
  })

  test('without an addon, the message of a failure names the reference codec as the substitute', () => {
    write('src/codec/native/addon.cc', 'broken')
    expect(buildNative().stderr).toContain('the service will use the reference codec, which is slower')
  })

  test('an installation continues after a failure', () => {
    write('src/codec/native/addon.cc', 'broken')
    const { status, stderr } = buildNative([], {
      npm_config_node_gyp: 'node-gyp.cjs',
      npm_lifecycle_event: 'install',
    })
    expect([status, stderr.includes('not built')]).toEqual([0, true])
  })

  test.each([
    ['before npm ci', () => rmSync(join(project, simdjson), { recursive: true }), /run npm ci$/m],
    ['without npm', () => undefined, /node-gyp is not found; it is part of npm, which must be on PATH$/m],
  ])('by hand %s it reports what is missing', (_when, prepare, message) => {
    prepare()
    const { status, stderr } = buildNative([], { PATH: '/nowhere' })
    expect([status, stderr]).toEqual([1, expect.stringMatching(message)])
  })

  test('after an edit of a native source it is compiled again, once', () => {
    buildNative()
    expect(buildNative(['--if-changed']).compiled).toBe(false)
    for (const file of ['src/codec/native/text.h', 'src/codec/native/addon.cc', 'binding.gyp']) {
      write(file, `${readFileSync(join(project, file), 'utf8')} `)
      expect([buildNative(['--if-changed']).compiled, buildNative(['--if-changed']).compiled], file).toEqual([
        true,
        false,
      ])
    }
  })

  test('a compilation that failed is tried again', () => {
    buildNative()
    write('src/codec/native/addon.cc', 'broken')
    expect(buildNative(['--if-changed']).status).toBe(1)
    expect(buildNative(['--if-changed']).status).toBe(1)
  })

  test('without an addon, only a build by hand compiles it', () => {
    expect(buildNative(['--if-changed'])).toMatchObject({ status: 0, compiled: false, stderr: '' })
  })

  const tools = spawnSync('sh', [
    '-c',
    'command -v make && command -v python3 && command -v g++ && command -v npm',
  ])

  test.skipIf(tools.status !== 0)(
    'with the real compiler an addon survives an edit that does not compile',
    () => {
      const pinned = `node_modules/node-${process.platform}-${process.arch}`
      symlinkSync(join(projectDir, pinned), join(project, pinned))
      // The prefix of a user's own global packages is not where npm is.
      const env = { npm_config_prefix: join(project, 'global') }
      const { status, stderr } = buildNative([], env)
      expect([status, stderr]).toEqual([0, ''])
      const load = (): string =>
        spawnSync(process.execPath, ['-p', `require(${JSON.stringify(addonFile())})`], { encoding: 'utf8' })
          .stdout
      expect(load()).toBe('first\n')
      const { ino } = statSync(addonFile())
      write('src/codec/native/addon.cc', 'broken')
      expect(buildNative([], env)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('error') as string,
      })
      expect([load(), statSync(addonFile()).ino]).toEqual(['first\n', ino])
      write('src/codec/native/addon.cc', addonSource('second'))
      expect(buildNative(['--if-changed'], env).status).toBe(0)
      expect(load()).toBe('second\n')
    },
  )
})
