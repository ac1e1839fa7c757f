/**
 * Requests with an ambiguous end (request smuggling), and heads that no client sends. After
 * each follows another request, which must not be served.
 */
import { head, open } from '../harness/http.js'
import type { ServerProcess } from '../harness/server.js'

/** Shapes: head lines after the request line, and the bytes after the head up to the smuggled request. */
interface Shape {
  readonly name: string
  readonly bytes: (server: ServerProcess, smuggled: string) => string
}

const chunkedEnd = '0\r\n\r\n'

function post(name: string, headers: readonly string[], body: (smuggled: string) => string): Shape {
  return { name, bytes: (server, smuggled) => head(server, 'POST /v1/cycles', ...headers) + body(smuggled) }
}

/** Ambiguous: what follows must not become a request. */
export const ambiguousShapes: readonly Shape[] = [
  post('two lengths', ['Content-Length: 0', 'Content-Length: 5'], (inner) => inner),
  post('two lengths, longer first', ['Content-Length: 5', 'Content-Length: 0'], (inner) => inner),
  post('a list of lengths', ['Content-Length: 0, 5'], (inner) => inner),
  post(
    'length and chunked',
    ['Content-Length: 4', 'Transfer-Encoding: chunked'],
    (inner) => chunkedEnd + inner,
  ),
  post(
    'chunked and length',
    ['Transfer-Encoding: chunked', 'Content-Length: 4'],
    (inner) => chunkedEnd + inner,
  ),
  post('an unknown coding', ['Transfer-Encoding: xchunked'], (inner) => chunkedEnd + inner),
  post(
    'chunked twice',
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    (inner) => chunkedEnd + inner,
  ),
  post('chunked, then identity', ['Transfer-Encoding: chunked, identity'], (inner) => chunkedEnd + inner),
  post(
    'an empty coding',
    ['Transfer-Encoding:', 'Content-Length: 40'],
    (inner) => `0\r\n${'A'.repeat(35)}\n\r\n${inner}`,
  ),
  post('a header without a name', [': x', 'Content-Length: 1000'], (inner) => inner),
  post('a space before the colon', ['Transfer-Encoding : chunked'], (inner) => chunkedEnd + inner),
  post('a folded header', ['X-A: a', ' Transfer-Encoding: chunked'], (inner) => chunkedEnd + inner),
  post('a folded length', ['Content-Length:', ' 0'], (inner) => inner),
  post('a signed length', ['Content-Length: +0'], (inner) => inner),
  post('a negative length', ['Content-Length: -1'], (inner) => inner),
  post('a hexadecimal length', ['Content-Length: 0x0'], (inner) => inner),
  post('a length past 64 bits', ['Content-Length: 18446744073709551616'], (inner) => inner),
  post('a chunk past 64 bits', ['Transfer-Encoding: chunked'], (inner) => `FFFFFFFFFFFFFFFFF\r\n${inner}`),
  post('a negative chunk', ['Transfer-Encoding: chunked'], (inner) => `-1\r\n${inner}`),
  post('a chunk size that is not a number', ['Transfer-Encoding: chunked'], (inner) => `zz\r\n\r\n${inner}`),
  {
    name: 'bare line feeds',
    bytes: (server, inner) =>
      head(server, 'POST /v1/cycles', 'Content-Length: 0').replaceAll('\r\n', '\n') + inner,
  },
  {
    name: 'a bare carriage return in a header',
    bytes: (server, inner) => head(server, 'POST /v1/cycles', 'X-A: a\rContent-Length: 0') + inner,
  },
  {
    name: 'a zero byte in a header',
    bytes: (server, inner) => head(server, 'POST /v1/cycles', 'X-A: a\0b', 'Content-Length: 0') + inner,
  },
  {
    name: 'a header without a colon',
    bytes: (server, inner) => head(server, 'POST /v1/cycles', 'Content-Length 0') + inner,
  },
  {
    name: 'a name with a space',
    bytes: (server, inner) => head(server, 'POST /v1/cycles', 'Content Length: 0') + inner,
  },
  {
    name: 'HTTP/1.0 with chunks',
    bytes: (server, inner) =>
      head(server, 'POST /v1/cycles', 'Transfer-Encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0') +
      chunkedEnd +
      inner,
  },
  {
    name: 'HTTP/9.9',
    bytes: (server, inner) => head(server, 'GET /v1/health').replace('1.1', '9.9') + inner,
  },
  {
    name: 'HEAD with two lengths',
    bytes: (server, inner) =>
      head(server, 'HEAD /v1/health', 'Content-Length: 0', 'Content-Length: 5') + inner,
  },
  { name: 'no host', bytes: (_server, inner) => `GET /v1/health HTTP/1.1\r\n\r\n${inner}` },
  {
    name: 'HTTP/2 without an upgrade',
    bytes: (_server, inner) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${inner}`,
  },
  { name: 'TLS to a plain port', bytes: (_server, inner) => `\x16\x03\x01\x02\x00\x01\x00${inner}` },
]

/** Sends every shape; returns those after which the smuggled request was served. */
export async function servedAfter(server: ServerProcess, round: number): Promise<string[]> {
  const sockets = await Promise.all(
    ambiguousShapes.map(
      ({ bytes }, index) =>
        new Promise<{ destroy(): void }>((resolve) => {
          const socket = open(server)
          const inner = head(server, `GET /v1/smuggled-${round}-${index}-end`)
          socket.once('error', () => resolve(socket))
          socket.write(Buffer.from(bytes(server, inner), 'latin1'), () => resolve(socket))
        }),
    ),
  )
  await server.settle()
  for (const socket of sockets) socket.destroy()
  return ambiguousShapes
    .filter((_, index) => server.log.includes(`/v1/smuggled-${round}-${index}-end`))
    .map(({ name }) => name)
}
