/**
 * How many requests of each operation per second, from one connection to many? autocannon sends them to a server and, in
 * turn with it, to a bare one, which receives and sends the same bytes and flushes what becomes durable.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { BareResponse } from './floor/bare-server.js'
import { Client, expectStatus, type Address } from '../test/harness/http.js'
import { photographs } from '../test/harness/jpeg.js'
import { load, type LoadFigures, type LoadOptions } from './load.js'
import { measurementOf, type Measurement } from './measurement.js'
import { forkScript } from './project.js'
import { scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { rampCycleCount, worldCycles, type WorldCycle } from '../test/harness/world.js'

/** A cycle of the volume that the contract expects, in which few posts enter. */
const shape = { pending: 600, turnover: 8, snapshotShare: 0, bodyChars: 600 }
const connectionSteps = [1, 4, 16, 64]
/** New cycles wait for each other, and only five are admitted at a time. */
const newCycleSteps = [1]
/** A measurement takes this part of the duration of a scenario: there are dozens of them. */
const secondsShare = 0.2

interface Operation {
  readonly name: string
  readonly request: LoadOptions['request']
  readonly nextRequest?: LoadOptions['nextRequest']
  readonly expectedStatus: 200 | 401
  /** Without it: that of the server. */
  readonly key?: string
  readonly isDurable?: boolean
  readonly steps?: readonly number[]
}

export async function measureThroughput(size: RunSize): Promise<Measurement[]> {
  return withServer({}, async (server) => {
    const bare = await BareServer.open(server.scratchDir)
    try {
      const rows: Measurement[] = []
      for (const operation of await operationsOf(server, size)) {
        await bare.imitate(operation, await responseTo(operation, server))
        for (const connectionCount of operation.steps ?? stepsOf(size))
          rows.push(await measure(operation, connectionCount, { server, bare, size }))
      }
      return rows
    } finally {
      bare.close()
    }
  })
}

/** A run of a small size shows that the scenario works. */
function stepsOf({ scale }: RunSize): readonly number[] {
  return scale === 1 ? connectionSteps : connectionSteps.slice(0, 2)
}

async function operationsOf(server: ServerUnderTest, { scale }: RunSize): Promise<Operation[]> {
  const cycles = worldCycles(scaledShape(shape, scale))
  const stored = await fill(server, cycles)
  const image = { path: '/v1/images/bench/1/01', body: (await photographs())(1), contentType: 'image/jpeg' }
  await put(server, image)
  const postCycle = { method: 'POST', path: '/v1/cycles', contentType: 'application/json' } as const
  let placement = 0
  const outcome = (): string =>
    JSON.stringify({
      outcomes: [
        {
          placement_id: `p${++placement}`,
          gall_id: 'bench',
          post_no: 1,
          tier: 'main',
          placed_at: '2025-03-03T00:00:00Z',
          picked_by: { type: 'operator' },
        },
      ],
    })
  return [
    { name: 'health', request: { method: 'GET', path: '/v1/health' }, expectedStatus: 200 },
    {
      name: 'refused key',
      request: { method: 'GET', path: '/v1/weights' },
      key: 'not-the-key',
      expectedStatus: 401,
    },
    {
      name: 'stored scores',
      request: { method: 'GET', path: `/v1/scores/${stored.cycleId}` },
      expectedStatus: 200,
    },
    {
      name: 'repeated cycle',
      request: { ...postCycle, body: stored.request },
      expectedStatus: 200,
    },
    { name: 'repeated image', request: { method: 'PUT', ...image }, expectedStatus: 200 },
    {
      name: 'outcome',
      request: { method: 'POST', path: '/v1/outcomes', contentType: 'application/json' },
      nextRequest: () => ({ path: '/v1/outcomes', body: Buffer.from(outcome()) }),
      expectedStatus: 200,
      isDurable: true,
    },
    {
      name: 'new cycle',
      request: postCycle,
      nextRequest: () => ({ path: '/v1/cycles', body: cycles.next().value.request }),
      expectedStatus: 200,
      isDurable: true,
      steps: newCycleSteps,
    },
  ]
}

/** Fills the pool. Returns a cycle that is stored. */
async function fill(server: ServerUnderTest, cycles: Generator<WorldCycle, never>): Promise<WorldCycle> {
  const client = new Client(server)
  for (let count = 1; ; count++) {
    const cycle = cycles.next().value
    const reply = await client.send({ method: 'POST', path: '/v1/cycles', body: cycle.request })
    expectStatus(reply, 200, `cycle ${cycle.cycleId}`)
    if (count <= rampCycleCount) continue
    client.close()
    return cycle
  }
}

async function put(server: ServerUnderTest, image: { path: string; body: Buffer }): Promise<void> {
  const client = new Client(server)
  const headers = { 'content-type': 'image/jpeg' }
  expectStatus(await client.send({ method: 'PUT', ...image, headers }), 201, 'a new image')
  client.close()
}

/** The bytes of one response, which all others of the operation resemble. */
async function responseTo(operation: Operation, server: ServerUnderTest): Promise<Buffer> {
  const { request, nextRequest, expectedStatus, name } = operation
  const client = new Client(addressFor(operation, server))
  const headers: Record<string, string> =
    request.contentType === undefined ? {} : { 'content-type': request.contentType }
  const reply = await client.send({ ...request, ...nextRequest?.(), headers })
  client.close()
  return expectStatus(reply, expectedStatus, name)
}

function addressFor({ key }: Operation, server: ServerUnderTest): Address {
  return { port: server.port, key: key ?? server.key }
}

interface Servers {
  readonly server: ServerUnderTest
  readonly bare: BareServer
  readonly size: RunSize
}

async function measure(
  operation: Operation,
  connectionCount: number,
  { server, bare, size }: Servers,
): Promise<Measurement> {
  const { request, nextRequest, expectedStatus } = operation
  const options: Omit<LoadOptions, 'address'> = {
    connectionCount,
    seconds: size.seconds * secondsShare,
    request,
    ...(nextRequest === undefined ? {} : { nextRequest }),
    expectedStatus,
  }
  const floor = await load({ ...options, address: bare.address })
  const before = server.usage()
  const figures = await load({ ...options, address: addressFor(operation, server) })
  return measurementOf({
    scenario: `throughput: ${operation.name} × ${connectionCount}`,
    samplesMs: figures.samplesMs,
    busyS: figures.tookS,
    bytes: figures.bytes,
    clientBusyShare: figures.clientBusyShare,
    before,
    after: server.usage(),
    details: {
      throughput: { operation: operation.name, connectionCount, floorPerSecond: perSecond(floor) },
    },
  })
}

function perSecond({ samplesMs, tookS }: LoadFigures): number {
  return samplesMs.length / tookS
}

class BareServer {
  readonly address: Address
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.address = { port, key: 'none' }
  }

  /** `scratchDir` must be on the disk of the server's data. */
  static async open(scratchDir: string): Promise<BareServer> {
    const child = forkScript('floor/bare-server.ts', [], [scratchDir])
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message) => resolve((message as { port: number }).port))
      child.once('exit', () => reject(new Error('the bare server ended during its start')))
    })
    return new BareServer(child, port)
  }

  /** From now on, sends responses of this form. */
  async imitate({ expectedStatus, isDurable = false }: Operation, response: Buffer): Promise<void> {
    const status = expectedStatus === 200 ? '200 OK' : '401 Unauthorized'
    const ready = once(this.#child, 'message')
    this.#child.send({ status, bytes: response.length, isDurable } satisfies BareResponse)
    await ready
  }

  close(): void {
    this.#child.kill()
  }
}
