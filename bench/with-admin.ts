/**
 * What does the admin listener cost a cycle and a health check? Alternates between three kinds of blocks: a server without it,
 * one with it, and the same one with an open page and a scrape. Each block lasts 15 s and sends full cycles at a fixed rate of
 * four per second and health checks at 20 per second. The page keeps an event stream open and reads metrics, state and picks
 * every 5 s (`--seconds`), each time together with a cycle: three of the 60 cycles of a block meet a read, which is more than
 * in production, where a cycle comes every five minutes.
 */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, expectStatus, type Address } from '../test/harness/http.js'
import { uncountedCycleCount } from './cycles.js'
import { withGenerator, type CycleGenerator } from './cycle-generator.js'
import { differenceOf, differenceText, type Round } from './difference.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { freePort } from '../test/harness/server.js'
import type { RawConnection } from './raw-connection.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { atFixedRate } from './mixed.js'
import { median } from './statistics.js'

/** Cycles of each kind. */
const cycleCountDefault = 240
/** Cycles of a block. */
const blockCount = 60
const readsPerBlock = 3
const healthPerSecond = 20
/** Cycles after each change that are not counted. */
const settleCount = 2
const readEveryMsMax = 5000
const kinds = ['off', 'on', 'page'] as const
type Kind = (typeof kinds)[number]
const adminToken = 'bench-admin-token-0123456789'

interface Contender {
  readonly generator: CycleGenerator
  readonly connection: RawConnection
  readonly server: ServerUnderTest
}

interface Samples {
  /** Of cycles, one list per block. */
  readonly samples: Record<Kind, number[][]>
  readonly healthMs: Record<Kind, number[]>
}

export async function measureWithAdmin(size: RunSize): Promise<Measurement[]> {
  const adminPort = String(await freePort())
  const off = { UNDERSTUDY_ADMIN_PORT: 'off' }
  const on = { UNDERSTUDY_ADMIN_PORT: adminPort, UNDERSTUDY_ADMIN_TOKEN: adminToken }
  return withServer({ env: off }, (without) =>
    withServer({ env: on }, (server) =>
      withContender(without, size, (offContender) =>
        withContender(server, size, async (onContender) => {
          const readEveryMs = Math.min(readEveryMsMax, size.seconds * 1000)
          const page = new OpenPage({ port: Number(adminPort), key: `Bearer ${adminToken}` }, readEveryMs)
          const { samples, healthMs } = await sampleAll(
            { off: offContender, on: onContender, page: onContender },
            page,
            { ...size, blockMs: readsPerBlock * readEveryMs },
          )
          const before = server.usage()
          const clientBusyShare = onContender.connection.takeBusyShare()
          const usage = { before: { ...before, cpuMs: null }, after: { ...server.usage(), cpuMs: null } }
          const cycles = kinds.map((kind) => {
            const samplesMs = samples[kind].flat()
            const rounds = samples[kind].map((aMs, round): Round => ({ aMs, bMs: samples.off[round] ?? [] }))
            const ratio = (median(samplesMs) / median(samples.off.flat())).toFixed(3)
            const note = `${kind} / off: ${ratio}, ${differenceText(differenceOf(rounds, 0.5))}`
            return measurementOf({
              scenario: `with-admin: ${kind}`,
              samplesMs,
              bytes: 0,
              busyS: sequentialS(samplesMs),
              clientBusyShare,
              details: {
                note: kind === 'page' ? `${note}; ${page.readCount} timed reads of three paths` : note,
              },
              ...usage,
            })
          })
          const health = kinds.map((kind) =>
            measurementOf({
              scenario: `with-admin: health, ${kind}`,
              samplesMs: healthMs[kind],
              bytes: 0,
              busyS: sequentialS(healthMs[kind]),
              clientBusyShare,
              details: { note: 'during full cycles; the client of the cycles is in the same process' },
              ...usage,
            }),
          )
          return [...cycles, ...health]
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
    use({ generator, connection: generator.connectTo(server), server }),
  )
}

async function sampleAll(
  contenders: Readonly<Record<Kind, Contender>>,
  page: OpenPage,
  { cycleCount = cycleCountDefault, blockMs }: RunSize & { readonly blockMs: number },
): Promise<Samples> {
  const samples: Samples['samples'] = { off: [], on: [], page: [] }
  const healthMs: Samples['healthMs'] = { off: [], on: [], page: [] }
  for (const contender of [contenders.off, contenders.on])
    for (let i = 0; i < uncountedCycleCount; i++) await post(contender)
  for (let done = 0; done < cycleCount; done += blockCount)
    for (const kind of kinds) {
      if (kind === 'page') await page.open()
      for (let i = 0; i < settleCount; i++) await post(contenders[kind])
      const block = await sampleBlock(contenders[kind], Math.min(blockCount, cycleCount - done), blockMs)
      samples[kind].push(block.cyclesMs)
      healthMs[kind].push(...block.healthMs)
      if (kind === 'page') await page.close()
    }
  return { samples, healthMs }
}

/** Cycles at equal intervals; one that is due while the one before it is in progress follows it immediately. */
async function sampleBlock(
  contender: Contender,
  cycleCount: number,
  blockMs: number,
): Promise<{ readonly cyclesMs: number[]; readonly healthMs: readonly number[] }> {
  const client = new Client(contender.server, 8)
  const cyclesMs: number[] = []
  const startedAt = performance.now()
  const until = (ms: number): Promise<void> => sleep(Math.max(0, startedAt + ms - performance.now()))
  const sending = (async () => {
    for (let i = 0; i < cycleCount; i++) {
      await until((i * blockMs) / cycleCount)
      cyclesMs.push(await post(contender))
    }
    await until(blockMs)
  })()
  const [health] = await Promise.all([
    atFixedRate(healthPerSecond, sending, async () => {
      const reply = await client.send({ method: 'GET', path: '/v1/health' })
      expectStatus(reply, 200, '/v1/health')
      return { tookMs: reply.tookMs, bytes: 0 }
    }),
    sending,
  ])
  client.close()
  return { cyclesMs, healthMs: health.samplesMs }
}

async function post({ generator, connection }: Contender): Promise<number> {
  return (await generator.post(connection, await generator.next())).tookMs
}

/** What a browser with an open page and a Prometheus do. */
class OpenPage {
  /** Times at which the three paths were read by the timer. */
  readCount = 0
  readonly #address: Address
  readonly #readEveryMs: number
  readonly #client: Client
  #stream: http.ClientRequest | null = null
  #timer: NodeJS.Timeout | undefined
  #reading: Promise<void> = Promise.resolve()
  #countBefore = 0

  constructor(address: Address, readEveryMs: number) {
    this.#address = address
    this.#readEveryMs = readEveryMs
    this.#client = new Client(address, 2)
  }

  /** The reads fall between the multiples of the interval, so that a block has as many as intervals. */
  async open(): Promise<void> {
    const { port, key } = this.#address
    this.#countBefore = this.readCount
    this.#stream = http.get({ port, path: '/api/events', headers: { authorization: key }, agent: false })
    this.#stream.on('response', (response) => response.resume()).on('error', () => undefined)
    await this.#read()
    this.#timer = setTimeout(() => {
      this.#readLater()
      this.#timer = setInterval(() => this.#readLater(), this.#readEveryMs)
    }, this.#readEveryMs / 2)
  }

  /** Throws if the block had too few reads: it would have measured an idle stream. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#reading
    this.#stream?.destroy()
    this.#client.close()
    const count = this.readCount - this.#countBefore
    if (count < readsPerBlock) throw new Error(`a block with an open page had ${count} reads`)
  }

  #readLater(): void {
    this.#reading = this.#reading.then(async () => {
      await this.#read()
      this.readCount++
    })
    // close() reports the error.
    this.#reading.catch(() => undefined)
  }

  async #read(): Promise<void> {
    for (const path of ['/metrics', '/api/now', '/api/picks'])
      expectStatus(await this.#client.send({ method: 'GET', path }), 200, path)
  }
}
