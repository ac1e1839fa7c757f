/**
 * Does a change of the model cost anything? Full cycles one after the other while `ACTIVE` goes back and forth between
 * two versions. No cycle may be lost, and each must name the version that scored it.
 */
import { createHash } from 'node:crypto'
import { Client, expectStatus } from './client.js'
import { leadCycleCount } from './cycles.js'
import { differenceOf, differenceText, type Round } from './difference.js'
import { withMaker, type CycleMaker } from './maker.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { modelVersions, name, writeTwoModels } from './two-models.js'
import type { Wire } from './wire.js'

/** Cycles far from a swap that are counted, and at least about as many near one. */
const farCountDefault = 600
/** Cycles between the end of one swap and the beginning of the next: as many as a swap takes, about. */
const farPerSwap = 40
/** Cycles after the first answer of the new version that still count as near. */
const settleCount = 10
const swapMsMax = 60_000
const swapBegins = '"msg":"model loading"'

interface Figures {
  /** One a swap, and the cycles before it: `aMs` near, `bMs` far. */
  readonly rounds: Round[]
  bytes: number
  /** From the change of `ACTIVE` to the first answer of the new version. */
  readonly swapMs: number[]
}

export async function measureSwap(size: RunSize): Promise<Measurement[]> {
  const shape = scaledShape(cycleScenarios.full.shape, size.scale)
  return withServer({ env: { UNDERSTUDY_LOG_LEVEL: 'info' } }, async (server) => {
    const modelsDir = writeTwoModels(server.scratchDir)
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir })
    const before = server.usage()
    const { figures, clientBusyShare, after } = await withMaker(shape, async (maker) => {
      const run = new SwapRun(server, modelsDir, maker)
      const figures = await run.measure(size.cycleCount ?? farCountDefault)
      const clientBusyShare = run.wire.takeBusyShare()
      const after = server.usage()
      await run.expectAllStored()
      return { figures, clientBusyShare, after }
    })
    const report = await server.stop()
    // CPU time of the swap itself is in no cycle.
    const shared = { clientBusyShare, before: { ...before, cpuMs: null }, after: { ...after, cpuMs: null } }
    const near = figures.rounds.flatMap(({ aMs }) => aMs)
    const far = figures.rounds.flatMap(({ bMs }) => bMs)
    const share = figures.bytes / (near.length + far.length)
    const row = (scenario: string, samplesMs: readonly number[]): Measurement =>
      measurementOf({
        scenario,
        ...{ samplesMs, report, ...shared, details: { note: noteOf(figures) } },
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
    `ACTIVE changed; no cycle lost\nswap: near less far: p50 ${difference(0.5)}, p99 ${difference(0.99)}`
  )
}

class SwapRun {
  readonly wire: Wire
  readonly #server: ServerUnderTest
  readonly #modelsDir: string
  readonly #maker: CycleMaker
  readonly #answers = new Map<string, string>()
  #serving: string = modelVersions[0]

  constructor(server: ServerUnderTest, modelsDir: string, maker: CycleMaker) {
    this.wire = maker.wireTo(server)
    this.#server = server
    this.#modelsDir = modelsDir
    this.#maker = maker
  }

  async measure(farCount: number): Promise<Figures> {
    const figures: Figures = { rounds: [], bytes: 0, swapMs: [] }
    for (let i = 0; i < leadCycleCount; i++) await this.#cycle()
    this.wire.takeBusyShare()
    for (let counted = 0; counted < farCount;) {
      const round: { aMs: number[]; bMs: number[] } = { aMs: [], bMs: [] }
      for (let i = 0; i < farPerSwap; i++) round.bMs.push(await this.#counted(figures))
      await this.#swap(figures, round)
      figures.rounds.push(round)
      counted += round.bMs.length
    }
    return figures
  }

  /** GET gives the bytes that POST gave, for every cycle, whichever version scored it. */
  async expectAllStored(): Promise<void> {
    const client = new Client(this.#server)
    for (const [cycleId, digest] of this.#answers) {
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
    const wanted = modelVersions.find((version) => version !== this.#serving) ?? modelVersions[0]
    // The service looks at the file once a second: until then, there is no swap to be near to.
    let samplesMs = bMs
    const begun = this.#server.logged(swapBegins).then(() => void (samplesMs = aMs))
    begun.catch(() => undefined)
    name(this.#modelsDir, 'ACTIVE', wanted)
    const startedAt = performance.now()
    while (this.#serving !== wanted) {
      if (performance.now() - startedAt > swapMsMax) throw new Error(`${wanted} does not come to serve`)
      const tookMs = await this.#counted(figures)
      // It is near if the swap began while it was under way.
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
    const cycle = await this.#maker.next()
    const { response, tookMs, modelVersion } = await this.#maker.post(this.wire, cycle)
    if (!modelVersions.some((version) => version === modelVersion))
      throw new Error(`cycle ${cycle.cycleId} was scored by ${modelVersion}`)
    this.#serving = modelVersion
    this.#answers.set(cycle.cycleId, digestOf(response))
    return { tookMs, bytes: cycle.request.length + response.length }
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
