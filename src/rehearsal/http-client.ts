/**
 * HTTP as a careful client does it: kept-alive connections, gzip, retries with back-off while the service is
 * away, up to a limit. It can also misbehave on purpose: drop a call halfway, or forget all connections.
 */
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { RehearsalError } from './breach.js'

/** Calls are safe to repeat: every operation of the contract is idempotent. */
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
  /** From the first byte sent to the last received, of the attempt that succeeded. */
  readonly tookMs: number
  /** Attempts before this one; the service may have acted on any of them. */
  readonly retryCount: number
}

export interface HttpClientOptions {
  readonly url: string
  readonly apiKey: string
  /** How long one call is repeated while the service is away. */
  readonly patienceMs: number
  readonly signal: AbortSignal | undefined
  /** Called at each attempt that fails because the service is away, and with null when it answers again. */
  readonly onAway?: ((absence: Absence | null) => void) | undefined
}

/** The service is away, and calls are repeated until it is back. */
export interface Absence {
  /** Since the first attempt that failed. */
  readonly awayMs: number
  /** What the last attempt met. */
  readonly reason: string
}

/** halfway: the connection breaks within the body. unread: it breaks once the body is sent, before the answer. */
export type Abandonment = 'halfway' | 'unread'

const backoffMsFirst = 50
const backoffMsMax = 2000
const connectionCountMax = 8
/** Longest silence on a connection before an attempt counts as failed. */
const silenceMsMax = 30_000
/** How long an abandoned call leaves the service to start on it. */
const abandonAfterMs = 3

/** Trouble that passes when the service comes back. */
const passingCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'HPE_INVALID_EOF_STATE',
])
/** 502 and 504 come from a proxy in front of a service that is away. */
const passingStatuses = new Set([502, 503, 504])

export class HttpClient {
  private readonly base: URL
  private readonly transport: typeof http | typeof https
  private agent: http.Agent | https.Agent
  /** When the first attempt failed of those since the last answer, or null. */
  private awaySinceMs: number | null = null
  /** Attempts beyond the first of each call. */
  retryCount = 0
  /** Bytes of bodies sent, each attempt counted. */
  bodyBytesSent = 0
  /** Looks at each 502, 503 and 504 before it is retried; throws to stop. */
  inspectRefusal: (call: Call, reply: Omit<Reply, 'retryCount'>) => void = () => {}

  constructor(private readonly options: HttpClientOptions) {
    this.base = new URL(options.url)
    this.transport = this.base.protocol === 'https:' ? https : http
    this.agent = this.newAgent()
  }

  /** Sends a call until it is answered; an answer of any status but 502, 503 and 504 counts. */
  async send(call: Call): Promise<Reply> {
    const giveUpAtMs = Date.now() + this.options.patienceMs
    for (let retryCount = 0; ; retryCount++) {
      this.options.signal?.throwIfAborted()
      const outcome = await this.attempt(call)
      if (!(outcome instanceof Error) && !passingStatuses.has(outcome.status)) {
        this.noteAnswer()
        return { ...outcome, retryCount }
      }
      this.options.signal?.throwIfAborted()
      if (!(outcome instanceof Error)) this.inspectRefusal(call, outcome)
      this.noteAbsence(outcome)
      const leftMs = giveUpAtMs - Date.now()
      if (leftMs <= 0) throw this.unreachable(call, outcome)
      await sleep(Math.min(leftMs, waitOf(outcome, retryCount)), undefined, { signal: this.options.signal })
      this.retryCount++
    }
  }

  /** Sends a call and drops the connection without reading the answer. What became of it is not known. */
  abandon(call: Call, how: Abandonment): Promise<void> {
    return new Promise((resolve) => {
      const request = this.open(call)
      const body = call.body ?? Buffer.alloc(0)
      const drop = (): void => void setTimeout(() => request.destroy(), abandonAfterMs)
      request.on('error', () => {})
      request.on('response', (response) => response.on('error', () => {}).resume())
      request.on('close', resolve)
      const sent = how === 'unread' ? body : body.subarray(0, body.length >> 1)
      this.bodyBytesSent += sent.length
      if (how === 'unread') request.end(sent, drop)
      else request.write(sent, drop)
    })
  }

  /** Closes all connections, as a client that is started afresh has none. */
  forget(): void {
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
      timeout: Math.min(silenceMsMax, this.options.patienceMs + 1000),
      headers: {
        authorization: this.options.apiKey,
        ...(call.body === undefined ? {} : { 'content-length': call.body.length }),
        ...call.headers,
      },
    })
  }

  /** One attempt: an answer, or what went wrong and may pass. */
  private attempt(call: Call): Promise<Omit<Reply, 'retryCount'> | Error> {
    const startedAtMs = performance.now()
    return new Promise((resolve, reject) => {
      const request = this.open(call)
      const fail = (error: NodeJS.ErrnoException): void => {
        signal?.removeEventListener('abort', stop)
        if (signal?.aborted === true || passingCodes.has(error.code ?? '')) resolve(error)
        else
          reject(new RehearsalError('unreachable', `${this.options.url}: ${error.message}`, { cause: error }))
      }
      const { signal } = this.options
      const stop = (): void => void request.destroy(new Error('the rehearsal was stopped'))
      signal?.addEventListener('abort', stop, { once: true })
      request.on('timeout', () => request.destroy(errorWithCode('ETIMEDOUT', 'no answer')))
      request.on('error', fail)
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', fail)
        response.on('end', () => {
          signal?.removeEventListener('abort', stop)
          const { statusCode = 0, headers } = response
          const tookMs = performance.now() - startedAtMs
          resolve({ status: statusCode, headers, body: Buffer.concat(chunks), tookMs })
        })
      })
      this.bodyBytesSent += call.body?.length ?? 0
      request.end(call.body)
    })
  }

  private noteAbsence(outcome: Omit<Reply, 'retryCount'> | Error): void {
    this.awaySinceMs ??= performance.now()
    this.options.onAway?.({ awayMs: performance.now() - this.awaySinceMs, reason: reasonOf(outcome) })
  }

  private noteAnswer(): void {
    if (this.awaySinceMs === null) return
    this.awaySinceMs = null
    this.options.onAway?.(null)
  }

  private unreachable(call: Call, outcome: Omit<Reply, 'retryCount'> | Error): RehearsalError {
    const seconds = Math.round(this.options.patienceMs / 1000)
    return new RehearsalError(
      'unreachable',
      `${call.method} ${call.path}: no answer within ${seconds} s, at last: ${reasonOf(outcome)}`,
      outcome instanceof Error ? { cause: outcome } : {},
    )
  }
}

function reasonOf(outcome: Omit<Reply, 'retryCount'> | Error): string {
  return outcome instanceof Error ? outcome.message : `status ${outcome.status}`
}

/** `Retry-After` where the service gives one, else twice as long each time. */
function waitOf(outcome: Omit<Reply, 'retryCount'> | Error, retryCount: number): number {
  const backoffMs = Math.min(backoffMsMax, backoffMsFirst * 2 ** Math.min(retryCount, 10))
  if (outcome instanceof Error) return backoffMs
  const seconds = Number(outcome.headers['retry-after'])
  return Number.isFinite(seconds) && seconds >= 0 ? Math.max(seconds * 1000, backoffMsFirst) : backoffMs
}

function errorWithCode(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code })
}
