/**
 * The HTTP client: keep-alive connections, and retries with back-off while the service is unavailable, up to a limit.
 * It can also break off a call or close all connections on purpose.
 */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { SimulationError } from './errors.js'

/** Calls can be repeated: every operation of the contract is idempotent. */
export interface Call {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  /** Below the base URL, such as `/v1/health`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

export interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
  /** Duration of the attempt that succeeded, from the first byte sent to the last received. */
  readonly tookMs: number
  /** Attempts before this one; the service may have processed any of them. */
  readonly retryCount: number
}

type Response = Omit<Reply, 'retryCount'>
/** A response, or a temporary error. */
type Attempt = Response | Error

export interface HttpClientOptions {
  readonly url: string
  readonly apiKey: string
  /** How long one call is repeated while the service is unavailable. */
  readonly patienceMs: number
  readonly signal: AbortSignal | undefined
  /** Called at each attempt that fails because the service is unavailable, and with null when it responds again. */
  readonly onOutage?: ((outage: Outage | null) => void) | undefined
}

/** The service is unavailable; calls are repeated until it responds. */
export interface Outage {
  /** Since the first attempt that failed. */
  readonly outageMs: number
  /** Why the last attempt failed. */
  readonly reason: string
}

/** body-cut: the connection is closed within the body. response-unread: after the body, before the response. */
export type BrokenCall = 'body-cut' | 'response-unread'

const backoffMsFirst = 50
const backoffMsMax = 2000
const connectionCountMax = 8
/** Longest silence on a connection before an attempt counts as failed. */
const silenceMsMax = 30_000
/** How long the service has to start on a call that is broken off. */
const breakOffAfterMs = 3

/** Errors that end when the service is available again. */
const temporaryCodes =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|HPE_INVALID_EOF_STATE)$/
/** 502 and 504 come from a proxy in front of a service that is unavailable. */
const temporaryStatuses = new Set([502, 503, 504])

export class HttpClient {
  private readonly base: URL
  private readonly transport: typeof http | typeof https
  private agent: http.Agent | https.Agent
  /** When the first attempt since the last response failed, or null. */
  private outageSinceMs: number | null = null
  /** Attempts beyond the first of each call. */
  retryCount = 0
  /** Bytes of bodies sent, in all attempts. */
  bodyBytesSent = 0
  /** Inspects each 502, 503 and 504 before it is retried; throws to stop. */
  inspectRefusal: (call: Call, reply: Response) => void = () => {}

  constructor(private readonly options: HttpClientOptions) {
    this.base = new URL(options.url)
    this.transport = this.base.protocol === 'https:' ? https : http
    this.agent = this.newAgent()
  }

  /** Sends a call until a response with a status other than 502, 503 and 504 arrives. */
  async send(call: Call): Promise<Reply> {
    const giveUpAtMs = Date.now() + this.options.patienceMs
    for (let retryCount = 0; ; retryCount++) {
      this.options.signal?.throwIfAborted()
      const outcome = await this.attempt(call)
      if (!(outcome instanceof Error) && !temporaryStatuses.has(outcome.status)) {
        if (this.outageSinceMs !== null) this.options.onOutage?.(null)
        this.outageSinceMs = null
        return { ...outcome, retryCount }
      }
      this.options.signal?.throwIfAborted()
      if (!(outcome instanceof Error)) this.inspectRefusal(call, outcome)
      this.outageSinceMs ??= performance.now()
      const outageMs = performance.now() - this.outageSinceMs
      this.options.onOutage?.({ outageMs, reason: reasonOf(outcome) })
      const leftMs = giveUpAtMs - Date.now()
      if (leftMs <= 0) {
        const seconds = Math.round(this.options.patienceMs / 1000)
        const what = `${call.method} ${call.path}: no response within ${seconds} s`
        throw unreachable(`${what}; last failure: ${reasonOf(outcome)}`, outcome)
      }
      await sleep(Math.min(leftMs, waitOf(outcome, retryCount)), undefined, { signal: this.options.signal })
      this.retryCount++
    }
  }

  /** Sends a call and closes the connection without reading the response. The service may have processed it. */
  breakOff(call: Call, how: BrokenCall): Promise<void> {
    return new Promise((resolve) => {
      const request = this.open(call)
      const body = call.body ?? Buffer.alloc(0)
      const drop = (): void => void setTimeout(() => request.destroy(), breakOffAfterMs)
      request.on('error', () => {})
      request.on('response', (response) => response.on('error', () => {}).resume())
      request.on('close', resolve)
      const sent = how === 'response-unread' ? body : body.subarray(0, body.length >> 1)
      this.bodyBytesSent += sent.length
      if (how === 'response-unread') request.end(sent, drop)
      else request.write(sent, drop)
    })
  }

  /** Closes all connections, like a client that restarts. */
  closeConnections(): void {
    this.agent.destroy()
    this.agent = this.newAgent()
  }

  close(): void {
    this.agent.destroy()
  }

  private newAgent(): http.Agent | https.Agent {
    return new this.transport.Agent({ keepAlive: true, maxSockets: connectionCountMax })
  }

  private open(call: Call): http.ClientRequest {
    return this.transport.request(new URL(this.base.pathname.replace(/\/$/, '') + call.path, this.base), {
      method: call.method,
      agent: this.agent,
      signal: this.options.signal,
      timeout: Math.min(silenceMsMax, this.options.patienceMs + 1000),
      headers: {
        authorization: this.options.apiKey,
        ...(call.body === undefined ? {} : { 'content-length': call.body.length }),
        ...call.headers,
      },
    })
  }

  /** One attempt: a response, or a temporary error. */
  private async attempt(call: Call): Promise<Attempt> {
    const startedAtMs = performance.now()
    const request = this.open(call)
    // The calls below reject with the first error; a second one would end the process.
    request.on('error', () => {})
    request.on('timeout', () =>
      request.destroy(Object.assign(new Error('no response'), { code: 'ETIMEDOUT' })),
    )
    this.bodyBytesSent += call.body?.length ?? 0
    request.end(call.body)
    try {
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      const body = await buffer(response)
      const { statusCode: status = 0, headers } = response
      return { status, headers, body, tookMs: performance.now() - startedAtMs }
    } catch (cause) {
      const error = cause as NodeJS.ErrnoException
      if (this.options.signal?.aborted === true || temporaryCodes.test(error.code ?? '')) return error
      throw unreachable(`${this.options.url}: ${error.message}`, error)
    }
  }
}

function unreachable(reason: string, cause: Attempt): SimulationError {
  return new SimulationError('unreachable', reason, cause instanceof Error ? { cause } : {})
}

function reasonOf(outcome: Attempt): string {
  return outcome instanceof Error ? outcome.message : `status ${outcome.status}`
}

/** `Retry-After` where the service sends it; otherwise the wait doubles with each retry. */
function waitOf(outcome: Attempt, retryCount: number): number {
  const backoffMs = Math.min(backoffMsMax, backoffMsFirst * 2 ** Math.min(retryCount, 10))
  if (outcome instanceof Error) return backoffMs
  const seconds = Number(outcome.headers['retry-after'])
  return Number.isFinite(seconds) && seconds >= 0 ? Math.max(seconds * 1000, backoffMsFirst) : backoffMs
}
