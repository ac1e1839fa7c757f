/**
 * What do the encoders of a model cost, and how much of that is the service? Texts and pictures go through the processes of the service and,
 * in the same run, through bare sessions with the best batch. Then a server swaps to a version with other encoders.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../src/base/index.js'
import type * as Packages from '../src/model/package/read-package.js'
import type * as Plans from '../src/model/sessions/plans.js'
import type * as Hosts from '../src/model/sessions/session-host.js'
import { bodyHtml, titleText, topics } from '../src/simulator/korean-text.js'
import { Rng } from '../src/simulator/rng.js'
import { openBareText, openBareImage, type BareEncoder, type BareEncoders } from './bare-encoders.js'
import {
  encoderVersions,
  imageEncoders,
  realSizes,
  tinySizes,
  writeEncoderModels,
  type EncoderSizes,
} from './encoder-models.js'
import { cpuMsOf, memoryMib, picture } from './encoder-inputs.js'
import { measureEncoderSwap } from './encoder-swap.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { builtModule } from './project.js'
import type { RunSize } from './scenarios.js'
import { median } from './statistics.js'

/** Posts of a day with a text and two pictures each. */
const dayPostCount = 2200
const picturesPerPost = 2
/** Items of a round at scale 1. */
const textCountMax = 200
const pictureCountMax = 64
const rounds = 3
/** Below this scale, which is that of a test, the encoders are tiny. */
const realScaleMin = 0.01
/** As the service calls its encoders in the background. */
const callItems = { text: 200, image: 8 }
const timeLimitMs = 600_000
const bytesMax = 16 * 2 ** 30

/** One encoder in the service and bare. */
interface Contest {
  readonly name: string
  readonly items: readonly Uint8Array[]
  readonly callCount: number
  /** Items of a post. */
  readonly perPost: number
  readonly host: Hosts.EncoderHost
  readonly bare: BareEncoders
}

/** The rounds of a floor. */
interface FloorRounds {
  readonly floor: BareEncoder
  readonly batch: number
  readonly ratios: number[]
  /** Of all rounds: other load of the machine changes it less than the time. */
  cpuMs: number
}

export async function measureEncoders(size: RunSize): Promise<Measurement[]> {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-encoders-'))
  const sizes = size.scale < realScaleMin ? tinySizes : realSizes
  try {
    const modelsDir = join(directory, 'models')
    mkdirSync(modelsDir)
    const [first, second] = encoderVersions
    writeEncoderModels(modelsDir, sizes, { [first]: imageEncoders[0], [second]: imageEncoders[1] })
    const provider = size.provider ?? 'cpu'
    const items = await makeItems(size.scale, sizes)
    const measurements = [
      await measureEncoder(await openContest(modelsDir, first, 'text', items, provider)),
      await measureEncoder(await openContest(modelsDir, first, 'image', items, provider)),
      await measureEncoder(await openContest(modelsDir, second, 'image', items, provider)),
    ]
    return [...measurements, await measureEncoderSwap(modelsDir, { ...size, provider })]
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Items {
  readonly texts: readonly Uint8Array[]
  readonly pictures: readonly Uint8Array[]
}

/** Posts as the service receives them, and pictures as it stores them: of 1024 pixels. */
async function makeItems(scale: number, { imagePixels }: EncoderSizes): Promise<Items> {
  const rng = new Rng('bench encoders')
  const count = (most: number): number => Math.max(8, Math.ceil(most * Math.min(1, 4 * scale)))
  const texts = Array.from({ length: count(textCountMax) }, () => {
    const topic = rng.pick(topics)
    const body = bodyHtml(rng, topic, { charsAim: rng.int(20, 600), imageCount: 2 })
    return Buffer.from(JSON.stringify({ title: titleText(rng, topic), body_html: body }))
  })
  const edge = imagePixels === realSizes.imagePixels ? 1024 : 64
  const pictures = await Promise.all(
    Array.from({ length: count(pictureCountMax) }, (_, index) => picture(index, edge)),
  )
  return { texts, pictures }
}

async function openContest(
  modelsDir: string,
  version: string,
  role: 'text' | 'image',
  { texts, pictures }: Items,
  provider: string,
): Promise<Contest> {
  const { readPackage } = await builtModule<typeof Packages>('model/package/read-package.js')
  const { planModel } = await builtModule<typeof Plans>('model/sessions/plans.js')
  const { openEncoderHost } = await builtModule<typeof Hosts>('model/sessions/session-host.js')
  const plans = planModel(await readPackage(modelsDir, version), {
    executionProviders: [provider],
    log: silentLog,
  })
  const { text, image } = plans
  if (text === null || image === null) throw new Error(`${version} has no encoders`)
  const plan = role === 'text' ? text : image
  const host = await openEncoderHost(plan, { bytesMax, log: silentLog, warmUpMsMax: timeLimitMs })
  const items = role === 'text' ? texts : pictures
  const bare = role === 'text' ? await openBareText(text, texts) : await openBareImage(image, pictures)
  const name =
    role === 'text' ? 'MiniLM texts' : `${version === encoderVersions[0] ? 'ViT-S' : 'MobileNet'} pictures`
  const perPost = role === 'text' ? 1 : picturesPerPost
  return { name, items, callCount: callItems[role], perPost, host, bare }
}

/** Service and floors in alternation, so that other load of the machine affects all. */
async function measureEncoder({
  name,
  items,
  callCount,
  perPost,
  host,
  bare,
}: Contest): Promise<Measurement> {
  try {
    const floors: FloorRounds[] = []
    for (const floor of bare.floors)
      floors.push({ floor, batch: await floor.bestBatch(), ratios: [], cpuMs: 0 })
    const serviceMs: number[] = []
    const startCpuMs = cpuMsOf(host.pid)
    for (let round = 0; round < rounds; round++) {
      const tookMs = await timed(() => encodeAll(host, items, callCount))
      serviceMs.push(tookMs)
      for (const one of floors) {
        const before = process.cpuUsage()
        one.ratios.push(tookMs / (await timed(() => one.floor.run(one.batch))))
        const { user, system } = process.cpuUsage(before)
        one.cpuMs += (user + system) / 1000
      }
    }
    const perItemMs = serviceMs.map((ms) => ms / items.length)
    const itemMs = median(perItemMs)
    const perDay = dayPostCount * perPost
    const peakMib = memoryMib(host.pid)
    const totalCpuMs = cpuMsOf(host.pid) - startCpuMs
    const cpuMs = totalCpuMs / (rounds * items.length)
    const floorTexts = floors.map(({ floor, batch, ratios, cpuMs: floorCpuMs }) => {
      const ratio = median(ratios)
      return (
        `${floor.name} ${((1000 * ratio) / itemMs).toFixed(1)} with ${floor.batchText(batch)}, service / floor = ${ratio.toFixed(2)} ` +
        `(${(totalCpuMs / floorCpuMs).toFixed(2)} in CPU time)`
      )
    })
    return {
      ...measurementOf({
        scenario: `encoders: ${name}`,
        samplesMs: perItemMs,
        busyS: sequentialS(perItemMs),
        bytes: 0,
        clientBusyShare: 0,
        before: { cpuMs: null, rssMib: null, rssPeakMib: null },
        after: { cpuMs: null, rssMib: null, rssPeakMib: peakMib },
        details: {
          note:
            `${name}: ${(1000 / itemMs).toFixed(1)} a second; ${floorTexts.join('; ')}. A day of ${perDay} takes ` +
            `${((perDay * itemMs) / 60_000).toFixed(1)} min, ${((perDay * cpuMs) / 60_000).toFixed(1)} min of CPU`,
        },
      }),
      serverCpuMsPerRequest: cpuMs,
    }
  } finally {
    await Promise.all([host.close(), bare.close()])
  }
}

async function encodeAll(
  host: Hosts.EncoderHost,
  items: readonly Uint8Array[],
  callCount: number,
): Promise<void> {
  for (let at = 0; at < items.length; at += callCount) {
    const { encoded } = await host.run(
      { items: items.slice(at, at + callCount), budgetMs: null },
      timeLimitMs,
    )
    if (encoded.includes(0)) throw new Error('an item was not encoded')
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}
