/**
 * The tarball of the client: what is in it, and that another project which installs it without a network compiles with it
 * and uses it against a real server, in Node and Deno.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { clientPackageDir } from '../helpers/client-package.js'
import { smallJpeg } from '../harness/jpeg.js'
import { projectDir } from '../helpers/project.js'
import { scratchDir, started } from '../helpers/servers.js'

/** Sends an image and a cycle, the cycle through the spool; prints what it got. */
const program = `
  import { readFileSync } from 'node:fs'
  import { Client } from 'understudy-client'
  import { Spool } from 'understudy-client/spool'
  const [url, apiKey, cycle] = JSON.parse(readFileSync('input.json', 'utf8'))
  const client = new Client({ url, apiKey })
  const key = { gall_id: 'g', post_no: 1, position: 1 }
  const image = await client.putImage(key, readFileSync('image.jpg'))
  const responses = []
  const spool = await Spool.open({ client, directory: 'spool', onResponse: (response) => void responses.push(response) })
  await spool.add(cycle)
  await spool.deliver()
  await spool.close()
  console.log(JSON.stringify([image.key, responses, await client.getScores(cycle.cycle_id)]))`

const source = `
  import { ApiError, Client, type CycleResponse } from 'understudy-client'
  import { Spool } from 'understudy-client/spool'
  const client = new Client({ url: 'http://localhost', apiKey: 'key' })
  const scores: Promise<CycleResponse> = client.getScores('20260302T1205')
  // @ts-expect-error: a cycle has six members
  void client.postCycle({ cycle_id: '20260302T1205' })
  void client.postCycle({
    cycle_id: '20260302T1205', cycle_time: new Date().toISOString(),
    candidates: [], engagement: [], candidate_scores: [],
    removals: [{ gall_id: 'g', post_no: 1, reason: 'hidden', decided_at: '2026-03-02T12:05:00+09:00' }],
  })
  // @ts-expect-error: a saved post has a tier
  void client.postCycle({ ...cycle, removals: [{ gall_id: 'g', post_no: 1, reason: 'saved', decided_at: '' }] })
  void scores.catch((error: unknown) => error instanceof ApiError ? error.fields[0]?.path : null)
  void Spool.open({ client, directory: 'spool', onResponse: ({ results }) => console.log(results[0]?.score) })
  declare const cycle: Parameters<Client['postCycle']>[0]`

let project: string
let tarball: string

beforeEach(() => {
  project = scratchDir()
  const packed = run('npm', ['pack', '--json', '--pack-destination', project, clientPackageDir], projectDir)
  tarball = (JSON.parse(packed) as [{ filename: string }])[0].filename
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  // No cache, and a registry that nobody serves: whatever is not in the tarball is missing.
  const offline = ['--cache', join(project, 'cache'), '--registry', 'http://127.0.0.1:9', '--offline']
  run('npm', ['install', '--no-audit', '--no-fund', ...offline, `./${tarball}`], project)
})

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
  return stdout
}

test('the tarball holds modules with declarations of the client, the contract and the base, and brings no other package', () => {
  const files = run('tar', ['-tzf', tarball], project).trim().split('\n')
  const module = /^package\/(base|client|contract)\/[\w-]+(\.js|\.d\.ts)$/
  expect(files.filter((file) => !module.test(file)).sort()).toEqual([
    'package/README.md',
    'package/package.json',
  ])
  const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))
  expect(installed).toEqual(['understudy-client'])
})

test('the program in its README names what the package exports', () => {
  const readme = readFileSync(join(project, 'node_modules/understudy-client/README.md'), 'utf8')
  const [, example = ''] = /```js\n([^]*?)```/.exec(readme) ?? []
  const cycle = cycleBody(0)
  writeFileSync(
    join(project, 'readme.js'),
    example.replace('spool.add(cycle)', 'spool.add(globalThis.cycle)'),
  )
  // Without a server: the cycle stays in the spool, and the failure is that of the address.
  writeFileSync(
    join(project, 'before.js'),
    `globalThis.cycle = ${JSON.stringify(cycle)}
     globalThis.fetch = () => Promise.resolve(Response.json({ error: { code: 'unauthorized', message: 'no' } }, { status: 401 }))`,
  )
  const { stderr } = spawnSync(process.execPath, ['--import', './before.js', 'readme.js'], {
    cwd: project,
    encoding: 'utf8',
    env: { ...process.env, SCORING_KEY: 'key' },
  })
  expect(stderr).toContain('ApiError')
  expect(readdirSync(join(project, 'spool'))).toEqual([`${cycle.cycle_id}.json`, 'spool.json'])
})

test('its declarations are complete: strict, with the checks of libraries, without typia and without types of Node', () => {
  writeFileSync(join(project, 'app.ts'), source)
  const compilerOptions = {
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    lib: ['es2022', 'dom', 'dom.asynciterable'],
    types: [],
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }))
  run(join(projectDir, 'scripts/pinned'), ['tsc', '-p', project], projectDir)
})

describe('a program that has installed it', () => {
  const flags = ['--no-prompt', '--allow-net', '--allow-read', '--allow-write', '--allow-env']
  const hasDeno = spawnSync('deno', ['--version']).status === 0
  const runtimes: [string, string, string[]][] = [
    ['the Node of the service', process.execPath, []],
    ['a Node without the global crypto, as 18', process.execPath, ['--import', './no-crypto.js']],
    ...(process.env['NODE_18'] === undefined
      ? []
      : [['Node 18', process.env['NODE_18'], []] satisfies [string, string, string[]]]),
    ...(hasDeno
      ? [['Deno', 'deno', ['run', ...flags, '--allow-run=flock']] satisfies [string, string, string[]]]
      : []),
  ]

  test.each(runtimes)(
    'sends an image and a cycle to a real server, with %s',
    async (_name, command, args) => {
      const server = await started()
      const cycle = cycleBody(0, {
        candidates: [candidate('g', 1)],
        engagement: [reading('g', 1, cycleMs(0))],
      })
      writeFileSync(join(project, 'no-crypto.js'), 'delete globalThis.crypto')
      writeFileSync(join(project, 'app.js'), program)
      writeFileSync(join(project, 'image.jpg'), await smallJpeg(1))
      const input = [`http://127.0.0.1:${server.port}`, server.key, cycle]
      writeFileSync(join(project, 'input.json'), JSON.stringify(input))
      const output: unknown = JSON.parse(run(command, [...args, 'app.js'], project))
      const { json } = await server.call({ path: `/v1/scores/${cycle.cycle_id}` })
      expect(output).toEqual(['g/1/01.jpg', [json], json])
      expect(json).toMatchObject({ results: [{ gall_id: 'g', post_no: 1, status: 'scored' }] })
      expect(readdirSync(join(project, 'spool'))).toEqual(['spool.json'])
    },
  )
})
