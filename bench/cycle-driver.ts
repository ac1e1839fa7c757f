/**
 * Cycles back to back from a process of its own, so that the other load beside them is measured by an idle client.
 * All bodies are made before the first is sent. Forked by mixed.ts; says `ready`, waits for `go`, tells the figures.
 */
import { Client } from './client.js'
import { leadCycleCount, postCycle } from './cycles.js'
import type { DriverFigures, DriverPlan } from './mixed.js'
import { worldCycles, type WorldCycle } from './world.js'

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
  const client = new Client(address)
  for (let i = 0; i < leadCycleCount; i++) await postCycle(client, world.next().value)
  const cycles: WorldCycle[] = Array.from({ length: cycleCount }, () => world.next().value)
  const go = new Promise((resolve) => process.once('message', resolve))
  process.send?.({ kind: 'ready' })
  await go
  client.takeBusyShare()
  const samplesMs: number[] = []
  let bytes = 0
  const startedAt = performance.now()
  for (const cycle of cycles) {
    const { response, tookMs } = await postCycle(client, cycle)
    samplesMs.push(tookMs)
    bytes += cycle.request.length + response.length
  }
  const tookS = (performance.now() - startedAt) / 1000
  const clientBusyShare = client.takeBusyShare()
  client.close()
  return { samplesMs, tookS, bytes, clientBusyShare }
}
