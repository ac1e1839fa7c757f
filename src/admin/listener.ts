/**
 * The socket of the admin listener, on Node's `http`: it is not the port of the contract, so it needs no speed, and Node's
 * streams, limits and error codes keep it short. It shares the event loop with the cycles, so everything here is bounded:
 * connections, the time of a request, the bytes that slow readers hold in memory. Read `#respond` first.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { inBackground, kibibyte, type Log, mebibyte } from '../base/index.js'
import { assert, ServiceError, type AdminErrorRecord } from '../contract/index.js'
import { acceptsCoding, gzipResponse } from '../server/index.js'
import { securityHeaders, type Access } from './access.js'
import { loginPage } from './login-page.js'
import { json, Router, type Reply, type Route } from './routes.js'

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  /** PEM files; null: plain HTTP. */
  readonly tls: TlsFiles | null
  readonly access: Access
  readonly routes: readonly Route[]
  readonly log: Log
}

export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Twice the event streams. The file descriptors are reserved. */
export const connectionsMax = 200
const headBytesMax = 16 * kibibyte
/** Time limit of a whole request. */
const requestMsMax = 10_000
/** Time limit of a connection without traffic in either direction. */
const idleMsMax = 30_000
/** Bytes of all responses that clients have not read yet. A response that exceeds it gets 503. */
const unreadBytesMax = 64 * mebibyte

const empty = new Uint8Array()
const loginPath = '/login'
const formBytesMax = 1024
/** Shorter texts are sent as they are. */
const compressedBytesMin = 16 * kibibyte
/** Further responses are sent as they are: the cycles need threads of Node's pool too. */
const concurrentCompressionsMax = 2
/** These refuse a client: its connection is closed, so that others can use the slot. */
const closingStatuses: ReadonlySet<number> = new Set([401, 421, 503])

export class AdminListener {
  readonly #options: ListenerOptions
  readonly #router: Router
  readonly #server: http.Server | https.Server
  #unreadBytes = 0
  #compressionCount = 0

  private constructor(options: ListenerOptions) {
    this.#options = options
    this.#router = new Router(options.routes)
    const limits = {
      maxHeaderSize: headBytesMax,
      headersTimeout: requestMsMax,
      requestTimeout: requestMsMax,
      connectionsCheckingInterval: requestMsMax / 2,
      keepAliveTimeout: idleMsMax,
    }
    const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
      inBackground('admin request', this.#handle(request, response))
    this.#server =
      options.tls === null
        ? http.createServer(limits, onRequest)
        : https.createServer({ ...limits, ...pemOf(options.tls), handshakeTimeout: requestMsMax }, onRequest)
    this.#server.maxConnections = connectionsMax
    this.#server.timeout = idleMsMax
  }

  /** Rejects with the error of the system, such as EADDRINUSE. */
  static async open(options: ListenerOptions): Promise<AdminListener> {
    const listener = new AdminListener(options)
    const { host, port } = options
    listener.#server.listen({ host, port, exclusive: true })
    await once(listener.#server, 'listening')
    listener.#server.on('error', (err) => options.log.warn({ err }, 'the admin listener failed'))
    return listener
  }

  get port(): number {
    const address = this.#server.address()
    return (address as AddressInfo | null)?.port ?? 0
  }

  /** Throws if the files are not usable; then nothing changes. */
  renewCertificate(files: TlsFiles): void {
    if (this.#server instanceof https.Server) this.#server.setSecureContext(pemOf(files))
  }

  /** Accepts no new connections and closes all of them. */
  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Node starts the handlers of pipelined requests all at once; their responses have no socket yet. No browser pipelines.
    if (response.socket === null) {
      request.socket.destroy()
      return
    }
    const { log } = this.#options
    const startedAt = performance.now()
    // The query may hold the token: it is never logged.
    const { path, query } = targetOf(request.url ?? '')
    const gone = new AbortController()
    response.on('error', () => response.destroy())
    response.once('close', () => {
      gone.abort()
      const ms = Math.round(performance.now() - startedAt)
      const fields = { method: request.method, path: path.slice(0, 200), status: response.statusCode, ms }
      log.debug(fields, 'admin request')
    })
    try {
      const reply = await this.#respond(request, path, query, gone.signal)
      if (typeof reply !== 'function') this.#send(request, response, await this.#compressed(request, reply))
      else if (request.method === 'HEAD')
        this.#send(request, response, { status: 200, headers: {}, body: empty })
      else reply(response)
    } catch (error) {
      if (gone.signal.aborted && error === gone.signal.reason) return
      if (!(error instanceof ServiceError))
        log.error({ err: error, path: path.slice(0, 200) }, 'an admin request failed')
      if (response.headersSent) response.destroy()
      else if (isUnauthorized(error) && isPageRequest(request, path)) {
        const isAttempt = request.method === 'POST' || query.has('token')
        const languages = request.headers['accept-language'] ?? ''
        this.#send(request, response, loginPage(isAttempt, languages))
      } else this.#send(request, response, errorReply(error))
    }
  }

  #respond(
    request: IncomingMessage,
    path: string,
    query: URLSearchParams,
    gone: AbortSignal,
  ): ReturnType<Route['handle']> {
    const { access } = this.#options
    const hosts = request.headersDistinct['host'] ?? []
    if (hosts.length !== 1 || !access.isOurHost(hosts[0] ?? ''))
      return json(
        errorRecord(
          'misdirected_request',
          'unknown Host; use localhost, an IP address or the configured host name',
        ),
        421,
      )
    if (path === loginPath && request.method === 'POST') return this.#logInByForm(request, hosts[0] ?? '')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new ServiceError({ code: 'wrong_method', allow: 'GET, HEAD' })
    const token = query.get('token')
    if (path === '/' && token !== null) return this.#logIn(token)
    const match = this.#router.find(path)
    if (match?.route.access !== 'open' && !access.accepts(request, this.port))
      throw new ServiceError({ code: 'signed_out' })
    if (match === null) throw new ServiceError({ code: 'unknown_path' })
    const acceptEncoding = request.headers['accept-encoding'] ?? ''
    return match.route.handle({ parameters: match.parameters, query, acceptEncoding, gone })
  }

  /** Exchanges the token for a cookie and removes it from the address. */
  #logIn(token: string): Reply {
    const { access } = this.#options
    if (!access.isToken(token)) throw new ServiceError({ code: 'wrong_token' })
    return { status: 303, headers: { Location: '/', 'Set-Cookie': access.cookie(this.port) }, body: empty }
  }

  /** Requires this listener's form: another site must not sign a browser in. */
  async #logInByForm(request: IncomingMessage, host: string): Promise<Reply> {
    const { origin = '' } = request.headers
    if (!URL.canParse(origin) || new URL(origin).host !== host.toLowerCase())
      return json(errorRecord('forbidden', 'the form is not of this listener'), 403)
    const form = await formOf(request)
    if (form === null) throw new ServiceError({ code: 'unreadable_form' })
    return this.#logIn(form.get('token') ?? '')
  }

  /** Compresses a large text if the client accepts that. */
  async #compressed({ method, headers }: IncomingMessage, reply: Reply): Promise<Reply> {
    const isText = /^(text|application\/json)\b/.test(reply.headers['Content-Type'] ?? '')
    const isSuitable = isText && method !== 'HEAD' && reply.headers['Content-Encoding'] === undefined
    if (!isSuitable || reply.body.length < compressedBytesMin) return reply
    if (!acceptsCoding(headers['accept-encoding'] ?? '', 'gzip')) return reply
    if (this.#compressionCount >= concurrentCompressionsMax) return reply
    this.#compressionCount++
    try {
      return await gzipResponse(reply)
    } finally {
      this.#compressionCount--
    }
  }

  #send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
    // The client has disconnected: no `close` event would release the bytes.
    if (response.destroyed) return
    const { status, headers, body } = reply
    if (this.#unreadBytes + body.length > unreadBytesMax) {
      response.writeHead(503, { ...securityHeaders, 'Retry-After': '5', Connection: 'close' }).end()
      return
    }
    this.#unreadBytes += body.length
    response.once('close', () => {
      this.#unreadBytes -= body.length
      assert(this.#unreadBytes >= 0, 'the bytes of a response are released once')
    })
    // The body of a request is never read.
    const hasBody =
      request.headers['transfer-encoding'] !== undefined || request.headers['content-length'] !== undefined
    response.writeHead(status, {
      ...securityHeaders,
      ...headers,
      'Content-Length': body.length,
      ...(hasBody || closingStatuses.has(status) ? { Connection: 'close' } : {}),
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}

function targetOf(url: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  return { path, query: new URLSearchParams(query) }
}

/** null: it is too large, or the client has left. What exceeds the limit is received and dropped. */
async function formOf(request: IncomingMessage): Promise<URLSearchParams | null> {
  let text = ''
  try {
    // A loop that ends early would destroy the socket before the response is sent.
    for await (const chunk of request.setEncoding('latin1'))
      if (text.length <= formBytesMax) text += String(chunk)
    return text.length > formBytesMax ? null : new URLSearchParams(text)
  } catch {
    return null
  }
}

/** Whether a browser requests the page, so that the response should be the login form. */
function isPageRequest({ headers }: IncomingMessage, path: string): boolean {
  return (path === '/' || path === loginPath) && headers.accept?.includes('text/html') === true
}

function isUnauthorized(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.kind === 'unauthorized'
}

function pemOf({ certFile, keyFile }: TlsFiles): { cert: Buffer; key: Buffer; minVersion: 'TLSv1.2' } {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: 'TLSv1.2' }
}

function errorReply(error: unknown): Reply {
  const refusal = error instanceof ServiceError ? error : new ServiceError({ code: 'internal' })
  const { reason, kind, allow, retryAfterS } = refusal
  const { error: record } = refusal.toRecord()
  return json({ error: { ...record, reason } } satisfies AdminErrorRecord, refusal.status, {
    ...(kind === 'unauthorized' ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...(allow === undefined ? {} : { Allow: allow }),
    ...(retryAfterS === undefined ? {} : { 'Retry-After': String(retryAfterS) }),
  })
}

function errorRecord(code: string, message: string): object {
  return { error: { code, message } }
}
