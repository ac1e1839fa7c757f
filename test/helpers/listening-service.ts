/**
 * A service in memory behind the real listener, in this process: for rules of requests that need no disk, model or kill.
 */
import pino from 'pino'
import { onTestFinished } from 'vitest'
import { mebibyte } from '../../src/base/index.js'
import { CycleService } from '../../src/cycle/index.js'
import { ImageSemaphore } from '../../src/images/index.js'
import { ApiKeys } from '../../src/server/api-keys.js'
import { BodyMemory } from '../../src/server/body.js'
import { ConnectionLimit } from '../../src/server/connection-limit.js'
import { listen, type HttpListener } from '../../src/server/http-listener.js'
import { ImageUploads } from '../../src/server/image-uploads.js'
import { RequestHandler } from '../../src/server/request-handler.js'
import type { Settings } from '../../src/settings/index.js'
import { createMemoryStore } from '../../src/store/index.js'
import { cycleMs } from './bodies.js'
import { CalledServer } from '../harness/called-server.js'
import { FakeModel } from './fake-model.js'

export class ListeningService extends CalledServer {
  readonly logLines: Record<string, unknown>[] = []
  readonly bodies = new BodyMemory(1024 * mebibyte)
  bodyReadMsMax = 60_000
  #listener: HttpListener | null = null

  async start(): Promise<this> {
    const log = pino(
      { level: 'debug' },
      { write: (line: string) => void this.logLines.push(JSON.parse(line) as Record<string, unknown>) },
    )
    const [store, fake] = [createMemoryStore(), new FakeModel()]
    const [model, clock] = [() => fake, () => cycleMs(10) + 1000]
    const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
    const cycles = await CycleService.open({
      store,
      model,
      clock,
      log,
      textEncodeMsMax: 1000,
      limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4, pendingPostsMax: 200_000 }),
      initialWeights: { version: 'initial', weights },
    })
    const images = new ImageUploads(store, new ImageSemaphore(Infinity), (image) => cycles.imageStored(image))
    const settings = (): Settings => ({ bodyReadMsMax: this.bodyReadMsMax, clockSkewMs: 2000 }) as Settings
    const handler = new RequestHandler({
      apiKeys: new ApiKeys([this.key]),
      bodies: this.bodies,
      log,
      operationParts: { cycles, images, store, model, clock, log, settings },
    })
    this.#listener = await listenFor(handler, log)
    this.port = this.#listener.port
    return this
  }

  close(): void {
    this.#listener?.stopListening()
    this.#listener?.closeConnections()
  }
}

/** Closed after the test. */
export async function listening(): Promise<ListeningService> {
  const service = new ListeningService()
  onTestFinished(() => service.close())
  return service.start()
}

/** Passes the requests of a free port to `handler`. */
export function listenFor(handler: RequestHandler, log: pino.Logger): Promise<HttpListener> {
  const options = { adminConnectionsMax: 0, descriptorsMax: 1000 }
  return listen(
    { host: '127.0.0.1', port: 0 },
    {
      connections: new ConnectionLimit(100, log, options),
      onRequest: (response, request) => handler.handle(response, request),
    },
  )
}
