/**
 * Cycles back to back from a process of its own, so that the other load beside them is measured by an idle client.
 * All bodies are made before the first is sent, and the answers are checked behind the last, so that nothing else is
 * done in between. Forked by mixed.ts; says `ready`, waits for `go`, tells the figures.
 */
import { checkAnswer } from './check.js'
import { expectStatus } from './client.js'
import { leadCycleCount } from './cycles.js'
import type { DriverFigures, DriverPlan } from './mixed.js'
import { quiet } from './quiet.js'
import { answerBytesMax, Wire } from './wire.js'
import { worldCycles, type WorldCycle } from './world.js'

/** Answers name as many posts, with other scores: this is what those may add. */
const answerBytesSlack = 64 * 1024

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
  const wire = new Wire(address, Buffer.alloc(answerBytesMax))
  const keptBytesMax = answerBytesSlack + (await lead(wire, world))
  const cycles = Array.from({ length: cycleCount }, () => ({
    cycle: world.next().value,
    // Filled: memory is given when it is first written to, which takes time.
    kept: Buffer.alloc(keptBytesMax, 1),
  }))
  const go = new Promise((resolve) => process.once('message', resolve))
  await quiet()
  process.send?.({ kind: 'ready' })
  await go
  wire.takeBusyShare()
  const answers: { cycle: WorldCycle; response: Buffer; tookMs: number }[] = []
  const startedAt = performance.now()
  for (const { cycle, kept } of cycles) {
    const reply = await wire.post({ path: '/v1/cycles', body: cycle.request })
    const response = expectStatus(reply, 200, `POST of cycle ${cycle.cycleId}`)
    const byteCount = response.copy(kept)
    if (byteCount < response.length)
      throw new Error(`cycle ${cycle.cycleId} was answered at too great length`)
    answers.push({ cycle, response: kept.subarray(0, byteCount), tookMs: reply.tookMs })
  }
  const tookS = (performance.now() - startedAt) / 1000
  const clientBusyShare = wire.takeBusyShare()
  wire.close()
  for (const { cycle, response } of answers) checkAnswer(cycle, response)
  return {
    samplesMs: answers.map(({ tookMs }) => tookMs),
    tookS,
    bytes: answers.reduce((total, { cycle, response }) => total + cycle.request.length + response.length, 0),
    clientBusyShare,
  }
}

/** Ramp and warm-up; returns the length of the last answer. */
async function lead(wire: Wire, world: Generator<WorldCycle, never>): Promise<number> {
  for (let i = 1; ; i++) {
    const cycle = world.next().value
    const reply = await wire.post({ path: '/v1/cycles', body: cycle.request })
    checkAnswer(cycle, expectStatus(reply, 200, `POST of cycle ${cycle.cycleId}`))
    if (i === leadCycleCount) return reply.body.length
  }
}
