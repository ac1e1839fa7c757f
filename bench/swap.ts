/**
 * Does a change of the model cost anything? Full cycles one after the other while `ACTIVE` goes back and forth between
 * two versions. No cycle may be lost, and each must name the version that scored it.
 */
import { createHash } from 'node:crypto'
import type { CycleResponse } from '../src/contract/index.js'
import { Client, expectStatus } from './client.js'
import { leadCycleCount, postCycle } from './cycles.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { modelVersions, name, writeTwoModels } from './two-models.js'
import { worldCycles, type WorldCycle } from './world.js'

/** Cycles far from a swap that are counted. */
const farCountDefault = 120
/** Cycles between the end of one swap and the beginning of the next: a few seconds of them. */
const farPerSwap = 20
/** Cycles after the first answer of the new version that still count as near. */
const settleCount = 5
const swapMsMax = 60_000

interface Figures {
  readonly near: number[]
  readonly far: number[]
  bytes: number
  swapCount: number
  /** From the change of `ACTIVE` to the first answer of the new version. */
  readonly swapMs: number[]
}

export async function measureSwap(size: RunSize): Promise<Measurement[]> {
  const shape = scaledShape(cycleScenarios.full.shape, size.scale)
  return withServer({}, async (server) => {
    const modelsDir = writeTwoModels(server.scratchDir)
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir })
    const run = new SwapRun(server, modelsDir, worldCycles(shape))
    const before = server.usage()
    const figures = await run.measure(size.cycleCount ?? farCountDefault)
    const clientBusyShare = run.client.takeBusyShare()
    const after = server.usage()
    await run.expectAllStored()
    run.client.close()
    const report = await server.stop()
    // CPU time of the swap itself is in no cycle.
    const shared = { clientBusyShare, before: { ...before, cpuMs: null }, after: { ...after, cpuMs: null } }
    const { near, far, swapCount, swapMs } = figures
    const note = `${swapCount} swaps, each ${Math.round(Math.min(...swapMs))} to ${Math.round(Math.max(...swapMs))} ms after ACTIVE changed; no cycle lost`
    const share = figures.bytes / (near.length + far.length)
    const row = (scenario: string, samplesMs: readonly number[]): Measurement =>
      measurementOf({
        scenario,
        ...{ samplesMs, report, ...shared, details: { note } },
        busyS: sequentialS(samplesMs),
        bytes: share * samplesMs.length,
      })
    return [row('swap: near', near), row('swap: far', far)]
  })
}

class SwapRun {
  readonly client: Client
  readonly #modelsDir: string
  readonly #world: Generator<WorldCycle, never>
  readonly #answers = new Map<string, string>()
  #serving: string = modelVersions[0]

  constructor(server: ServerUnderTest, modelsDir: string, world: Generator<WorldCycle, never>) {
    this.client = new Client(server)
    this.#modelsDir = modelsDir
    this.#world = world
  }

  async measure(farCount: number): Promise<Figures> {
    const figures: Figures = { near: [], far: [], bytes: 0, swapCount: 0, swapMs: [] }
    for (let i = 0; i < leadCycleCount; i++) await this.#cycle()
    this.client.takeBusyShare()
    while (figures.far.length < farCount) {
      const round = Math.min(farPerSwap, farCount - figures.far.length)
      for (let i = 0; i < round; i++) figures.far.push(await this.#counted(figures))
      await this.#swap(figures)
    }
    return figures
  }

  /** GET gives the bytes that POST gave, for every cycle, whichever version scored it. */
  async expectAllStored(): Promise<void> {
    for (const [cycleId, digest] of this.#answers) {
      const reply = await this.client.send({ method: 'GET', path: `/v1/scores/${cycleId}` })
      if (digestOf(expectStatus(reply, 200, `GET of cycle ${cycleId}`)) !== digest)
        throw new Error(`GET of cycle ${cycleId} differs from its POST`)
    }
  }

  async #swap(figures: Figures): Promise<void> {
    const wanted = modelVersions.find((version) => version !== this.#serving) ?? modelVersions[0]
    name(this.#modelsDir, 'ACTIVE', wanted)
    const startedAt = performance.now()
    while (this.#serving !== wanted) {
      if (performance.now() - startedAt > swapMsMax) throw new Error(`${wanted} does not come to serve`)
      figures.near.push(await this.#counted(figures))
    }
    figures.swapMs.push(performance.now() - startedAt)
    figures.swapCount++
    for (let i = 0; i < settleCount; i++) figures.near.push(await this.#counted(figures))
  }

  async #counted(figures: Figures): Promise<number> {
    const { tookMs, bytes } = await this.#cycle()
    figures.bytes += bytes
    return tookMs
  }

  async #cycle(): Promise<{ tookMs: number; bytes: number }> {
    const cycle = this.#world.next().value
    const { response, tookMs } = await postCycle(this.client, cycle)
    const { model_version } = JSON.parse(response.toString()) as CycleResponse
    if (!modelVersions.some((version) => version === model_version))
      throw new Error(`cycle ${cycle.cycleId} was scored by ${model_version}`)
    this.#serving = model_version
    this.#answers.set(cycle.cycleId, digestOf(response))
    return { tookMs, bytes: cycle.request.length + response.length }
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
