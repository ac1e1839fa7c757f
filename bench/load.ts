/**
 * autocannon with two additions: latencies below a millisecond, and an error for every response that is not the expected
 * one.
 */
import autocannon from 'autocannon'
import type { Address } from '../test/harness/http.js'

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
  /** Path and body of each further request, if they differ between requests. */
  readonly nextRequest?: () => { readonly path: string; readonly body: Buffer }
  readonly expectedStatus: number
  /** Whether all responses must have the same length. The caller has compared one of them byte for byte. */
  readonly sameLength?: boolean
}

export interface LoadFigures {
  readonly samplesMs: readonly number[]
  readonly tookS: number
  /** Bytes received, headers included. */
  readonly bytes: number
  readonly clientBusyShare: number
}

/** Rejects if a response is wrong or missing. */
export async function load(options: LoadOptions): Promise<LoadFigures> {
  const { address, request, nextRequest } = options
  const samplesMs: number[] = []
  let bytes = 0
  let firstLength: number | undefined
  const wrong: string[] = []
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(
      {
        url: `http://127.0.0.1:${address.port}`,
        connections: options.connectionCount,
        duration: options.seconds,
        // A run ends at a sample; by default autocannon samples once a second.
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
      if (options.sameLength === true) firstLength ??= length
      if (status !== options.expectedStatus || (firstLength ?? length) !== length) {
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
