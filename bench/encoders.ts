/**
 * What does a model with encoders cost? A server swaps to models/example-1 while posts with a text and an image are pending, none of which
 * is encoded yet; then cycles bring new texts, which are encoded before their first score.
 */
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import { Client, expectStatus } from '../test/harness/http.js'
import { withGenerator } from './cycle-generator.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { projectDir } from './project.js'
import { scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { setRole } from './two-models.js'
import { rampCycleCount, type WorldCycle } from '../test/harness/world.js'

const shape = { pending: 2000, turnover: 40, snapshotShare: 0, bodyChars: 300 }
const before = 'transport-test-1'
const after = 'example-1'
const cycleCountDefault = 60
const uploadsAtOnce = 2
const pictureEdge = 320
const swapMsMax = 600_000

export async function measureEncoders(size: RunSize): Promise<Measurement[]> {
  return withServer({}, async (server) => {
    const modelsDir = join(server.scratchDir, 'models')
    mkdirSync(modelsDir)
    for (const version of [before, after])
      cpSync(join(projectDir, 'models', version), join(modelsDir, version), { recursive: true })
    setRole(modelsDir, 'ACTIVE', before)
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir })
    return withGenerator(scaledShape(shape, size.scale), async (generator) => {
      const connection = generator.connectTo(server)
      const posts: string[] = []
      const cycle = async (version: string): Promise<{ tookMs: number; bytes: number }> => {
        const next = await generator.next()
        posts.push(...postsOf(next))
        const { tookMs, response, modelVersion } = await generator.post(connection, next)
        if (modelVersion !== version) throw new Error(`${modelVersion} scored a cycle in place of ${version}`)
        return { tookMs, bytes: next.request.length + response.length }
      }
      for (let index = 0; index <= rampCycleCount; index++) await cycle(before)
      await upload(server, posts)
      const startedAt = performance.now()
      setRole(modelsDir, 'ACTIVE', after)
      await untilServing(server, startedAt)
      const swapMs = performance.now() - startedAt
      const first = await cycle(after)
      connection.takeBusyShare()
      const usage = server.usage()
      const samples = []
      for (let index = 0; index < (size.cycleCount ?? cycleCountDefault); index++)
        samples.push(await cycle(after))
      const note =
        `the swap took ${(swapMs / 1000).toFixed(1)} s with ${posts.length} texts and images to encode, ` +
        `the first cycle after it ${first.tookMs.toFixed(0)} ms`
      const samplesMs = samples.map(({ tookMs }) => tookMs)
      return [
        measurementOf({
          scenario: 'encoders',
          samplesMs,
          busyS: sequentialS(samplesMs),
          bytes: samples.reduce((total, { bytes }) => total + bytes, 0),
          clientBusyShare: connection.takeBusyShare(),
          before: usage,
          after: server.usage(),
          details: { note },
        }),
      ]
    })
  })
}

/** Gallery and number of the posts that enter with a cycle. */
function postsOf({ request }: WorldCycle): string[] {
  const { candidates } = JSON.parse(request.toString()) as {
    readonly candidates: readonly { readonly gall_id: string; readonly post_no: number }[]
  }
  return candidates.map((post) => `${post.gall_id}/${post.post_no}`)
}

/** An image for each post. No two are equal: the service encodes equal ones once. */
async function upload(server: ServerUnderTest, posts: readonly string[]): Promise<void> {
  const client = new Client(server, uploadsAtOnce)
  const entries = posts.entries()
  const work = async (): Promise<void> => {
    for (const [number, post] of entries) {
      const path = `/v1/images/${post}/01`
      const reply = await client.send({ method: 'PUT', path, body: await picture(number) })
      expectStatus(reply, 201, `PUT of ${path}`)
    }
  }
  await Promise.all(Array.from({ length: uploadsAtOnce }, work))
  client.close()
}

/** Smooth colours, different for each number. */
async function picture(number: number): Promise<Buffer> {
  const pixels = Buffer.alloc(16 * 12 * 3, 0).map(
    (_, at) => (at * 37 + number * 101 + ((at * number) % 89)) % 256,
  )
  return sharp(pixels, { raw: { width: 16, height: 12, channels: 3 } })
    .resize(pictureEdge, (pictureEdge * 3) / 4, { kernel: 'cubic' })
    .jpeg({ quality: 90 })
    .toBuffer()
}

async function untilServing(server: ServerUnderTest, startedAt: number): Promise<void> {
  const client = new Client(server)
  for (;;) {
    const health = expectStatus(await client.send({ method: 'GET', path: '/v1/health' }), 200, 'health')
    if ((JSON.parse(health.toString()) as { model_version: string }).model_version === after) break
    if (performance.now() - startedAt > swapMsMax) throw new Error(`${after} does not begin to serve`)
    await sleep(20)
  }
  client.close()
}
