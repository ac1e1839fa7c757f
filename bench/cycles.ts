/**
 * How long is a cycle, as its client sees it? Cycles one after the other, each with a body of its own.
 */
import { Client, expectStatus, type Address } from './client.js'
import type { FloorProbe } from './floor/floor-probe.js'
import { withMaker, type CycleMaker } from './maker.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { withServer, type ServerOptions, type ServerUnderTest } from './server-under-test.js'
import type { Wire } from './wire.js'
import { rampCycleCount, type WorldCycle, type WorldShape } from './world.js'

/** Cycles behind the ramp that are not counted: the server's code has then been compiled for them. */
export const warmupCycleCount = 5
/** Cycles before anything counts. */
export const leadCycleCount = rampCycleCount + warmupCycleCount

const rssSampleCount = 10

export interface CycleRunOptions {
  readonly scenario: string
  readonly shape: WorldShape
  readonly cycleCount: number
  readonly server?: ServerOptions
  /** Samples the floor beside each cycle. */
  readonly openFloor?: (server: ServerUnderTest) => Promise<FloorProbe>
}

export async function measureCycles(options: CycleRunOptions): Promise<Measurement> {
  return withServer(options.server ?? {}, (server) =>
    withMaker(options.shape, async (maker) => {
      const floor = (await options.openFloor?.(server)) ?? null
      try {
        return await runCycles(options, server, maker, floor)
      } finally {
        await floor?.close()
      }
    }),
  )
}

async function runCycles(
  { scenario, cycleCount }: CycleRunOptions,
  server: ServerUnderTest,
  maker: CycleMaker,
  floor: FloorProbe | null,
): Promise<Measurement> {
  const wire = maker.wireTo(server)
  const samplesMs: number[] = []
  const rssMib: number[] = []
  let cycle = await lead(server, wire, maker, floor)
  let response: Buffer = Buffer.alloc(0)
  let bytes = 0
  let cpuMs: number | null = 0
  wire.takeBusyShare()
  const before = server.usage()
  for (let i = 0; i < cycleCount; i++) {
    cycle = await maker.next()
    const reply = await maker.post(wire, cycle)
    samplesMs.push(reply.tookMs)
    response = reply.response
    bytes += cycle.request.length + response.length
    const { rssMib: rss, cpuMs: cpuNow } = server.usage()
    cpuMs = cpuNow
    if (rss !== null && (i + 1) % Math.ceil(cycleCount / rssSampleCount) === 0) rssMib.push(rss)
    await floor?.sample(cycle, response)
  }
  const clientBusyShare = wire.takeBusyShare()
  const after = { ...server.usage(), cpuMs }
  await expectStored(server, cycle, response)
  const floorFigures = await floor?.figures(cycle, samplesMs)
  const report = await server.stop()
  return measurementOf({
    scenario,
    samplesMs,
    busyS: sequentialS(samplesMs),
    bytes,
    clientBusyShare,
    before,
    after,
    report,
    details: {
      requestBytes: cycle.request.length,
      responseBytes: response.length,
      rssMib,
      ...(report === null ? {} : { stages: report.stages_ms }),
      ...(floorFigures === undefined ? {} : { floor: floorFigures }),
    },
  })
}

/** Ramp and warm-up; the last of them is checked in full before the clock starts. */
async function lead(
  server: Address,
  wire: Wire,
  maker: CycleMaker,
  floor: FloorProbe | null,
): Promise<WorldCycle> {
  for (let i = 1; ; i++) {
    const cycle = await maker.next()
    const { response } = await maker.post(wire, cycle)
    if (i > rampCycleCount) await floor?.warmUp(cycle, response)
    if (i < leadCycleCount) continue
    await expectStored(server, cycle, response)
    return cycle
  }
}

/** Brings the posts of a shape in; returns the last cycle with its answer. */
export async function fillPool(
  address: Address,
  shape: WorldShape,
): Promise<{ cycle: WorldCycle; response: Buffer }> {
  return withMaker(shape, async (maker) => {
    const wire = maker.wireTo(address)
    for (let i = 1; ; i++) {
      const cycle = await maker.next()
      const { response } = await maker.post(wire, cycle)
      if (i <= rampCycleCount) continue
      // Copies: a view would keep all of the maker's memory.
      return { cycle: { ...cycle, request: Buffer.from(cycle.request) }, response: Buffer.from(response) }
    }
  })
}

/** GET must give the bytes that POST gave. */
async function expectStored(address: Address, { cycleId }: WorldCycle, response: Buffer): Promise<void> {
  const client = new Client(address)
  const reply = await client.send({ method: 'GET', path: `/v1/scores/${cycleId}` })
  client.close()
  if (!expectStatus(reply, 200, `GET of cycle ${cycleId}`).equals(response)) {
    throw new Error(`GET of cycle ${cycleId} differs from its POST`)
  }
}
