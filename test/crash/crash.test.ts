/**
 * SIGKILL at random instants, under load and during startup. After each restart everything that was ever acknowledged
 * is requested again. `CRASH_KILLS` kills (`npm run test:crash`), `CRASH_SEED` repeats a run as far as time allows.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Random } from '../harness/rng.js'
import { freePort, ServerProcess } from '../harness/server.js'
import { smallJpeg } from '../harness/jpeg.js'
import { CrashClient } from '../harness/http.js'
import { Load } from './load.js'
import { verifyAgainstUnkilled, verifyOnDisk, verifyOverHttp } from './verify.js'

const killCount = Number(process.env['CRASH_KILLS'] ?? 20)
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
/** Kills of one data directory; the next round begins with an empty one. */
const roundKillsMax = 50
const underLoadMsMax = 400
const duringStartMsMax = 700

const figures = {
  kills: 0,
  duringStart: 0,
  responses: 0,
  resent: 0,
  cycles: 0,
  images: 0,
  requested: 0,
  compared: 0,
}

test.skipIf(process.platform !== 'linux')(
  `${killCount} kills lose nothing that was acknowledged, and leave no process behind`,
  async () => {
    const jpegs = await Promise.all(Array.from({ length: 12 }, (_, index) => smallJpeg(20 * index)))
    for (let round = 0; figures.kills < killCount; round++) {
      const roundSeed = seed + round
      try {
        await runRound(roundSeed, Math.min(roundKillsMax, killCount - figures.kills), jpegs)
      } catch (error) {
        throw new Error(`CRASH_SEED=${roundSeed}, kill ${figures.kills}: ${String(error)}`, { cause: error })
      }
    }
    console.log(`crash: seed ${seed}, ${JSON.stringify(figures)}`)
    expect(figures.kills).toBe(killCount)
  },
  60_000 + killCount * 10_000,
)

async function runRound(roundSeed: number, kills: number, jpegs: readonly Buffer[]): Promise<void> {
  const random = new Random(roundSeed)
  const load = new Load(roundSeed, jpegs)
  const server = new ServerProcess({ UNDERSTUDY_LOG_LEVEL: 'info' })
  // A port is chosen before the first start, so that the process exists at once and can be killed.
  server.port = await freePort()
  try {
    for (let kill = 0; kill < kills; kill++) {
      if (random.chance(0.15)) await killDuringStart(server, random)
      else await killUnderLoad(server, load, random)
      figures.kills++
    }
    await served(server, (client) => restore(load, client))
    await verifyOnDisk(load, server.dataDir)
    figures.responses += load.responseCount
    figures.resent += load.resolvedCount
    figures.cycles += load.cycles.size
    figures.images += load.images.size
  } finally {
    await server.dispose()
  }
  const unkilled = new ServerProcess()
  try {
    figures.compared += await served(unkilled, (client) => verifyAgainstUnkilled(load, client))
  } finally {
    await unkilled.dispose()
  }
}

async function killDuringStart(server: ServerProcess, random: Random): Promise<void> {
  const listens = server.start().then(
    () => undefined,
    () => undefined,
  )
  await Promise.race([listens, delay(random.below(duringStartMsMax))])
  await server.killAll()
  await listens
  figures.duringStart++
}

async function killUnderLoad(server: ServerProcess, load: Load, random: Random): Promise<void> {
  await server.start()
  const client = new CrashClient(server)
  try {
    await restore(load, client)
    const killed = new AbortController()
    const working = (async () => {
      while (!killed.signal.aborted) await load.step(client)
    })()
    await Promise.race([working, delay(random.below(underLoadMsMax))])
    killed.abort()
    const childCount = await server.killAll()
    await working
    expect(childCount).toBeGreaterThan(0)
  } finally {
    client.close()
  }
}

/** Acknowledged records are present, and repeated requests get their responses. */
async function restore(load: Load, client: CrashClient): Promise<void> {
  const { cycles, images } = await verifyOverHttp(load, client)
  figures.requested += cycles + images
  await load.resolve(client)
}

async function served<T>(server: ServerProcess, work: (client: CrashClient) => Promise<T>): Promise<T> {
  await server.start()
  const client = new CrashClient(server)
  try {
    return await work(client)
  } finally {
    client.close()
    await server.kill('SIGKILL')
  }
}
