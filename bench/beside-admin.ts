/**
 * What does the admin side cost a cycle, and a health check beside the cycles? Sends full cycles and health checks at a fixed
 * rate to a server without it, to one with it, and to the same one while a page is open and metrics are read every 5 s, in
 * turn.
 */
import http from 'node:http'
import { Client, expectStatus, type Address } from './client.js'
import { uncountedCycleCount } from './cycles.js'
import { withGenerator, type CycleGenerator } from './cycle-generator.js'
import { differenceOf, differenceText, type Round } from './difference.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { atFixedRate } from './mixed.js'
import { freePort } from './project.js'
import type { RawConnection } from './raw-connection.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { median, summarize } from './statistics.js'

/** Cycles of each kind. */
const cycleCountDefault = 120
const blockCount = 10
/** Cycles after each change that are not counted. */
const settleCount = 2
const readEveryMs = 5000
/** Too few to delay a cycle, enough for a 99th percentile in a run. */
const healthPerSecond = 20
const kinds = ['off', 'on', 'page'] as const
type Kind = (typeof kinds)[number]
const adminToken = 'bench-admin-token-0123456789'

interface Contender {
  readonly generator: CycleGenerator
  readonly connection: RawConnection
  readonly healthClient: Client
}

interface Samples {
  /** One list per round. */
  readonly cyclesMs: number[][]
  readonly healthMs: number[]
}

export async function measureBesideAdmin(size: RunSize): Promise<Measurement[]> {
  const adminPort = String(await freePort())
  const off = { UNDERSTUDY_ADMIN_PORT: 'off' }
  const on = { UNDERSTUDY_ADMIN_PORT: adminPort, UNDERSTUDY_ADMIN_TOKEN: adminToken }
  return withServer({ env: off }, (without) =>
    withServer({ env: on }, (server) =>
      withContender(without, size, (offContender) =>
        withContender(server, size, async (onContender) => {
          const page = new OpenPage({ port: Number(adminPort), key: `Bearer ${adminToken}` })
          const samples = await sampleAll(
            { off: offContender, on: onContender, page: onContender },
            page,
            size,
          )
          const before = server.usage()
          const clientBusyShare = onContender.connection.takeBusyShare()
          return kinds.map((kind) => {
            const { off } = samples
            const samplesMs = samples[kind].cyclesMs.flat()
            const rounds = samples[kind].cyclesMs.map((aMs, round): Round => ({
              aMs,
              bMs: off.cyclesMs[round] ?? [],
            }))
            const ratio = (median(samplesMs) / median(off.cyclesMs.flat())).toFixed(3)
            const healthMs = summarize(samples[kind].healthMs).p99
            const healthRatio = (healthMs / summarize(off.healthMs).p99).toFixed(3)
            const note =
              `${kind} / off: ${ratio}, ${differenceText(differenceOf(rounds, 0.5))}; ${page.readCount} reads; ` +
              `health p99 ${healthMs.toFixed(1)} ms, ${kind} / off: ${healthRatio}`
            return measurementOf({
              scenario: `beside-admin: ${kind}`,
              ...{ samplesMs, bytes: 0, busyS: sequentialS(samplesMs), clientBusyShare },
              details: { note },
              before: { ...before, cpuMs: null },
              after: { ...server.usage(), cpuMs: null },
            })
          })
        }),
      ),
    ),
  )
}

function withContender<Result>(
  server: ServerUnderTest,
  { scale }: RunSize,
  use: (contender: Contender) => Promise<Result>,
): Promise<Result> {
  return withGenerator(scaledShape(cycleScenarios.full.shape, scale), async (generator) => {
    const healthClient = new Client({ port: server.port, key: server.key }, 8)
    const result = await use({ generator, connection: generator.connectTo(server), healthClient })
    healthClient.close()
    return result
  })
}

async function sampleAll(
  contenders: Readonly<Record<Kind, Contender>>,
  page: OpenPage,
  { cycleCount = cycleCountDefault }: RunSize,
): Promise<Record<Kind, Samples>> {
  const empty = (): Samples => ({ cyclesMs: [], healthMs: [] })
  const samples: Record<Kind, Samples> = { off: empty(), on: empty(), page: empty() }
  for (const contender of [contenders.off, contenders.on])
    for (let i = 0; i < uncountedCycleCount; i++) await post(contender)
  for (let done = 0; done < cycleCount; done += blockCount)
    for (const kind of kinds) {
      if (kind === 'page') await page.open()
      for (let i = 0; i < settleCount; i++) await post(contenders[kind])
      const round = postRound(contenders[kind], Math.min(blockCount, cycleCount - done))
      const health = await atFixedRate(healthPerSecond, round, () => checkHealth(contenders[kind]))
      samples[kind].cyclesMs.push(await round)
      samples[kind].healthMs.push(...health.samplesMs)
      await page.close()
    }
  return samples
}

async function post({ generator, connection }: Contender): Promise<number> {
  return (await generator.post(connection, await generator.next())).tookMs
}

async function postRound(contender: Contender, count: number): Promise<number[]> {
  const round: number[] = []
  for (let i = 0; i < count; i++) round.push(await post(contender))
  return round
}

async function checkHealth({ healthClient }: Contender): Promise<{ tookMs: number; bytes: number }> {
  const reply = await healthClient.send({ method: 'GET', path: '/v1/health' })
  expectStatus(reply, 200, '/v1/health')
  return { tookMs: reply.tookMs, bytes: reply.body.length }
}

/** What a browser with an open page and a Prometheus do. */
class OpenPage {
  /** Responses that were read. */
  readCount = 0
  readonly #address: Address
  readonly #client: Client
  #stream: http.ClientRequest | null = null
  #timer: NodeJS.Timeout | undefined
  #reading: Promise<void> = Promise.resolve()

  constructor(address: Address) {
    this.#address = address
    this.#client = new Client(address, 2)
  }

  async open(): Promise<void> {
    const { port, key } = this.#address
    this.#stream = http.get({ port, path: '/api/events', headers: { authorization: key }, agent: false })
    this.#stream.on('response', (response) => response.resume()).on('error', () => undefined)
    await this.#read()
    this.#timer = setInterval(() => {
      this.#reading = this.#reading.then(() => this.#read())
    }, readEveryMs)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#reading
    this.#stream?.destroy()
    this.#client.close()
  }

  async #read(): Promise<void> {
    for (const path of ['/metrics', '/api/now', '/api/picks']) {
      expectStatus(await this.#client.send({ method: 'GET', path }), 200, path)
      this.readCount++
    }
  }
}
