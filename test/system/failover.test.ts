/**
 * Two servers of one environment as processes, with three PostgreSQL servers of which one standby must confirm each commit:
 * roles, kill -9 of the owner, a deployment, a swap of the model, and the loss of the primary.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makePackage } from '../../models/make-transport-test.js'
import { createEnvironment } from '../../src/store/index.js'
import { leaseMs } from '../../src/store/journal/journal.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CycleRequest, CycleResponse } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { cluster, journalUrl, newEnvironment, postgresBin } from '../helpers/journals.js'
import { smallJpeg } from '../harness/jpeg.js'
import type { Reply } from '../harness/http.js'
import { freePort, ServerProcess } from '../harness/server.js'

const bodyOf = (index: number): CycleRequest =>
  cycleBody(index, {
    candidates: [candidate('g', index + 1)],
    engagement: Array.from({ length: index + 1 }, (_, post) => reading('g', post + 1, cycleMs(index))),
  })

describe.skipIf(postgresBin === null)('servers of one environment', { timeout: 180_000 }, () => {
  const servers: ServerProcess[] = []
  const adminPorts = new Map<ServerProcess, number>()
  const versions = ['version-1', 'version-2'] as const
  /** Each machine has its own. */
  const modelsDirs = new Map<ServerProcess, string>()
  const responses: { readonly index: number; readonly text: string }[] = []
  let owner: ServerProcess
  let standby: ServerProcess
  let index = 0

  /** Replaces `ACTIVE` of one machine, as a deployment does. */
  function choose(modelsDir: string, version: string): void {
    const file = join(modelsDir, 'ACTIVE')
    writeFileSync(`${file}.new`, `${version}\n`)
    renameSync(`${file}.new`, file)
  }

  /** Chooses a version on one machine, and waits until its process uses it. */
  async function activate(server: ServerProcess, version: string): Promise<void> {
    choose(modelsDirs.get(server)!, version)
    await expect
      .poll(async () => (await server.call({ path: '/v1/health' })).json)
      .toMatchObject({ model_version: version })
  }

  async function newServer(environment: string): Promise<ServerProcess> {
    const adminPort = await freePort()
    const modelsDir = mkdtempSync(join(tmpdir(), 'understudy-models-'))
    for (const [index, version] of versions.entries()) {
      mkdirSync(join(modelsDir, version))
      for (const [file, content] of Object.entries(makePackage(version, index)))
        writeFileSync(join(modelsDir, version, file), content)
    }
    choose(modelsDir, versions[0])
    const server = new ServerProcess({
      UNDERSTUDY_JOURNAL: await journalUrl(2),
      UNDERSTUDY_ENVIRONMENT: environment,
      UNDERSTUDY_MODELS_DIR: modelsDir,
      UNDERSTUDY_ADMIN_PORT: String(adminPort),
    })
    servers.push(server)
    adminPorts.set(server, adminPort)
    modelsDirs.set(server, modelsDir)
    return server
  }

  /** Sends to the servers in turn, as a load balancer does, until one responds. */
  async function sent(call: (server: ServerProcess) => Promise<Reply>): Promise<Reply> {
    for (let attempt = 0; ; attempt++) {
      const server = servers[attempt % servers.length]!
      const reply = await call(server).catch(() => null)
      if (reply !== null && reply.status !== 503) return reply
      expect(reply === null || reply.headers['retry-after'] !== undefined).toBe(true)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async function cycle(): Promise<void> {
    const reply = await sent((server) => server.postCycle(bodyOf(index)))
    expect(reply.status).toBe(200)
    responses.push({ index, text: reply.text })
    index++
  }

  /** Every response that was given is given again, byte for byte, and no cycle is missing. */
  async function check(): Promise<void> {
    for (const response of responses) {
      const reply = await sent((server) => server.postCycle(bodyOf(response.index)))
      expect(reply.text).toBe(response.text)
      const { results } = JSON.parse(reply.text) as CycleResponse
      expect(results).toHaveLength(response.index + 1)
    }
  }

  beforeAll(async () => {
    const environment = newEnvironment()
    await createEnvironment(await journalUrl(2), environment)
    owner = await newServer(environment)
    standby = await newServer(environment)
    await owner.start()
    await owner.logged('became owner')
    await standby.start()
  }, 180_000)
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.dispose()))
    for (const modelsDir of modelsDirs.values()) rmSync(modelsDir, { recursive: true })
  })

  test('the owner serves; a standby returns 503 with the reason', async () => {
    for (let i = 0; i < 3; i++) await cycle()
    const refused = await standby.postCycle(bodyOf(0))
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('1')
    expect((await standby.call({ path: '/v1/health', key: null })).json).toMatchObject({ status: 'degraded' })
    const ready = await fetch(`http://127.0.0.1:${adminPorts.get(standby)}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({ status: 'not ready', role: 'standby' })
    const couldServe = await fetch(`http://127.0.0.1:${adminPorts.get(standby)}/readyz?standbyok=true`)
    expect(couldServe.status).toBe(200)
  })

  test('images, weights and outcomes survive the owner, which is killed', async () => {
    const image = await smallJpeg(1)
    const put = () =>
      sent((server) =>
        server.call({
          method: 'PUT',
          path: '/v1/images/g/1/01',
          body: image,
          headers: { 'Content-Type': 'image/jpeg' },
        }),
      )
    expect((await put()).status).toBe(201)
    const weights = { version: 'w2', weights: { views: 1, comments: 0, up: 0, downvote_share: 0 } }
    const setWeights = () =>
      sent((server) => server.call({ method: 'PUT', path: '/v1/weights', body: JSON.stringify(weights) }))
    const acknowledged = (await setWeights()).text
    await owner.kill('SIGKILL')
    await standby.logged('became owner')
    await check()
    expect((await put()).status).toBe(200)
    expect((await setWeights()).text).toBe(acknowledged)
    await cycle()
    await owner.start()
  })

  test('a graceful stop hands the environment over, before the lease expires', async () => {
    const startedAt = performance.now()
    const stopping = standby.kill('SIGTERM')
    await cycle()
    expect(performance.now() - startedAt).toBeLessThan(leaseMs)
    expect(await stopping).toBe(0)
    await standby.start()
    await check()
  })

  test('a version that is activated on the standby first, and then on the owner, also scores after a takeover', async () => {
    const lastVersion = (): string =>
      (JSON.parse(responses.at(-1)?.text ?? '') as CycleResponse).model_version
    await activate(standby, versions[1])
    await cycle()
    expect(lastVersion()).toBe(versions[0])
    await activate(owner, versions[1])
    await cycle()
    expect(lastVersion()).toBe(versions[1])
    await owner.kill('SIGKILL')
    await standby.logged('became owner')
    await cycle()
    expect(lastVersion()).toBe(versions[1])
    await owner.start()
    await check()
  })

  test('after the loss of the primary and a promotion, every response is still stored', async () => {
    const { servers: databases, primary } = await cluster(2)
    const [, first, second] = databases
    // The standby that has more of the log.
    primary.crash()
    const postgres = await cluster(2)
    const positions = [first, second].map((server) =>
      Number(postgres.sql(`select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')`, server)),
    )
    const promoted = positions[0]! >= positions[1]! ? first : second
    const follower = promoted === first ? second : first
    promoted?.promote()
    postgres.sql(`alter system set synchronous_standby_names = 'ANY 1 (db1, db2)'`, promoted)
    postgres.sql('select pg_reload_conf()', promoted)
    postgres.sql(
      `alter system set primary_conninfo = 'host=127.0.0.1 port=${promoted?.port} user=postgres application_name=${follower === first ? 'db1' : 'db2'}'`,
      follower,
    )
    postgres.sql('select pg_reload_conf()', follower)
    await cycle()
    await check()
  })
})
