/** What `npm run build` and `npm start` compile, in a small project. Only its server is really compiled. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
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
import { projectDir } from './helpers/project.js'
import { scratchDir } from './helpers/servers.js'

let project: string
const write = (file: string, text: string, mode = 0o644): void =>
  writeFileSync(join(project, file), text, { mode })
const built = (file = 'a.js'): string => readFileSync(join(project, 'dist', file), 'utf8')

beforeEach(() => {
  project = scratchDir()
  for (const directory of [
    'scripts/client-package',
    'src/base/native',
    'src/codec/native',
    'src/client',
    'src/deep',
    'src/model/image/native',
    'src/page',
    'node_modules',
  ])
    mkdirSync(join(project, directory), { recursive: true })
  for (const name of [
    'build',
    'build-server',
    'build-native',
    'check-node',
    'page-config',
    'patch-lmdb',
    'source-hash',
  ])
    copyFileSync(join(projectDir, `scripts/${name}.mjs`), join(project, `scripts/${name}.mjs`))
  symlinkSync(join(projectDir, 'scripts/pinned'), join(project, 'scripts/pinned'))
  for (const name of ['typescript', 'typia', '@typia', '@types', 'undici-types'])
    symlinkSync(join(projectDir, 'node_modules', name), join(project, 'node_modules', name))
  for (const name of ['tsconfig.json', 'tsconfig.build.json'])
    copyFileSync(join(projectDir, name), join(project, name))
  const { scripts, engines } = JSON.parse(
    readFileSync(join(projectDir, 'package.json'), 'utf8'),
  ) as object & {
    scripts: object
    engines: object
  }
  write('package.json', JSON.stringify({ type: 'module', scripts, engines }))
  for (const file of ['package-lock.json', 'tsconfig.client.json']) write(file, '{}')
  // The generator of the decoder's table reads what the real contract compiles to.
  write('scripts/decode-table.mjs', '')
  const copies = `import { cpSync } from 'node:fs'\ncpSync('src/PART', process.argv[2], { recursive: true })\n`
  for (const part of ['client', 'page']) write(`scripts/build-${part}.mjs`, copies.replace('PART', part))
  for (const name of ['README.md', 'typia.d.ts']) write(`scripts/client-package/${name}`, '')
  write('src/a.ts', `export const a = 'first'\n`)
  write('src/deep/b.ts', `export const b = 'deep'\n`)
  write('src/shape.ts', `export interface Shape { a: number }\n`)
  write(
    'src/valid.ts',
    `import typia from 'typia'\nimport type { Shape } from './shape.js'\nexport const isValid = typia.createIs<Shape>()\n`,
  )
  write('src/client/index.ts', `export type { Shape } from '../shape.js'\n`)
  write('src/page/index.html', '<p>first</p>')
  write('src/codec/native/addon.cc', addonSource('first'))
  write('src/codec/native/text.h', '')
  const sources = ['node_modules/simdjson/simdjson/src/simdjson.cpp', 'src/codec/native/addon.cc']
  write('binding.gyp', JSON.stringify({ targets: [{ target_name: 'understudy_codec', sources }] }, null, 1))
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

function build(): { status: number | null; compiled: string; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(project, 'scripts/build.mjs')], {
    encoding: 'utf8',
    env: withoutNpm,
  })
  const [, compiled = 'nothing'] = /^compiling (.*)$/m.exec(stdout) ?? []
  return { status, compiled, output: stdout + stderr }
}

test('a first build compiles everything, a second one only what does not match its sources', () => {
  expect(build()).toMatchObject({ status: 0, compiled: 'the server, the client, the page' })
  for (const [file, compiled] of [
    ['src/a.ts', 'the server'],
    ['src/new.ts', 'the server'],
    ['src/client/index.ts', 'the server, the client'],
    ['src/shape.ts', 'the server, the client'],
    ['src/page/index.html', 'the page'],
    ['scripts/client-package/README.md', 'the client'],
    ['tsconfig.build.json', 'the server'],
    ['package-lock.json', 'the server, the client, the page'],
    ['src/a.test.ts', 'nothing'],
  ] as const) {
    const path = join(project, file)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    write(file, `${text}\n`)
    expect([build().compiled, build().compiled], file).toEqual([compiled, 'nothing'])
  }
})

test('a validator follows a type of another file', () => {
  build()
  expect(built('valid.js')).toContain('"number" === typeof')
  write('src/shape.ts', `export interface Shape { a: string }\n`)
  expect(build().status).toBe(0)
  expect(built('valid.js')).toContain('"string" === typeof')
})

test('a use that a change of another file breaks is found', () => {
  write('src/deep/b.ts', `import { a } from '../a.js'\nexport const b: string = a\n`)
  build()
  write('src/a.ts', 'export const a = 1\n')
  const { status, output } = build()
  expect([status, output]).toEqual([1, expect.stringContaining('src/deep/b.ts(2,14): error TS2322')])
})

test('a build that fails leaves the last one, and the next build compiles again', () => {
  build()
  write('src/a.ts', `export const a: number = 'broken'\n`)
  expect(build()).toMatchObject({ status: 1, compiled: 'the server' })
  expect(build()).toMatchObject({ status: 1, compiled: 'the server' })
  expect(built()).toContain('first')
  write('src/a.ts', `export const a = 'second'\n`)
  expect(build().status).toBe(0)
  expect(built()).toContain('second')
  expect(existsSync(join(project, 'dist/deep/b.js'))).toBe(true)
})

test('a source that is removed leaves nothing in dist, of the server as of the page', () => {
  build()
  rmSync(join(project, 'src/deep/b.ts'))
  writeFileSync(join(project, 'src/page/other.html'), '')
  rmSync(join(project, 'src/page/index.html'))
  build()
  expect(
    ['deep/b.js', 'page/index.html', 'page/other.html'].map((file) =>
      existsSync(join(project, 'dist', file)),
    ),
  ).toEqual([false, false, true])
})

test('builds at the same time wait for each other', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const child = spawn(process.execPath, [join(project, 'scripts/build.mjs')], { env: withoutNpm })
      const [status] = (await once(child, 'close')) as [number]
      return status
    }),
  )
  expect(statuses).toEqual([0, 0, 0])
  expect(build().compiled).toBe('nothing')
})

test.each([['start', 'serve'], ['demo']])(
  'npm run %s compiles at its first start only',
  (script, command = script) => {
    mkdirSync(join(project, 'bin'))
    write('bin/understudy', '#!/bin/sh\necho "runs $*"\n', 0o755)
    const outputs = Array.from(
      { length: 2 },
      () => spawnSync('npm', ['run', script], { cwd: project, encoding: 'utf8', env: withoutNpm }).stdout,
    )
    expect(outputs.map((output) => output.includes('compiling the server'))).toEqual([true, false])
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

  /** By hand; with the argument `build.mjs` as part of a build. */
  function buildNative(
    script = 'build-native.mjs',
    env: NodeJS.ProcessEnv = { npm_config_node_gyp: 'node-gyp.cjs' },
  ) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(project, 'scripts', script)], {
      cwd: project,
      encoding: 'utf8',
      env: { ...withoutNpm, ...env },
    })
    return { status, stdout, stderr, compiled: stdout.includes('compiling the native') }
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
    const { status, stderr } = buildNative('build.mjs', {
      npm_config_node_gyp: 'node-gyp.cjs',
      npm_lifecycle_event: 'install',
    })
    expect([status, stderr.includes('not built')]).toEqual([0, true])
  })

  test('a build compiles an addon that is missing, and without a compiler goes on without it', () => {
    expect(buildNative('build.mjs')).toMatchObject({ status: 0, compiled: true })
    rmSync(addonFile())
    expect(buildNative('build.mjs')).toMatchObject({ status: 0, compiled: true })
    expect(existsSync(addonFile())).toBe(true)
    rmSync(addonFile())
    write('src/codec/native/addon.cc', 'broken')
    const { status, stderr } = buildNative('build.mjs')
    expect([status, stderr]).toEqual([0, expect.stringContaining('will use the reference codec')])
  })

  test.each([
    ['before npm ci', () => rmSync(join(project, simdjson), { recursive: true }), /run npm ci$/m],
    ['without npm', () => undefined, /node-gyp is not found; it is part of npm, which must be on PATH$/m],
  ])('by hand %s it reports what is missing', (_when, prepare, message) => {
    prepare()
    const { status, stderr } = buildNative('build-native.mjs', { PATH: '/nowhere' })
    expect([status, stderr]).toEqual([1, expect.stringMatching(message)])
  })

  test('after an edit of a native source it is compiled again, once', () => {
    buildNative()
    expect(buildNative('build.mjs').compiled).toBe(false)
    for (const file of ['src/codec/native/text.h', 'src/codec/native/addon.cc', 'binding.gyp']) {
      write(file, `${readFileSync(join(project, file), 'utf8')} `)
      expect([buildNative('build.mjs').compiled, buildNative('build.mjs').compiled], file).toEqual([
        true,
        false,
      ])
    }
  })

  test('a compilation that failed is tried again', () => {
    buildNative()
    write('src/codec/native/addon.cc', 'broken')
    expect(buildNative('build.mjs').status).toBe(1)
    expect(buildNative('build.mjs').status).toBe(1)
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
      const { status, stderr } = buildNative('build-native.mjs', env)
      expect([status, stderr]).toEqual([0, ''])
      const load = (): string =>
        spawnSync(process.execPath, ['-p', `require(${JSON.stringify(addonFile())})`], { encoding: 'utf8' })
          .stdout
      expect(load()).toBe('first\n')
      const { ino } = statSync(addonFile())
      write('src/codec/native/addon.cc', 'broken')
      expect(buildNative('build-native.mjs', env)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('error') as string,
      })
      expect([load(), statSync(addonFile()).ino]).toEqual(['first\n', ino])
      write('src/codec/native/addon.cc', addonSource('second'))
      expect(buildNative('build.mjs', env).status).toBe(0)
      expect(load()).toBe('second\n')
    },
  )
})
