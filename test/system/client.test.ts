/**
 * The packaged client as another project uses it, against real servers: refusals of the
 * service, and clients and servers that are killed.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { ApiError, Client, type Failure, type Reply } from '../../src/client/index.js'
import { Spool } from '../../src/client/spool.js'
import { jsonBodyBytesMax, type CycleRequest, type CycleResponse } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { linkClient } from '../helpers/client-package.js'
import { FaultyServer } from '../helpers/faulty-server.js'
import { smallJpeg } from '../harness/jpeg.js'
import type { ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function clientOf(server: ServerProcess, onFailure?: (failure: Failure) => void): Client {
  return new Client({
    url: `http://127.0.0.1:${server.port}`,
    apiKey: server.key,
    backoffMsFirst: 20,
    ...(onFailure === undefined ? {} : { onFailure }),
  })
}

/** A project of another developer, with this package installed. */
function otherProject(files: Readonly<Record<string, string>>): string {
  const project = scratchDir()
  linkClient(project)
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files }))
    writeFileSync(join(project, name), text)
  return project
}

function run(project: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, args, {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  })
  children.push(child)
  return child
}

/** Kills a process and waits until it has ended. */
async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20)
}

describe('a server', () => {
  test('responds to every operation with a value of its type', async () => {
    const client = clientOf(await started())
    const jpeg = await smallJpeg(1)
    const key = { gall_id: '한/글', post_no: 7, position: 1 }
    const cycle = cycleBody(0, {
      candidates: [candidate('g', 1)],
      engagement: [reading('g', 1, cycleMs(0))],
    })
    const response = await client.postCycle(cycle)
    expect(response.results).toMatchObject([{ gall_id: 'g', post_no: 1, status: 'scored' }])
    expect(await client.getScores(cycle.cycle_id)).toEqual(response)
    expect([await client.hasScores(cycle.cycle_id), await client.hasScores('20240301T2355')]).toEqual([
      true,
      false,
    ])
    expect([await client.putImage(key, jpeg), await client.putImage(key, jpeg)]).toMatchObject([
      { created: true, key: '한/글/7/01.jpg', bytes: jpeg.length },
      { created: false },
    ])
    expect(await client.getHealth()).toMatchObject({ status: 'ok', last_cycle_id: cycle.cycle_id })
    const weights = { version: 'v2', weights: { views: 1, comments: 0, up: 0, downvote_share: 0 } }
    expect(await client.putWeights(weights)).toMatchObject({ version: 'v2' })
    expect(await client.getWeights()).toMatchObject({ current: weights })
    const outcome = {
      placement_id: 'p',
      gall_id: 'g',
      post_no: 1,
      tier: 'main',
      placed_at: '2024-03-01T00:00:00+09:00',
      picked_by: { type: 'operator' as const },
    }
    expect(await client.postOutcomes([outcome])).toEqual({ received: 1, created: 1, updated: 0 })
  })

  test('refuses with errors that name the failing paths', async () => {
    const server = await started()
    const client = clientOf(server)
    const errorOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error)
    const cycle = cycleBody(0)
    await client.postCycle(cycle)
    const changed = {
      ...cycle,
      removals: [{ gall_id: 'g', post_no: 1, reason: 'hidden', decided_at: cycle.cycle_time }],
    }
    expect(await errorOf(client.postCycle(changed as CycleRequest))).toMatchObject({
      kind: 'conflict',
      status: 409,
    })
    expect(await errorOf(client.postCycle({ ...cycle, cycle_time: 'now' }))).toMatchObject({
      kind: 'bad_request',
      fields: [{ path: 'cycle_time' }],
    })
    expect(await errorOf(client.getScores('20240301T2355'))).toMatchObject({ kind: 'not_found' })
    const image = client.putImage({ gall_id: 'g', post_no: 1, position: 1 }, Buffer.from('no jpeg'))
    expect(await errorOf(image)).toMatchObject({ kind: 'unsupported_media_type' })
    const unauthorized = new Client({
      url: `http://127.0.0.1:${server.port}`,
      apiKey: 'another-key-0123456789',
    })
    expect(await errorOf(unauthorized.getWeights())).toMatchObject({ kind: 'unauthorized' })
  })

  test.each([true, false])(
    'refuses a body that is too large at the first attempt (gzip: %s)',
    async (gzip) => {
      const server = await started()
      const failures: Failure[] = []
      const client = new Client({
        url: `http://127.0.0.1:${server.port}`,
        apiKey: server.key,
        gzip,
        onFailure: (failure) => void failures.push(failure),
      })
      const body = { ...cycleBody(0), note: 'x'.repeat(jsonBodyBytesMax) }
      const error = await client.postCycle(body).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ApiError)
      expect(error).toMatchObject({ kind: 'too_large', status: 413 })
      expect(failures).toEqual([])
    },
  )

  test('that is killed within a call and started again responds to it', async () => {
    const server = await started()
    const cycle = cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })
    const restarts: Promise<void>[] = []
    const client = clientOf(server, () => {
      if (restarts.length === 0) restarts.push(server.start().then(() => undefined))
    })
    const call = client.postCycle(cycle)
    await server.kill('SIGKILL')
    const response = await call
    await Promise.all(restarts)
    expect(response.results).toHaveLength(1)
    expect((await server.call({ path: `/v1/scores/${cycle.cycle_id}` })).json).toEqual(response)
  })
})

test('a cycle that the clock of a real service has not reached is delivered when it has', async () => {
  const index = 3
  const project = scratchDir()
  const [clock, behind] = [join(project, 'clock.mjs'), join(project, 'behind')]
  writeFileSync(behind, '')
  writeFileSync(
    clock,
    `import { existsSync } from 'node:fs'
     Date.now = () => ${cycleMs(index)} - (existsSync(${JSON.stringify(behind)}) ? 2500 : 0)`,
  )
  const server = await started({ NODE_OPTIONS: `--import ${clock}` })
  const failures: Failure[] = []
  const client = clientOf(server, (failure) => {
    failures.push(failure)
    if (failures.length === 3) rmSync(behind)
  })
  const directory = join(scratchDir(), 'spool')
  const responses: CycleResponse[] = []
  const spool = await Spool.open({
    client,
    directory,
    onResponse: (response) => void responses.push(response),
  })
  const cycles = [cycleBody(index - 1), cycleBody(index)]
  for (const cycle of cycles) await spool.add(cycle)
  await spool.deliver()
  await spool.close()
  expect(responses.map(({ cycle_id }) => cycle_id)).toEqual(cycles.map(({ cycle_id }) => cycle_id))
  expect(failures.map(({ outcome }) => (outcome as Reply).status)).toEqual([422, 422, 422])
  expect(readdirSync(directory)).toEqual(['spool.json'])
})

describe('two processes with one spool', () => {
  /** Opens the spool, adds ten cycles, delivers them, and holds the spool until it is killed, if `hold` is its argument. */
  const program = `
    import { appendFileSync, writeFileSync } from 'node:fs'
    import { Client } from 'understudy-client'
    import { Spool } from 'understudy-client/spool'
    const [index, hold] = process.argv.slice(2)
    const client = new Client({ url: process.env.URL_OF_SERVER, apiKey: 'key-for-the-tests-0123456789' })
    const onResponse = ({ cycle_id }) => appendFileSync('responses', cycle_id + '\\n')
    const spool = await Spool.open({ client, directory: 'spool', onResponse }).catch((error) => {
      writeFileSync('error', error.name + ': ' + error.message)
      process.exit(3)
    })
    for (let minute = 0; minute < 50; minute += 5) {
      const two = String(minute).padStart(2, '0')
      await spool.add({
        cycle_id: '20240301T0' + index + two, cycle_time: '2024-03-01T0' + index + ':' + two + ':00+09:00',
        candidates: [], engagement: [], candidate_scores: [], removals: [],
      })
    }
    await spool.deliver()
    writeFileSync('delivered-' + index, '')
    if (hold !== undefined) setInterval(() => undefined, 1000)`
  const ended = (child: ChildProcess): Promise<number | null> =>
    new Promise((resolve) => child.once('exit', (code) => resolve(code)))

  test('the second one gets a clear error, and can open it when the first one was killed', async () => {
    const project = otherProject({ 'client.js': program })
    const server = await started()
    const env = { URL_OF_SERVER: `http://127.0.0.1:${server.port}` }
    const first = run(project, ['client.js', '1', 'hold'], env)
    await until(() => existsSync(join(project, 'delivered-1')))
    // A half-written cycle of the first process: another one must not remove it.
    const partial = join(project, 'spool', '20240301T0500.json.partial')
    writeFileSync(partial, '{"half')
    expect(await ended(run(project, ['client.js', '2'], env))).toBe(3)
    expect(readFileSync(join(project, 'error'), 'utf8')).toMatch(
      /^DirectoryLockedError: the directory .*\/spool is in use by another spool$/,
    )
    expect(existsSync(partial)).toBe(true)
    await kill(first)
    expect(await ended(run(project, ['client.js', '2'], env))).toBe(0)
    expect(readdirSync(join(project, 'spool'))).toEqual(['spool.json'])
    const ids = readFileSync(join(project, 'responses'), 'utf8').trim().split('\n')
    expect(ids).toHaveLength(20)
    expect(new Set(ids).size).toBe(20)
  })

  test('that start at the same time deliver each cycle once', async () => {
    const project = otherProject({ 'client.js': program })
    const server = await started()
    const env = { URL_OF_SERVER: `http://127.0.0.1:${server.port}` }
    const codes = await Promise.all(
      [1, 2, 3].map((index) => ended(run(project, ['client.js', String(index)], env))),
    )
    expect(codes).toContain(0)
    expect(codes.every((code) => code === 0 || code === 3)).toBe(true)
    const ids = readFileSync(join(project, 'responses'), 'utf8').trim().split('\n')
    expect(ids).toHaveLength(10 * codes.filter((code) => code === 0).length)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('a client that is killed', () => {
  const program = `
    import { readFileSync, appendFileSync } from 'node:fs'
    import { Client } from 'understudy-client'
    import { Spool } from 'understudy-client/spool'
    const client = new Client({ url: process.env.URL_OF_SERVER, apiKey: 'key-for-the-tests-0123456789' })
    const onResponse = ({ cycle_id }) => appendFileSync('responses', cycle_id + '\\n')
    const spool = await Spool.open({ client, directory: 'spool', onResponse })
    if (process.argv[2] !== undefined) await spool.add(JSON.parse(readFileSync(process.argv[2], 'utf8')))
    await spool.deliver()`

  test.each(['silent', 'half'] as const)(
    'between the write to the spool and the response (%s) sends the same bytes at its next start',
    async (step) => {
      const cycle = cycleBody(0, { candidates: [candidate('g', 1)] })
      const project = otherProject({ 'client.js': program, 'cycle.json': JSON.stringify(cycle) })
      const first = new FaultyServer(step)
      const env = { URL_OF_SERVER: await first.listen() }
      const child = run(project, ['client.js', 'cycle.json'], env)
      await until(() => first.received.length > 0)
      await kill(child)
      expect(readdirSync(join(project, 'spool'))).toEqual([`${cycle.cycle_id}.json`, 'spool.json'])

      const server = await started()
      const next = run(project, ['client.js'], { URL_OF_SERVER: `http://127.0.0.1:${server.port}` })
      expect(await new Promise((resolve) => next.once('exit', resolve))).toBe(0)
      expect(readFileSync(join(project, 'responses'), 'utf8')).toBe(`${cycle.cycle_id}\n`)
      expect(readdirSync(join(project, 'spool'))).toEqual(['spool.json'])
      // The service has exactly the body that the first process sent: otherwise this would be 409.
      const sent = first.received[0]?.body.toString() ?? ''
      expect((await server.call({ method: 'POST', path: '/v1/cycles', body: sent })).status).toBe(200)
    },
  )
})
