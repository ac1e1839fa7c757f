/**
 * The uWebSockets.js side: opens the port, plain or TLS, hands every request to one function, renews a certificate
 * while it listens, and closes.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type * as library from 'uWebSockets.js'
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import { dateProblem, datesOf, type CertificateDates } from './certificate-dates.js'
import type { Connections } from './connections.js'

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
  /** The dates of the certificate for new connections; null without TLS. */
  readonly certificateDates: CertificateDates | null
  /**
   * Connections from now on get the certificate that these files hold; those that are open keep theirs until they end,
   * and none is refused or cut meanwhile. False where nothing has changed. Throws where the files cannot serve, or the
   * certificate is outside its dates at `now`; then all stays as it was. For a listener without TLS there is nothing to
   * renew.
   */
  renewCertificate(certificate: Certificate, now: number): boolean
  /** No new connections. */
  stopListening(): void
  /** Cuts the connections that are left. */
  closeConnections(): void
}

/** What becomes of connections and requests. */
export interface ListenerParts {
  readonly connections: Connections
  readonly onRequest: (response: HttpResponse, request: HttpRequest) => void
}

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it Linux lets a second server share the port. */
const exclusivePort = 1

/** Head of a request: a long gallery id, percent-encoded, stands in the path (decisions.md 38). */
const headBytesMax = 128 * 1024

/**
 * TLS 1.2 with forward secrecy and authenticated encryption only; left to itself, BoringSSL would also take RSA key
 * exchange and CBC. TLS 1.3 has no others, and anything older uWebSockets.js refuses.
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
  const secured = pemFiles(options)
  const door = secured === null ? new PlainDoor(uws, parts) : new SecureDoor(uws, secured, parts)
  const socket = await openPort(door.listening, options, exclusivePort)
  let listening = true
  return {
    port: uws.us_socket_local_port(socket),
    get certificateDates() {
      return door.dates
    },
    renewCertificate: (certificate, now) => {
      const files = pemFiles(certificate)
      return files !== null && door.renew(files, now)
    },
    stopListening: () => {
      if (listening) uws.us_listen_socket_close(socket)
      listening = false
    },
    closeConnections: () => {
      listening = false
      door.close()
    },
  }
}

/** Host and port as they stand in a URL. */
export function placeOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

type Library = typeof library

/** The apps behind a port: one that listens, and those that have the connections. */
interface Door {
  readonly listening: TemplatedApp
  readonly dates: CertificateDates | null
  renew(files: PemFiles, now: number): boolean
  close(): void
}

class PlainDoor implements Door {
  readonly listening: TemplatedApp
  readonly dates = null

  constructor(uws: Library, parts: ListenerParts) {
    this.listening = serving(uws.App(), parts)
  }

  renew(): boolean {
    return false
  }

  close(): void {
    this.listening.close()
  }
}

/**
 * TLS. An app has its certificate for life, so the one that listens hands every connection on, before its first byte,
 * to another app, and that one can be replaced. uWebSockets.js has this to spread connections over threads; here both
 * are in one. (Names added by `addServerName` would not do: a client that connects to an address sends none.)
 */
class SecureDoor implements Door {
  readonly listening: HandingOn
  readonly #uws: Library
  readonly #parts: ListenerParts
  #files: PemFiles
  /** The last one gets new connections. Older ones are kept: nothing tells when their last connection has ended. */
  readonly #serving: HandingOn[]

  constructor(uws: Library, files: PemFiles, parts: ListenerParts) {
    this.#uws = uws
    this.#parts = parts
    this.#files = files
    this.listening = secureApp(uws, files)
    this.#serving = [this.#open(files)]
  }

  get dates(): CertificateDates {
    return this.#files.dates
  }

  renew(files: PemFiles, now: number): boolean {
    if (files.digest === this.#files.digest) return false
    const problem = dateProblem(files.dates, now)
    if (problem !== null) throw new Error(`the certificate in ${files.certFile} ${problem}`)
    const before = this.#serving.at(-1)
    this.#serving.push(this.#open(files))
    if (before !== undefined) this.listening.removeChildAppDescriptor(before.getDescriptor())
    this.#files = files
    return true
  }

  close(): void {
    for (const app of [this.listening, ...this.#serving]) app.close()
  }

  #open(files: PemFiles): HandingOn {
    const app = secureApp(this.#uws, files)
    serving(app, this.#parts)
    this.listening.addChildAppDescriptor(app.getDescriptor())
    return app
  }
}

/** What the declaration of uws-pack lacks. A descriptor is an address in memory, dressed as a number. */
interface HandingOn extends TemplatedApp {
  getDescriptor(): number
  addChildAppDescriptor(descriptor: number): void
  removeChildAppDescriptor(descriptor: number): void
}

function secureApp(uws: Library, { certFile, keyFile }: PemFiles): HandingOn {
  const app = uws.SSLApp({ cert_file_name: certFile, key_file_name: keyFile, ssl_ciphers: tls12Ciphers })
  return app as HandingOn
}

function serving(app: TemplatedApp, { connections, onRequest }: ListenerParts): TemplatedApp {
  app.filter((response, change) => {
    if (!connections.count(change)) response.close()
  })
  return app.any('/*', onRequest)
}

interface PemFiles {
  readonly certFile: string
  readonly keyFile: string
  /** Of what both hold. */
  readonly digest: string
  readonly dates: CertificateDates
}

function pemFiles({ tlsCertFile, tlsKeyFile }: Certificate): PemFiles | null {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return null
  const certificate = readFileSync(tlsCertFile)
  const digest = createHash('sha256').update(certificate).update(readFileSync(tlsKeyFile)).digest('hex')
  return { certFile: tlsCertFile, keyFile: tlsKeyFile, digest, dates: datesOf(certificate) }
}

/** The declaration of uws-pack lacks this form: the port is ours alone, a second server gets an error. */
interface ExclusiveListen {
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: us_listen_socket | false) => void,
  ): void
}

function openPort(
  app: TemplatedApp,
  { host, port }: ListenOptions,
  exclusive: number,
): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    ;(app as unknown as ExclusiveListen).listen(host, port, exclusive, (socket) => {
      if (socket === false)
        reject(
          new Error(
            `cannot listen on ${placeOf(host, port)}: the port is taken or not allowed, or ${host} is no address of ` +
              'this machine; choose another one with --port or --host',
          ),
        )
      else resolve(socket)
    })
  })
}
