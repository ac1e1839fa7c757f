/**
 * How long does a cycle take for its client? Sends cycles one after the other, each with a different body.
 */
import { Client, expectStatus, type Address } from '../test/harness/http.js'
import type { FloorProbe } from './floor/floor-probe.js'
import { withGenerator, type CycleGenerator } from './cycle-generator.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { withServer, type ServerOptions, type ServerUnderTest } from './server-under-test.js'
import type { RawConnection } from './raw-connection.js'
import { rampCycleCount, type WorldCycle, type WorldShape } from '../test/harness/world.js'

/** Uncounted cycles after the ramp, during which V8 compiles the server's code. */
export const warmupCycleCount = 5
/** Cycles of ramp and warm-up, before the first counted one. */
export const uncountedCycleCount = rampCycleCount + warmupCycleCount

const rssSampleCount = 10

export interface CycleRunOptions {
  readonly scenario: string
  readonly shape: WorldShape
  readonly cycleCount: number
  readonly server?: ServerOptions
  /** Opens a probe that samples the floor after each cycle. */
  readonly openFloor?: (server: ServerUnderTest) => Promise<FloorProbe>
}

export async function measureCycles(options: CycleRunOptions): Promise<Measurement> {
  return withServer(options.server ?? {}, (server) =>
    withGenerator(options.shape, async (generator) => {
      const floor = (await options.openFloor?.(server)) ?? null
      try {
        return await runCycles(options, server, generator, floor)
      } finally {
        await floor?.close()
      }
    }),
  )
}

async function runCycles(
  { scenario, cycleCount }: CycleRunOptions,
  server: ServerUnderTest,
  generator: CycleGenerator,
  floor: FloorProbe | null,
): Promise<Measurement> {
  const connection = generator.connectTo(server)
  const samplesMs: number[] = []
  const rssMib: number[] = []
  let cycle = await prepare(server, connection, generator, floor)
  let response: Buffer = Buffer.alloc(0)
  let bytes = 0
  let cpuMs: number | null = 0
  connection.takeBusyShare()
  const before = server.usage()
  for (let i = 0; i < cycleCount; i++) {
    cycle = await generator.next()
    const reply = await generator.post(connection, cycle)
    samplesMs.push(reply.tookMs)
    response = reply.response
    bytes += cycle.request.length + response.length
    const { rssMib: rss, cpuMs: cpuNow } = server.usage()
    cpuMs = cpuNow
    if (rss !== null && (i + 1) % Math.ceil(cycleCount / rssSampleCount) === 0) rssMib.push(rss)
    await floor?.sample(cycle, response)
  }
  const clientBusyShare = connection.takeBusyShare()
  const after = { ...server.usage(), cpuMs }
  await expectStored(server, cycle, response)
  const floorFigures = await floor?.figures(cycle, samplesMs)
  await server.kill('SIGTERM')
  return measurementOf({
    scenario,
    samplesMs,
    busyS: sequentialS(samplesMs),
    bytes,
    clientBusyShare,
    before,
    after,
    details: {
      requestBytes: cycle.request.length,
      responseBytes: response.length,
      rssMib,
      stages: server.stages(),
      ...(floorFigures === undefined ? {} : { floor: floorFigures }),
    },
  })
}

/** Sends the ramp and the warm-up. Checks the last cycle in full. */
async function prepare(
  server: Address,
  connection: RawConnection,
  generator: CycleGenerator,
  floor: FloorProbe | null,
): Promise<WorldCycle> {
  for (let i = 1; ; i++) {
    const cycle = await generator.next()
    const { response } = await generator.post(connection, cycle)
    if (i > rampCycleCount) await floor?.warmUp(cycle, response)
    if (i < uncountedCycleCount) continue
    await expectStored(server, cycle, response)
    return cycle
  }
}

/** Fills the pool with the posts of a shape. Returns the last cycle with its response. */
export async function fillPool(
  address: Address,
  shape: WorldShape,
): Promise<{ cycle: WorldCycle; response: Buffer }> {
  return withGenerator(shape, async (generator) => {
    const connection = generator.connectTo(address)
    for (let i = 1; ; i++) {
      const cycle = await generator.next()
      const { response } = await generator.post(connection, cycle)
      if (i <= rampCycleCount) continue
      // Copies, because a view would keep all memory of the generator alive.
      return { cycle: { ...cycle, request: Buffer.from(cycle.request) }, response: Buffer.from(response) }
    }
  })
}

/** Checks that GET returns the bytes that POST returned. */
async function expectStored(address: Address, { cycleId }: WorldCycle, response: Buffer): Promise<void> {
  const client = new Client(address)
  const reply = await client.send({ method: 'GET', path: `/v1/scores/${cycleId}` })
  client.close()
  if (!expectStatus(reply, 200, `GET of cycle ${cycleId}`).equals(response)) {
    throw new Error(`GET of cycle ${cycleId} differs from its POST`)
  }
}
