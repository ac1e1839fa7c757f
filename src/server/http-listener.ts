/**
 * The listening port on uWebSockets.js, plain or TLS: passes every request to one function, renews the certificate while it
 * listens, and closes.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type * as library from 'uWebSockets.js'
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import { headBytesMax } from '../contract/index.js'
import { authorityOf } from '../settings/index.js'
import { dateProblem, datesOf, type CertificateDates } from './certificate-dates.js'
import type { ConnectionLimit } from './connection-limit.js'

export interface ListenOptions extends Certificate {
  readonly host: string
  readonly port: number
}

/** PEM files; both or neither. */
export interface Certificate {
  readonly tlsCertFile?: string
  readonly tlsKeyFile?: string
}

export interface HttpListener {
  readonly port: number
  /** The validity of the certificate for new connections; null without TLS. */
  readonly certificateDates: CertificateDates | null
  /**
   * Uses the certificate in these files for new connections. Open connections keep theirs, and none is refused or closed.
   * Returns false if the files have not changed, and without TLS. Throws if the files are not usable or the
   * certificate is not valid at `now`; then nothing changes.
   */
  renewCertificate(certificate: Certificate, now: number): boolean
  /** Accepts no new connections. */
  stopListening(): void
  closeConnections(): void
}

export interface ListenerParts {
  readonly connections: ConnectionLimit
  readonly onRequest: (response: HttpResponse, request: HttpRequest) => void
}

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it, Linux lets a second server share the port. */
const exclusivePort = 1

/**
 * For TLS 1.2, only ciphers with forward secrecy and authenticated encryption: the defaults of BoringSSL include RSA key
 * exchange and CBC. TLS 1.3 has no weak ciphers, and uWebSockets.js refuses older versions.
 */
const tls12Ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Opens the port. Rejects when it cannot. */
export async function listen(options: ListenOptions, parts: ListenerParts): Promise<HttpListener> {
  // uWebSockets.js reads the limit from the environment when its library is loaded, hence the late import.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(headBytesMax)
  const uws = await import('uWebSockets.js')
  const apps = new Apps(uws, pemFiles(options), parts)
  const socket = await openPort(apps.listening, options)
  let listening = true
  return {
    port: uws.us_socket_local_port(socket),
    get certificateDates() {
      return apps.dates
    },
    renewCertificate: (certificate, now) => apps.renew(pemFiles(certificate), now),
    stopListening: () => {
      if (listening) uws.us_listen_socket_close(socket)
      listening = false
    },
    closeConnections: () => {
      listening = false
      apps.close()
    },
  }
}

type Library = typeof library

/**
 * The uWebSockets.js apps of the port: one listens, and with TLS others own the connections.
 *
 * An app cannot change its certificate. So the listening app passes every connection, before its first byte, to another
 * app, which can be replaced. uWebSockets.js has this feature to spread connections over threads; here both apps are in one
 * thread. `addServerName` is no alternative: a client that connects to an IP address sends no name.
 */
class Apps {
  readonly listening: ForwardingApp
  readonly #uws: Library
  readonly #parts: ListenerParts
  #files: PemFiles | null
  /** The last one gets new connections. Older ones are kept: the library does not report when their last one closes. */
  readonly #serving: ForwardingApp[] = []

  constructor(uws: Library, files: PemFiles | null, parts: ListenerParts) {
    this.#uws = uws
    this.#parts = parts
    this.#files = files
    this.listening = (files === null ? serve(uws.App(), parts) : secureApp(uws, files)) as ForwardingApp
    if (files !== null) this.#open(files)
  }

  get dates(): CertificateDates | null {
    return this.#files?.dates ?? null
  }

  /** Does nothing without TLS, and for the files in use. */
  renew(files: PemFiles | null, now: number): boolean {
    if (files === null || this.#files === null || files.digest === this.#files.digest) return false
    const problem = dateProblem(files.dates, now)
    if (problem !== null) throw new Error(`the certificate in ${files.certFile} ${problem}`)
    const before = this.#serving.at(-1)
    this.#open(files)
    if (before !== undefined) this.listening.removeChildAppDescriptor(before.getDescriptor())
    this.#files = files
    return true
  }

  close(): void {
    for (const app of [this.listening, ...this.#serving]) app.close()
  }

  #open(files: PemFiles): void {
    const app = secureApp(this.#uws, files)
    serve(app, this.#parts)
    this.listening.addChildAppDescriptor(app.getDescriptor())
    this.#serving.push(app)
  }
}

/** Missing in the type declarations of uws-pack. A descriptor is a memory address in a number. */
interface ForwardingApp extends TemplatedApp {
  getDescriptor(): number
  addChildAppDescriptor(descriptor: number): void
  removeChildAppDescriptor(descriptor: number): void
}

function secureApp(uws: Library, { certFile, keyFile }: PemFiles): ForwardingApp {
  try {
    const app = uws.SSLApp({ cert_file_name: certFile, key_file_name: keyFile, ssl_ciphers: tls12Ciphers })
    return app as ForwardingApp
  } catch (cause) {
    // It gives no reason. The files were checked with the settings; they may have changed since.
    throw new Error(`the certificate in ${certFile} and the key in ${keyFile} cannot be used for TLS`, {
      cause,
    })
  }
}

function serve(app: TemplatedApp, { connections, onRequest }: ListenerParts): TemplatedApp {
  app.filter((response, change) => {
    if (!connections.count(change)) response.close()
  })
  return app.any('/*', onRequest)
}

interface PemFiles {
  readonly certFile: string
  readonly keyFile: string
  /** SHA-256 of both files. */
  readonly digest: string
  readonly dates: CertificateDates
}

function pemFiles({ tlsCertFile, tlsKeyFile }: Certificate): PemFiles | null {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return null
  const certificate = readFileSync(tlsCertFile)
  const digest = createHash('sha256').update(certificate).update(readFileSync(tlsKeyFile)).digest('hex')
  return { certFile: tlsCertFile, keyFile: tlsKeyFile, digest, dates: datesOf(certificate) }
}

/** Missing in the type declarations of uws-pack. With `exclusivePort`, a second server on the port gets an error. */
interface ExclusiveListen {
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: us_listen_socket | false) => void,
  ): void
}

function openPort(app: TemplatedApp, { host, port }: ListenOptions): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    ;(app as unknown as ExclusiveListen).listen(host, port, exclusivePort, (socket) => {
      if (socket === false) reject(new Error(`cannot listen on ${authorityOf(host, port)}`))
      else resolve(socket)
    })
  })
}
