/**
 * How long is a cycle, as its client sees it? Cycles one after the other, each with a body of its own.
 */
import type { CycleResponse } from '../src/contract/index.js'
import { Client, expectStatus, type Address } from './client.js'
import type { FloorProbe } from './floor/floor-probe.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { withServer, type ServerOptions, type ServerUnderTest } from './server-under-test.js'
import { sum } from './statistics.js'
import { rampCycleCount, worldCycles, type WorldCycle, type WorldShape } from './world.js'

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
  return withServer(options.server ?? {}, async (server) => {
    const floor = (await options.openFloor?.(server)) ?? null
    const client = new Client(server)
    try {
      return await runCycles(options, server, client, floor)
    } finally {
      client.close()
      await floor?.close()
    }
  })
}

async function runCycles(
  { scenario, shape, cycleCount }: CycleRunOptions,
  server: ServerUnderTest,
  client: Client,
  floor: FloorProbe | null,
): Promise<Measurement> {
  const world = worldCycles(shape)
  const samplesMs: number[] = []
  const rssMib: number[] = []
  let cycle = await lead(client, world, floor)
  let response: Buffer = Buffer.alloc(0)
  let bytes = 0
  let cpuMs: number | null = 0
  client.takeBusyShare()
  const before = server.usage()
  for (let i = 0; i < cycleCount; i++) {
    cycle = world.next().value
    const reply = await postCycle(client, cycle)
    samplesMs.push(reply.tookMs)
    response = reply.response
    bytes += cycle.request.length + response.length
    const { rssMib: rss, cpuMs: cpuNow } = server.usage()
    cpuMs = cpuNow
    if (rss !== null && (i + 1) % Math.ceil(cycleCount / rssSampleCount) === 0) rssMib.push(rss)
    await floor?.sample(cycle, response)
  }
  const clientBusyShare = client.takeBusyShare()
  const after = { ...server.usage(), cpuMs }
  await expectStored(client, cycle, response)
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
  client: Client,
  world: Generator<WorldCycle, never>,
  floor: FloorProbe | null,
): Promise<WorldCycle> {
  let cycle = world.next().value
  for (let i = 1; ; i++) {
    const { response } = await postCycle(client, cycle)
    if (i > rampCycleCount) await floor?.warmUp(cycle, response)
    if (i === leadCycleCount) {
      await expectStored(client, cycle, response)
      return cycle
    }
    cycle = world.next().value
  }
}

/** Brings the posts of a shape in; returns the last cycle with its answer. */
export async function fillPool(
  address: Address,
  shape: WorldShape,
): Promise<{ cycle: WorldCycle; response: Buffer }> {
  const client = new Client(address)
  const world = worldCycles(shape)
  try {
    for (let i = 1; ; i++) {
      const cycle = world.next().value
      const { response } = await postCycle(client, cycle)
      if (i === rampCycleCount + 1) return { cycle, response }
    }
  } finally {
    client.close()
  }
}

/** One cycle, checked: status, counts, and a score for every pending post. */
export async function postCycle(
  client: Client,
  cycle: WorldCycle,
): Promise<{ readonly response: Buffer; readonly tookMs: number }> {
  const reply = await client.send({ method: 'POST', path: '/v1/cycles', body: cycle.request })
  const response = expectStatus(reply, 200, `POST of cycle ${cycle.cycleId}`)
  checkResponse(cycle, JSON.parse(response.toString()) as CycleResponse)
  return { response, tookMs: reply.tookMs }
}

/** Throws when a response is not the answer to its cycle. */
export function checkResponse({ cycleId, counts }: WorldCycle, response: CycleResponse): void {
  const wanted: CycleResponse['counts'] = {
    ...counts,
    scored_now: counts.engagement,
    waiting: 0,
    not_scored: 0,
    results: counts.engagement,
  }
  const wrong = Object.entries(wanted).filter(
    ([name, count]) => response.counts[name as keyof typeof wanted] !== count,
  )
  const scored = sum(
    response.results.map(({ status, score }) => Number(status === 'scored' && typeof score === 'number')),
  )
  if (response.cycle_id !== cycleId || wrong.length > 0 || scored !== counts.engagement) {
    throw new Error(
      `cycle ${cycleId} was answered with ${JSON.stringify(response.counts)} and ${scored} scores; wanted ${JSON.stringify(wanted)}`,
    )
  }
}

/** GET must give the bytes that POST gave. */
async function expectStored(client: Client, { cycleId }: WorldCycle, response: Buffer): Promise<void> {
  const reply = await client.send({ method: 'GET', path: `/v1/scores/${cycleId}` })
  if (!expectStatus(reply, 200, `GET of cycle ${cycleId}`).equals(response)) {
    throw new Error(`GET of cycle ${cycleId} differs from its POST`)
  }
}
