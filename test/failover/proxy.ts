/**
 * A TCP proxy between two parts of a deployment that injects faults of the network: connections that are cut, bytes that do
 * not arrive, and delays.
 */
import { createServer, connect, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * open: bytes pass after `delayMs`. cut: connections are reset, and new ones too. blackhole: connections stay open and no byte
 * passes until the mode changes; then what was sent meanwhile arrives.
 */
export type ProxyMode = 'open' | 'cut' | 'blackhole'

export class Proxy {
  /** From the client to the server and back, of each chunk of at most 64 KiB. */
  delayMs = 0
  readonly #targetPort: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #mode: ProxyMode = 'open'
  #opened: Promise<void> = Promise.resolve()
  #open: () => void = () => undefined

  private constructor(targetPort: number) {
    this.#targetPort = targetPort
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket))
  }

  /** A proxy on a port of its own, in front of `targetPort` of this machine. */
  static async start(targetPort: number): Promise<Proxy> {
    const proxy = new Proxy(targetPort)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  get mode(): ProxyMode {
    return this.#mode
  }

  set mode(mode: ProxyMode) {
    if (mode === this.#mode) return
    this.#open()
    this.#mode = mode
    if (mode === 'cut') this.#resetAll()
    if (mode === 'blackhole') this.#opened = new Promise((resolve) => (this.#open = resolve))
  }

  close(): void {
    this.#mode = 'cut'
    this.#open()
    this.#resetAll()
    this.#server.close()
  }

  #resetAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.#sockets.clear()
  }

  #accept(client: Socket): void {
    if (this.#mode === 'cut') {
      client.resetAndDestroy()
      return
    }
    const server = connect({ port: this.#targetPort, host: '127.0.0.1' })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => other.destroy())
      socket.once('close', () => this.#sockets.delete(socket))
    }
    void this.#forward(client, server)
    void this.#forward(server, client)
  }

  /** Copies what `source` sends to `sink`, and its end. */
  async #forward(source: Socket, sink: Socket): Promise<void> {
    try {
      for await (const chunk of source) {
        await this.#opened
        if (this.delayMs > 0) await delay(this.delayMs)
        if (sink.destroyed) return
        if (!sink.write(chunk as Buffer)) await drained(sink)
      }
      await this.#opened
      sink.end()
    } catch {
      // The other direction gets the error too.
      source.destroy()
      sink.destroy()
    }
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      socket.off('drain', end).off('close', end)
      resolve()
    }
    socket.once('drain', end).once('close', end)
  })
}
