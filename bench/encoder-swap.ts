/**
 * How long does a swap to a version with encoders take, and the first cycle after it? All pending posts have a text and two pictures, none of
 * which is encoded before.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { childrenOf } from '../test/crash/processes.js'
import { Client, expectStatus } from './client.js'
import { rampCycleCount, type WorldCycle } from './world.js'
import { withGenerator } from './cycle-generator.js'
import { encoderVersions } from './encoder-models.js'
import { memoryMib, picture } from './encoder-inputs.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { projectDir } from './project.js'
import { scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { setRole } from './two-models.js'

const shape = { pending: 5000, turnover: 8, snapshots: false, bodyChars: 300 }
const before = 'transport-test-1'
const after = encoderVersions[1]
const picturesPerPost = 2
const pictureEdge = 320
const uploadsAtOnce = 2
const swapMsMax = 3_600_000

export async function measureEncoderSwap(
  modelsDir: string,
  size: RunSize & { readonly provider: string },
): Promise<Measurement> {
  cpSync(join(projectDir, 'models', before), join(modelsDir, before), { recursive: true })
  setRole(modelsDir, 'ACTIVE', before)
  const scaled = scaledShape(shape, size.scale)
  const env = {
    UNDERSTUDY_MODELS_DIR: modelsDir,
    UNDERSTUDY_EXECUTION_PROVIDERS: size.provider === 'cpu' ? 'cpu' : `${size.provider},cpu`,
    UNDERSTUDY_PREDICT_MS_MAX: '600000',
    UNDERSTUDY_MODEL_LATENCY_MS_MAX: '600000',
    UNDERSTUDY_MODEL_PROCESS_BYTES_MAX: String(16 * 2 ** 30),
  }
  return withServer({ env }, (server) =>
    withGenerator(scaled, async (generator) => {
      const connection = generator.connectTo(server)
      const posts: string[] = []
      let tookMs = NaN
      const cycle = async (): Promise<string> => {
        const next = await generator.next()
        posts.push(...postsOf(next))
        const reply = await generator.post(connection, next)
        tookMs = reply.tookMs
        return reply.modelVersion
      }
      for (let index = 0; index <= rampCycleCount; index++) await cycle()
      const beforeMs = tookMs
      await upload(server, posts)
      const startedAt = performance.now()
      setRole(modelsDir, 'ACTIVE', after)
      await untilServing(server, startedAt)
      const swapMs = performance.now() - startedAt
      const version = await cycle()
      if (version !== after) throw new Error(`the first cycle after the swap was scored by ${version}`)
      const processMib = childrenOf(server.pid).map(({ pid }) => memoryMib(pid))
      const mib = processMib.map((value) => (value ?? NaN).toFixed(0)).sort((a, b) => Number(b) - Number(a))
      return measurementOf({
        scenario: 'encoders: first cycle after a swap',
        samplesMs: [tookMs],
        busyS: sequentialS([tookMs]),
        bytes: 0,
        clientBusyShare: connection.takeBusyShare(),
        before: { ...server.usage(), cpuMs: null },
        after: { ...server.usage(), cpuMs: null },
        details: {
          note:
            `${scaled.pending} pending posts with ${posts.length * picturesPerPost} pictures: the swap takes ${(swapMs / 1000).toFixed(1)} s, ` +
            `the first cycle after it ${tookMs.toFixed(0)} ms (the last before it ${beforeMs.toFixed(0)} ms); peak of the server's processes ` +
            `${mib.join(', ')} MiB`,
        },
      })
    }),
  )
}

/** Gallery and number of the posts that enter with a cycle. */
function postsOf({ request }: WorldCycle): string[] {
  const { candidates } = JSON.parse(request.toString()) as {
    readonly candidates: readonly { readonly gall_id: string; readonly post_no: number }[]
  }
  return candidates.map((post) => `${post.gall_id}/${post.post_no}`)
}

/** No two pictures are equal: the service encodes equal ones once. */
async function upload(server: ServerUnderTest, posts: readonly string[]): Promise<void> {
  const client = new Client(server, uploadsAtOnce)
  const paths = posts.flatMap((post) =>
    Array.from({ length: picturesPerPost }, (_, index) => `/v1/images/${post}/0${index + 1}`),
  )
  const entries = paths.entries()
  const work = async (): Promise<void> => {
    for (const [number, path] of entries) {
      const body = await picture(number, pictureEdge)
      const headers = { 'content-type': 'image/jpeg' }
      expectStatus(await client.send({ method: 'PUT', path, body, headers }), 201, `PUT of ${path}`)
    }
  }
  await Promise.all(Array.from({ length: uploadsAtOnce }, work))
  client.close()
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
