/**
 * What does the admin side cost a cycle? Sends full cycles to a server without it, to one with it, and to the same one while
 * a page is open and metrics are read every 5 s, in turn.
 */
import http from 'node:http'
import { Client, expectStatus, type Address } from './client.js'
import { uncountedCycleCount } from './cycles.js'
import { withGenerator, type CycleGenerator } from './cycle-generator.js'
import { differenceOf, differenceText, type Round } from './difference.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { freePort } from './project.js'
import type { RawConnection } from './raw-connection.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { median } from './statistics.js'

/** Cycles of each kind. */
const cycleCountDefault = 120
const blockCount = 10
/** Cycles after each change that are not counted. */
const settleCount = 2
const readEveryMs = 5000
const kinds = ['off', 'on', 'page'] as const
type Kind = (typeof kinds)[number]
const adminToken = 'bench-admin-token-0123456789'

interface Contender {
  readonly generator: CycleGenerator
  readonly connection: RawConnection
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
            const samplesMs = samples[kind].flat()
            const rounds = samples[kind].map((aMs, round): Round => ({ aMs, bMs: samples.off[round] ?? [] }))
            const ratio = (median(samplesMs) / median(samples.off.flat())).toFixed(3)
            const note = `${kind} / off: ${ratio}, ${differenceText(differenceOf(rounds, 0.5))}; ${page.readCount} reads`
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
  return withGenerator(scaledShape(cycleScenarios.full.shape, scale), (generator) =>
    use({ generator, connection: generator.connectTo(server) }),
  )
}

/** One list per round. */
async function sampleAll(
  contenders: Readonly<Record<Kind, Contender>>,
  page: OpenPage,
  { cycleCount = cycleCountDefault }: RunSize,
): Promise<Record<Kind, number[][]>> {
  const samples: Record<Kind, number[][]> = { off: [], on: [], page: [] }
  const post = async ({ generator, connection }: Contender): Promise<number> =>
    (await generator.post(connection, await generator.next())).tookMs
  for (const contender of [contenders.off, contenders.on])
    for (let i = 0; i < uncountedCycleCount; i++) await post(contender)
  for (let done = 0; done < cycleCount; done += blockCount)
    for (const kind of kinds) {
      if (kind === 'page') await page.open()
      for (let i = 0; i < settleCount; i++) await post(contenders[kind])
      const round: number[] = []
      for (let i = 0; i < Math.min(blockCount, cycleCount - done); i++)
        round.push(await post(contenders[kind]))
      samples[kind].push(round)
      await page.close()
    }
  return samples
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
