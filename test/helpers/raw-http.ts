/** Requests as bytes, for tests that control when and how bytes arrive. */
import type { Socket } from 'node:net'
import type { CalledServer } from './called-server.js'

/** The head of a request with the key of `server`. */
export function head(server: Pick<CalledServer, 'key'>, line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, 'Host: x', `Authorization: ${server.key}`, ...headers, '', ''].join('\r\n')
}

/** The bytes of the first read. */
export function firstBytes(socket: Socket): Promise<string> {
  return new Promise((resolve) => socket.once('data', (data: Buffer) => resolve(data.toString())))
}
