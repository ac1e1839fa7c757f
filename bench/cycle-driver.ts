/**
 * Sends cycles back to back from a child process, so that the process which measures the other load stays idle. Makes all
 * bodies before the first cycle and checks all responses after the last. Forked by mixed.ts; sends `ready`, waits for
 * `go`, and sends the figures.
 */
import { parseResponse } from './check.js'
import { expectStatus } from '../test/harness/http.js'
import { uncountedCycleCount } from './cycles.js'
import type { DriverFigures, DriverPlan } from './mixed.js'
import { untilIdle } from './idle.js'
import { responseBytesMax, RawConnection } from './raw-connection.js'
import { worldCycles, type WorldCycle } from '../test/harness/world.js'

/** Responses have the same posts and different scores: the most bytes by which their lengths may differ. */
const responseBytesSlack = 64 * 1024

process.once('message', (plan: DriverPlan) => {
  drive(plan).then(
    (figures) => {
      process.send?.({ kind: 'done', figures })
      process.disconnect()
    },
    (error: unknown) => {
      process.send?.({ kind: 'failed', reason: String(error) })
      process.disconnect()
    },
  )
})

async function drive({ address, shape, cycleCount }: DriverPlan): Promise<DriverFigures> {
  const world = worldCycles(shape)
  const connection = new RawConnection(address, Buffer.alloc(responseBytesMax))
  const copyBytesMax = responseBytesSlack + (await prepare(connection, world))
  const cycles = Array.from({ length: cycleCount }, () => ({
    cycle: world.next().value,
    // Filled, because the kernel allocates memory at the first write, which takes time.
    copy: Buffer.alloc(copyBytesMax, 1),
  }))
  const go = new Promise((resolve) => process.once('message', resolve))
  await untilIdle()
  process.send?.({ kind: 'ready' })
  await go
  connection.takeBusyShare()
  const responses: { cycle: WorldCycle; response: Buffer; tookMs: number }[] = []
  const startedAt = performance.now()
  for (const { cycle, copy } of cycles) {
    const reply = await connection.post({ path: '/v1/cycles', body: cycle.request })
    const response = expectStatus(reply, 200, `POST of cycle ${cycle.cycleId}`)
    const byteCount = response.copy(copy)
    if (byteCount < response.length) throw new Error(`the response to cycle ${cycle.cycleId} is too long`)
    responses.push({ cycle, response: copy.subarray(0, byteCount), tookMs: reply.tookMs })
  }
  const tookS = (performance.now() - startedAt) / 1000
  const clientBusyShare = connection.takeBusyShare()
  connection.close()
  for (const { cycle, response } of responses) parseResponse(cycle, response)
  return {
    samplesMs: responses.map(({ tookMs }) => tookMs),
    tookS,
    bytes: responses.reduce(
      (total, { cycle, response }) => total + cycle.request.length + response.length,
      0,
    ),
    clientBusyShare,
  }
}

/** Sends the ramp and the warm-up. Returns the length of the last response. */
async function prepare(connection: RawConnection, world: Generator<WorldCycle, never>): Promise<number> {
  for (let i = 1; ; i++) {
    const cycle = world.next().value
    const reply = await connection.post({ path: '/v1/cycles', body: cycle.request })
    parseResponse(cycle, expectStatus(reply, 200, `POST of cycle ${cycle.cycleId}`))
    if (i === uncountedCycleCount) return reply.body.length
  }
}
