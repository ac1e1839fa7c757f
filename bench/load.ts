/**
 * autocannon with what it lacks for sub-millisecond answers: latencies as floats, and an error for every answer that
 * is not the right one.
 */
import autocannon from 'autocannon'
import type { Address } from './client.js'

export interface LoadOptions {
  readonly address: Address
  readonly connectionCount: number
  readonly seconds: number
  readonly request: {
    readonly method: 'GET' | 'POST' | 'PUT'
    readonly path: string
    readonly contentType?: string
    readonly body?: Buffer
  }
  /** Path and body of each further request, where they differ from one to the next. */
  readonly nextRequest?: () => { readonly path: string; readonly body: Buffer }
  readonly expectedStatus: number
  /** Whether all answers must be equally long; their bytes were compared before the clock started. */
  readonly sameLength?: boolean
}

export interface LoadFigures {
  readonly samplesMs: readonly number[]
  readonly tookS: number
  /** Received, heads included. */
  readonly bytes: number
  readonly clientBusyShare: number
}

/** Rejects when an answer was wrong or did not come. */
export async function load(options: LoadOptions): Promise<LoadFigures> {
  const { address, request, nextRequest } = options
  const samplesMs: number[] = []
  let bytes = 0
  let answerBytes: number | undefined
  const wrong: string[] = []
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(
      {
        url: `http://127.0.0.1:${address.port}`,
        connections: options.connectionCount,
        duration: options.seconds,
        // The run ends at one of these samples, a second apart unless told otherwise.
        sampleInt: Math.min(1000, options.seconds * 1000),
        method: request.method,
        headers: {
          authorization: address.key,
          ...(request.contentType === undefined ? {} : { 'content-type': request.contentType }),
        },
        requests: [
          {
            path: request.path,
            body: request.body,
            ...(nextRequest === undefined
              ? {}
              : { setupRequest: (current: autocannon.Request) => ({ ...current, ...nextRequest() }) }),
          },
        ],
      },
      (error: Error | null, done) => {
        if (error === null) resolve(done)
        else reject(error)
      },
    )
    instance.on('response', (_client, status, length, tookMs) => {
      samplesMs.push(tookMs)
      bytes += length
      if (options.sameLength === true) answerBytes ??= length
      if (status !== options.expectedStatus || (answerBytes ?? length) !== length) {
        wrong.push(`${request.method} ${request.path}: status ${status} with ${length} bytes`)
        instance.stop()
      }
    })
  })
  const tookS = (performance.now() - startedAt) / 1000
  const { user, system } = process.cpuUsage(cpu)
  if (wrong.length > 0 || result.errors > 0 || result.timeouts > 0) {
    throw new Error(wrong[0] ?? `${result.errors} errors and ${result.timeouts} timeouts at ${request.path}`)
  }
  return { samplesMs, tookS, bytes, clientBusyShare: (user + system) / 1e6 / tookS }
}
