/**
 * TCP proxies between the processes and the database servers, which can be cut or slowed.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export class Proxy {
  /** Milliseconds by which each piece of data is delayed. */
  delayMs = 0
  #isCut = false
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  readonly #targetPort: number

  private constructor(targetPort: number) {
    this.#targetPort = targetPort
    this.#server = createServer((client) => this.#join(client))
  }

  static async to(targetPort: number): Promise<Proxy> {
    const proxy = new Proxy(targetPort)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Nothing arrives any more, in both directions, and no connection ends: as when a cable is pulled. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Connections of the time before are reset. */
  heal(): void {
    this.delayMs = 0
    if (!this.#isCut) return
    this.#isCut = false
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(client: Socket): void {
    const server = connect(this.#targetPort, '127.0.0.1')
    this.#pipe(client, server)
    this.#pipe(server, client)
  }

  #pipe(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    if (this.#isCut) from.pause()
    from.on('data', (data) => {
      if (this.delayMs === 0) to.write(data)
      else setTimeout(() => to.write(data), this.delayMs)
    })
    from.on('error', () => to.destroy())
    from.on('close', () => {
      this.#sockets.delete(from)
      if (!this.#isCut) to.destroy()
    })
  }
}
