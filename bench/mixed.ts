/**
 * Do large cycles delay other requests? Sends health checks and images at fixed rates while full cycles run back to back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, expectStatus, type Address, type Call, type Reply } from '../test/harness/http.js'
import { measurementOf, type Measurement } from './measurement.js'
import { photographs } from '../test/harness/jpeg.js'
import { forkScript } from './project.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer } from './server-under-test.js'
import type { WorldShape } from '../test/harness/world.js'

/** Message that starts the process which sends the cycles. */
export interface DriverPlan {
  readonly address: Address
  readonly shape: WorldShape
  readonly cycleCount: number
}

export interface DriverFigures {
  readonly samplesMs: readonly number[]
  readonly tookS: number
  readonly bytes: number
  readonly clientBusyShare: number
}

type DriverMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly figures: DriverFigures }
  | { readonly kind: 'failed'; readonly reason: string }

const healthPerSecond = 100
/** More than a simulated day needs. */
const imagesPerSecond = 10
/** Bounded by memory: the driver holds all bodies, of 5.5 MB each. */
const cycleCountDefault = 120
const connectionCount = 32

export async function measureMixed(size: RunSize): Promise<Measurement[]> {
  const jpegOf = await photographs()
  return withServer({}, async (server) => {
    const address = { port: server.port, key: server.key }
    const driver = startDriver({
      address,
      shape: scaledShape(cycleScenarios.full.shape, size.scale),
      cycleCount: size.cycleCount ?? cycleCountDefault,
    })
    await driver.ready
    const client = new Client(address, connectionCount)
    const before = server.usage()
    const startedAt = performance.now()
    const cpu = process.cpuUsage()
    const done = driver.go()
    const [cycles, health, images] = await Promise.all([
      done,
      atFixedRate(healthPerSecond, done, () => send(client, { method: 'GET', path: '/v1/health' }, 200)),
      atFixedRate(imagesPerSecond, done, (number) => {
        const path = `/v1/images/bench/${number + 1}/01`
        return send(client, { method: 'PUT', path, body: jpegOf(number) }, 201)
      }),
    ])
    const tookS = (performance.now() - startedAt) / 1000
    const { user, system } = process.cpuUsage(cpu)
    const clientBusyShare = (user + system) / 1e6 / tookS
    client.close()
    const after = server.usage()
    await server.kill('SIGTERM')
    // With three kinds of requests at once, the CPU time of one is unknown.
    const shared = { before: { ...before, cpuMs: null }, after: { ...after, cpuMs: null } }
    const row = (scenario: string, figures: RateFigures): Measurement =>
      measurementOf({ scenario, ...shared, ...figures, busyS: tookS, clientBusyShare })
    return [
      measurementOf({
        scenario: 'mixed: cycles',
        ...shared,
        ...cycles,
        busyS: cycles.tookS,
        details: { stages: server.stages() },
      }),
      row('mixed: health', health),
      row('mixed: images', images),
    ]
  })
}

function startDriver(plan: DriverPlan): { ready: Promise<void>; go: () => Promise<DriverFigures> } {
  const child = forkScript('cycle-driver.ts', ['--max-old-space-size=4096'])
  let figures: (figures: DriverFigures) => void
  let ready: () => void
  let fail: (error: Error) => void
  const whenReady = new Promise<void>((resolve) => (ready = resolve))
  const whenDone = new Promise<DriverFigures>((resolve, reject) => {
    figures = resolve
    fail = reject
  })
  child.on('message', (message: DriverMessage) => {
    if (message.kind === 'ready') ready()
    else if (message.kind === 'done') figures(message.figures)
    else fail(new Error(message.reason))
  })
  child.once('exit', () => fail(new Error('the cycle driver has ended')))
  child.send(plan)
  return {
    ready: Promise.race([whenReady, whenDone.then(() => undefined)]),
    go: () => {
      child.send('go')
      return whenDone
    },
  }
}

export interface RateFigures {
  readonly samplesMs: readonly number[]
  readonly bytes: number
}

/**
 * Calls at a fixed rate until `end` settles, without waiting for responses, so that a slow response delays no later call
 * (no coordinated omission). autocannon sends its rate in one burst per second, which would miss delays between bursts.
 */
export async function atFixedRate(
  perSecond: number,
  end: Promise<unknown>,
  call: (number: number) => Promise<{ tookMs: number; bytes: number }>,
): Promise<RateFigures> {
  const responses: Promise<{ tookMs: number; bytes: number }>[] = []
  const startedAt = performance.now()
  let ended = false
  const stop = (): void => void (ended = true)
  const watch = end.then(stop, stop)
  const isRunning = (): boolean => !ended
  while (isRunning()) {
    const dueMs = startedAt + (responses.length * 1000) / perSecond - performance.now()
    if (dueMs > 0) await Promise.race([sleep(dueMs), watch])
    if (!isRunning()) break
    const response = call(responses.length)
    // Promise.all below reports the error.
    response.catch(() => undefined)
    responses.push(response)
  }
  const all = await Promise.all(responses)
  return {
    samplesMs: all.map(({ tookMs }) => tookMs),
    bytes: all.reduce((total, { bytes }) => total + bytes, 0),
  }
}

async function send(client: Client, call: Call, status: number): Promise<{ tookMs: number; bytes: number }> {
  const reply: Reply = await client.send(call)
  expectStatus(reply, status, `${call.method} ${call.path}`)
  return { tookMs: reply.tookMs, bytes: reply.body.length + (call.body?.length ?? 0) }
}
