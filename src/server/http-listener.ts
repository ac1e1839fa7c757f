/**
 * The uWebSockets.js side: opens the port, plain or TLS, hands every request to one function, and closes.
 */
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly tlsCertFile?: string
  readonly tlsKeyFile?: string
}

export interface HttpListener {
  readonly port: number
  /** No new connections. */
  stopListening(): void
  /** Cuts the connections that are left. */
  closeConnections(): void
}

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it Linux lets a second server share the port. */
const exclusivePort = 1

/** Head of a request: a long gallery id, percent-encoded, stands in the path (decisions.md 38). */
const headBytesMax = 128 * 1024

/** Opens the port. Rejects when it cannot. */
export async function listen(
  options: ListenOptions,
  onRequest: (response: HttpResponse, request: HttpRequest) => void,
): Promise<HttpListener> {
  // uWebSockets.js reads the limit from the environment when its library is loaded, hence the late import.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(headBytesMax)
  const uws = await import('uWebSockets.js')
  const app =
    options.tlsCertFile === undefined || options.tlsKeyFile === undefined
      ? uws.App()
      : uws.SSLApp({ cert_file_name: options.tlsCertFile, key_file_name: options.tlsKeyFile })
  app.any('/*', onRequest)
  const socket = await openPort(app, options, exclusivePort)
  let listening = true
  const stopListening = (): void => {
    if (listening) uws.us_listen_socket_close(socket)
    listening = false
  }
  return {
    port: uws.us_socket_local_port(socket),
    stopListening,
    closeConnections: () => {
      listening = false
      app.close()
    },
  }
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
            `cannot listen on ${host}:${port}: the port is taken or not allowed, or ${host} is not an address of ` +
              'this machine; choose another one with --port or --host',
          ),
        )
      else resolve(socket)
    })
  })
}
