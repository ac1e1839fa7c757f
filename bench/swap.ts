/**
 * How much does a model swap delay cycles? Sends full cycles while `ACTIVE` alternates between two versions. No cycle may be
 * lost, and each response must name the version that scored it.
 */
import { createHash } from 'node:crypto'
import { Client, expectStatus } from '../test/harness/http.js'
import { uncountedCycleCount } from './cycles.js'
import { differenceOf, differenceText, type Round } from './difference.js'
import { withGenerator, type CycleGenerator } from './cycle-generator.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { modelVersions, setRole, writeTwoModels } from './two-models.js'
import type { RawConnection } from './raw-connection.js'

/** Counted cycles between swaps. About as many are counted near a swap. */
const farCountDefault = 600
/** Cycles between two swaps: about as many as run during a swap. */
const unaffectedPerSwap = 40
/** Cycles after the first response of the new version that still count as near. */
const settleCount = 10
const swapMsMax = 60_000
const swapBegins = '"msg":"model loading"'

interface Figures {
  /** One round per swap and the cycles before it: `aMs` near the swap, `bMs` far from it. */
  readonly rounds: Round[]
  bytes: number
  /** Time from the change of `ACTIVE` to the first response of the new version. */
  readonly swapMs: number[]
}

export async function measureSwap(size: RunSize): Promise<Measurement[]> {
  const shape = scaledShape(cycleScenarios.full.shape, size.scale)
  return withServer({ env: { UNDERSTUDY_LOG_LEVEL: 'info' } }, async (server) => {
    const modelsDir = writeTwoModels(server.scratchDir)
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir })
    const before = server.usage()
    const { figures, clientBusyShare, after } = await withGenerator(shape, async (generator) => {
      const run = new SwapRun(server, modelsDir, generator)
      const figures = await run.measure(size.cycleCount ?? farCountDefault)
      const clientBusyShare = run.connection.takeBusyShare()
      const after = server.usage()
      await run.expectAllStored()
      return { figures, clientBusyShare, after }
    })
    await server.kill('SIGTERM')
    // CPU time includes the swap, which is not part of a cycle.
    const shared = { clientBusyShare, before: { ...before, cpuMs: null }, after: { ...after, cpuMs: null } }
    const near = figures.rounds.flatMap(({ aMs }) => aMs)
    const far = figures.rounds.flatMap(({ bMs }) => bMs)
    const share = figures.bytes / (near.length + far.length)
    const row = (scenario: string, samplesMs: readonly number[]): Measurement =>
      measurementOf({
        scenario,
        samplesMs,
        ...shared,
        details: { note: noteOf(figures) },
        busyS: sequentialS(samplesMs),
        bytes: share * samplesMs.length,
      })
    return [row('swap: near', near), row('swap: far', far)]
  })
}

function noteOf({ rounds, swapMs }: Figures): string {
  const difference = (part: number): string => differenceText(differenceOf(rounds, part))
  return (
    `${rounds.length} swaps, each ${Math.round(Math.min(...swapMs))} to ${Math.round(Math.max(...swapMs))} ms after ` +
    `ACTIVE changed; no cycle lost\nswap: near minus far: p50 ${difference(0.5)}, p99 ${difference(0.99)}`
  )
}

class SwapRun {
  readonly connection: RawConnection
  readonly #server: ServerUnderTest
  readonly #modelsDir: string
  readonly #generator: CycleGenerator
  readonly #digests = new Map<string, string>()
  #serving: string = modelVersions[0]

  constructor(server: ServerUnderTest, modelsDir: string, generator: CycleGenerator) {
    this.connection = generator.connectTo(server)
    this.#server = server
    this.#modelsDir = modelsDir
    this.#generator = generator
  }

  async measure(farCount: number): Promise<Figures> {
    const figures: Figures = { rounds: [], bytes: 0, swapMs: [] }
    for (let i = 0; i < uncountedCycleCount; i++) await this.#cycle()
    this.connection.takeBusyShare()
    for (let counted = 0; counted < farCount;) {
      const round: { aMs: number[]; bMs: number[] } = { aMs: [], bMs: [] }
      for (let i = 0; i < unaffectedPerSwap; i++) round.bMs.push(await this.#counted(figures))
      await this.#swap(figures, round)
      figures.rounds.push(round)
      counted += round.bMs.length
    }
    return figures
  }

  /** Checks for every cycle that GET returns the bytes that POST returned. */
  async expectAllStored(): Promise<void> {
    const client = new Client(this.#server)
    for (const [cycleId, digest] of this.#digests) {
      const reply = await client.send({ method: 'GET', path: `/v1/scores/${cycleId}` })
      if (digestOf(expectStatus(reply, 200, `GET of cycle ${cycleId}`)) !== digest)
        throw new Error(`GET of cycle ${cycleId} differs from its POST`)
    }
    client.close()
  }

  async #swap(
    figures: Figures,
    { aMs, bMs }: { readonly aMs: number[]; readonly bMs: number[] },
  ): Promise<void> {
    const next = modelVersions.find((version) => version !== this.#serving) ?? modelVersions[0]
    // The service reads the file once a second; cycles before that are not near the swap.
    let samplesMs = bMs
    const begun = this.#server.logged(swapBegins, this.#server.log.length).then(() => void (samplesMs = aMs))
    setRole(this.#modelsDir, 'ACTIVE', next)
    const startedAt = performance.now()
    while (this.#serving !== next) {
      if (performance.now() - startedAt > swapMsMax) throw new Error(`${next} does not begin to serve`)
      const tookMs = await this.#counted(figures)
      // A cycle during which the swap began counts as near.
      samplesMs.push(tookMs)
    }
    await begun
    figures.swapMs.push(performance.now() - startedAt)
    for (let i = 0; i < settleCount; i++) aMs.push(await this.#counted(figures))
  }

  async #counted(figures: Figures): Promise<number> {
    const { tookMs, bytes } = await this.#cycle()
    figures.bytes += bytes
    return tookMs
  }

  async #cycle(): Promise<{ tookMs: number; bytes: number }> {
    const cycle = await this.#generator.next()
    const { response, tookMs, modelVersion } = await this.#generator.post(this.connection, cycle)
    if (!modelVersions.some((version) => version === modelVersion))
      throw new Error(`cycle ${cycle.cycleId} was scored by ${modelVersion}`)
    this.#serving = modelVersion
    this.#digests.set(cycle.cycleId, digestOf(response))
    return { tookMs, bytes: cycle.request.length + response.length }
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
