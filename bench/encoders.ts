/**
 * What do the heads and encoders of a model cost, and how much of that is the service? Rows, texts and pictures go through the processes of the
 * service and, in the same run, through bare sessions with the best batch. Then a server swaps to a version with other encoders.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../src/base/index.js'
import type * as Hosts from '../src/model/sessions/session-host.js'
import { bodyHtml, titleText, topics } from '../src/simulator/korean-text.js'
import { Rng } from '../src/simulator/rng.js'
import { openBareText, openBareImage, type BareEncoder, type BareEncoders } from './bare-encoders.js'
import { openHeadsContest } from './encoder-heads.js'
import {
  encoderVersions,
  imageEncoders,
  realSizes,
  tinySizes,
  writeEncoderModels,
  type EncoderSizes,
} from './encoder-models.js'
import { cpuMsOf, memoryMib, picture, plansOf } from './encoder-inputs.js'
import { measureEncoderSwap } from './encoder-swap.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { builtModule } from './project.js'
import type { RunSize } from './scenarios.js'
import { median } from './statistics.js'

/** Posts of a day with a text and two pictures each. */
const dayPostCount = 2200
const picturesPerPost = 2
/** Items of a round at scale 1, and rows of a batch. */
const rowCountMax = 5000
const textCountMax = 200
const pictureCountMax = 64
const rounds = 3
/** Below this scale, which is that of a test, the encoders are tiny. */
const realScaleMin = 0.01
/** As the service calls its encoders in the background. */
const callItems = { text: 200, image: 8 }
const timeLimitMs = 600_000
const bytesMax = 16 * 2 ** 30

/** One part of a model in the service and bare. */
export interface Contest {
  /** As the rows of figures are named. */
  readonly name: string
  readonly itemCount: number
  /** Items of a day; null: any number. */
  readonly perDay: number | null
  readonly host: { readonly pid: number | null; close(): Promise<void> }
  /** All items through the host. */
  readonly round: () => Promise<void>
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
      await measureContest(
        await openHeadsContest(modelsDir, first, {
          provider,
          count: countOf(rowCountMax, size.scale),
        }),
      ),
      await measureContest(await openContest(modelsDir, first, 'text', items, provider)),
      await measureContest(await openContest(modelsDir, first, 'image', items, provider)),
      await measureContest(await openContest(modelsDir, second, 'image', items, provider)),
    ]
    return [...measurements, await measureEncoderSwap(modelsDir, { ...size, provider })]
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** From a quarter of the nominal size on, only the swap is smaller. */
function countOf(most: number, scale: number): number {
  return Math.max(8, Math.ceil(most * Math.min(1, 4 * scale)))
}

interface Items {
  readonly texts: readonly Uint8Array[]
  readonly pictures: readonly Uint8Array[]
}

/** Posts as the service receives them, and pictures as it stores them: of 1024 pixels. */
async function makeItems(scale: number, { imagePixels }: EncoderSizes): Promise<Items> {
  const rng = new Rng('bench encoders')
  const texts = Array.from({ length: countOf(textCountMax, scale) }, () => {
    const topic = rng.pick(topics)
    const body = bodyHtml(rng, topic, { charsAim: rng.int(20, 600), imageCount: 2 })
    return Buffer.from(JSON.stringify({ title: titleText(rng, topic), body_html: body }))
  })
  const edge = imagePixels === realSizes.imagePixels ? 1024 : 64
  const pictures = await Promise.all(
    Array.from({ length: countOf(pictureCountMax, scale) }, (_, index) => picture(index, edge)),
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
  const { openEncoderHost } = await builtModule<typeof Hosts>('model/sessions/session-host.js')
  const { text, image } = await plansOf(modelsDir, version, provider)
  if (text === null || image === null) throw new Error(`${version} has no encoders`)
  const plan = role === 'text' ? text : image
  const host = await openEncoderHost(plan, { bytesMax, log: silentLog, warmUpMsMax: timeLimitMs })
  const items = role === 'text' ? texts : pictures
  const bare = role === 'text' ? await openBareText(text, texts) : await openBareImage(image, pictures)
  const name =
    role === 'text' ? 'MiniLM texts' : `${version === encoderVersions[0] ? 'ViT-S' : 'MobileNet'} pictures`
  return {
    name,
    itemCount: items.length,
    perDay: dayPostCount * (role === 'text' ? 1 : picturesPerPost),
    host,
    round: () => encodeAll(host, items, callItems[role]),
    bare,
  }
}

/** Service and floors in alternation, so that other load of the machine affects all. */
async function measureContest({ name, itemCount, perDay, host, round, bare }: Contest): Promise<Measurement> {
  try {
    const floors: FloorRounds[] = []
    for (const floor of bare.floors)
      floors.push({ floor, batch: await floor.bestBatch(), ratios: [], cpuMs: 0 })
    const serviceMs: number[] = []
    const startCpuMs = cpuMsOf(host.pid)
    for (let index = 0; index < rounds; index++) {
      const tookMs = await timed(round)
      serviceMs.push(tookMs)
      for (const one of floors) {
        const before = process.cpuUsage()
        one.ratios.push(tookMs / (await timed(() => one.floor.run(one.batch))))
        const { user, system } = process.cpuUsage(before)
        one.cpuMs += (user + system) / 1000
      }
    }
    const perItemMs = serviceMs.map((ms) => ms / itemCount)
    const itemMs = median(perItemMs)
    const peakMib = memoryMib(host.pid)
    const totalCpuMs = cpuMsOf(host.pid) - startCpuMs
    const cpuMs = totalCpuMs / (rounds * itemCount)
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
            `${name}: ${(1000 / itemMs).toFixed(1)} a second; ${floorTexts.join('; ')}.` +
            (perDay === null
              ? ''
              : ` A day of ${perDay} takes ${minutes(perDay * itemMs)} min, ${minutes(perDay * cpuMs)} min of CPU`),
        },
      }),
      serverCpuMsPerRequest: cpuMs,
    }
  } finally {
    await Promise.all([host.close(), bare.close()])
  }
}

function minutes(ms: number): string {
  return (ms / 60_000).toFixed(1)
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
