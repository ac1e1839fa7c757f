/**
 * The browser part of the client: what it imports, that it compiles with the types of browsers alone, and that Deno runs it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { bodyExamples } from '../src/contract/index.js'
import { buildOnce } from './helpers/build-once.js'
import { FaultyServer } from './helpers/faulty-server.js'
import { projectDir } from './helpers/project.js'
import { scratchDir } from './helpers/servers.js'

beforeAll(buildOnce)

const pinned = join(projectDir, 'scripts/pinned')

/** The modules that a module of the package loads, with itself; and what they import that is not a file. */
function graphOf(start: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const open = [start]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file)) continue
    files.add(file)
    const source = readFileSync(join(projectDir, file), 'utf8')
    for (const [, name = ''] of source.matchAll(/(?:from|import)\s*\(?'([^']+)'/g)) {
      if (name.startsWith('.')) open.push(relative('.', join(dirname(file), name)))
      else packages.add(name)
    }
  }
  return { files, packages }
}

test('the client loads files of its own, two of the contract and three of the base, and no package', () => {
  const { files, packages } = graphOf('dist/understudy-client/client/index.js')
  expect([...packages]).toEqual([])
  expect([...files].filter((file) => !file.startsWith('dist/understudy-client/client/')).sort()).toEqual([
    'dist/understudy-client/base/errors.js',
    'dist/understudy-client/base/json.js',
    'dist/understudy-client/base/units.js',
    'dist/understudy-client/contract/errors.js',
    'dist/understudy-client/contract/operations.js',
  ])
  expect([...graphOf('dist/understudy-client/client/spool.js').packages].sort()).toEqual([
    'node:child_process',
    'node:fs',
    'node:fs/promises',
    'node:path',
    'node:stream/consumers',
  ])
})

test('it compiles with the types of browsers alone', () => {
  const { status, stdout } = spawnSync(pinned, ['tsc', '-p', join(projectDir, 'tsconfig.browser.json')], {
    encoding: 'utf8',
  })
  expect(status, stdout).toBe(0)
})

const deno = spawnSync('deno', ['--version']).status === 0

test.skipIf(!deno)('it runs in Deno, with no permission besides the network', async () => {
  const server = new FaultyServer('before', { body: bodyExamples.CycleResponse })
  const url = await server.listen()
  const module = new URL('../dist/understudy-client/client/index.js', import.meta.url).href
  const source = `
    import { Client } from ${JSON.stringify(module)}
    const client = new Client({ url: ${JSON.stringify(url)}, apiKey: 'key', backoffMsFirst: 1 })
    const cycle = ${JSON.stringify(bodyExamples.CycleRequest)}
    cycle.removals = Array(100).fill(cycle.removals[0])
    console.log(JSON.stringify(await client.postCycle(cycle)))`
  const file = join(scratchDir(), 'app.js')
  writeFileSync(file, source)
  const { promise, resolve } = Promise.withResolvers<string>()
  const child = spawn('deno', ['run', '--no-prompt', `--allow-net=${new URL(url).host}`, file])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.on('close', () => resolve(output))
  expect(await promise).toBe(`${JSON.stringify(bodyExamples.CycleResponse)}\n`)
  expect(server.received[0]?.headers).toMatchObject({ authorization: 'key', 'content-encoding': 'gzip' })
})
