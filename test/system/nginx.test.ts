/**
 * The standard deployment: the real nginx with deploy/nginx.conf in front of a real server. Only paths, ports and limits that
 * a test must reach are substituted. Skipped, with one line, if nginx is not installed.
 */
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gzipBodyBytesMax, jsonBodyBytesMax } from '../../src/contract/index.js'
import { cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { nginxMissing, startNginx, type Nginx } from '../helpers/nginx.js'
import { head as headOf, statuses } from '../harness/http.js'
import { ServerProcess } from '../harness/server.js'

if (nginxMissing) console.log('skipped: test/system/nginx.test.ts needs nginx and openssl')

const connectionsMax = 8

describe.skipIf(nginxMissing)('nginx in front of the server', () => {
  const server = new ServerProcess({ UNDERSTUDY_LOG_LEVEL: 'info' })
  let nginx: Nginx | null = null
  let port = 0

  beforeAll(async () => {
    await server.start()
    nginx = await startNginx(server.port, connectionsMax)
    port = nginx.port
  })
  afterAll(async () => {
    await nginx?.stop()
    await server.dispose()
  })

  const open = (): Promise<TLSSocket> =>
    new Promise((resolve, reject) => {
      const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => resolve(socket))
      socket.on('error', reject)
    })
  const head = (line: string, ...headers: string[]): string => headOf(server, line, ...headers)
  /** Sends the parts; resolves with all that comes back until the connection is closed. */
  const exchange = async (...parts: (string | Buffer)[]): Promise<string> => {
    const socket = await open()
    socket.removeAllListeners('error').on('error', () => undefined)
    for (const part of parts) socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    await new Promise((resolve) => socket.once('close', resolve))
    return Buffer.concat(chunks).toString()
  }
  const last = 'Connection: close'

  test('pipelined requests get their responses in order', async () => {
    const bodies = [0, 1, 2].map((index) => JSON.stringify(cycleBody(index)))
    const posts = bodies.map((body, index) =>
      [head('POST /v1/cycles', `Content-Length: ${body.length}`, ...(index === 2 ? [last] : [])), body].join(
        '',
      ),
    )
    const received = await exchange(posts.join(''))
    expect(statuses(received)).toEqual([200, 200, 200])
    const ids = [...received.matchAll(/"cycle_id":"(\w+)"/g)].map((match) => match[1])
    expect(ids).toEqual([0, 1, 2].map((index) => cycleBody(index).cycle_id))
  })

  test.each(['100-continue', '100-Continue', '100-CONTINUE'])(
    'Expect: %s gets a response',
    async (expectation) => {
      const socket = await open()
      const first = new Promise<string>((resolve) =>
        socket.once('data', (data: Buffer) => resolve(String(data))),
      )
      socket.write(head('POST /v1/cycles', 'Content-Length: 2', `Expect: ${expectation}`, last))
      expect(await first).toMatch(/^HTTP\/1\.1 100 Continue/)
      const second = new Promise<string>((resolve) =>
        socket.once('data', (data: Buffer) => resolve(String(data))),
      )
      socket.write('{}')
      expect(await second).toMatch(/^HTTP\/1\.1 400 /)
      socket.destroy()
    },
  )

  test('a client that reads a large response slowly gets it whole, and the server is done with it before', async () => {
    const posts = Array.from({ length: 4500 }, (_, n) => n + 1)
    const body = cycleBody(4, { engagement: posts.map((n) => reading('긴'.repeat(1000), n, cycleMs(4))) })
    const { text } = await server.postCycle(body)
    expect(text.length).toBeGreaterThan(4_500_000)
    const socket = await open()
    socket.pause()
    socket.write(head(`GET /v1/scores/${body.cycle_id}`, last))
    await server.logged(new RegExp(`"path":"/v1/scores/${body.cycle_id}","status":200`))
    const received = Buffer.concat((await socket.toArray()) as Buffer[]).toString()
    expect(received.endsWith(text)).toBe(true)
  })

  test('a client that writes slowly gets a response, and the server receives no request before it is complete', async () => {
    const body = JSON.stringify(cycleBody(5))
    const socket = await open()
    const response = new Promise<string>((resolve) =>
      socket.once('data', (data: Buffer) => resolve(String(data))),
    )
    socket.write(head('POST /v1/cycles', `Content-Length: ${body.length}`, 'X-Slow: 1', last))
    for (const character of body.slice(0, 50)) socket.write(character)
    // Other requests pass meanwhile.
    expect(statuses(await exchange(head('GET /v1/weights', last)))).toEqual([200])
    socket.write(body.slice(50))
    expect(await response).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
  })

  // After the slow reader: large bodies let the system give later connections buffers that would hold its response.

  /** A request without a body, on a connection that ends with its response. */
  const get = (line: string, ...headers: string[]) => [head(line, ...headers, last)]
  const cycle = (bytes: Buffer, ...headers: string[]) => [
    head('POST /v1/cycles', `Content-Length: ${bytes.length}`, ...headers, last),
    bytes,
  ]
  const image = (path: string, bytes: Buffer) => [
    head(`PUT ${path}`, 'Content-Type: image/jpeg', `Content-Length: ${bytes.length}`, last),
    bytes,
  ]
  const withKey = (key: string) => [
    `GET /v1/weights HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n${last}\r\n\r\n`,
  ]
  const spaces = (count: number): Buffer => Buffer.alloc(count, ' ')
  const incompressible = (): Buffer => {
    const packed = gzipSync(spaces(jsonBodyBytesMax), { level: 0 })
    expect(packed.length).toBeGreaterThan(jsonBodyBytesMax)
    return packed
  }
  const chunked = (): string => {
    const body = JSON.stringify(cycleBody(3))
    return `${body.length.toString(16)};a="5"\r\n${body}\r\n0\r\nX-Sum: 1\r\n\r\n`
  }

  type Parts = () => readonly (string | Buffer)[]
  /** With the code of the error record of the contract, and who refuses: nginx or the service. */
  test.each<[string, Parts, number, [code: string, by: 'nginx' | 'service']?]>([
    ['a request', () => get('GET /v1/weights'), 200],
    ['HTTP/1.0', () => [`GET /v1/weights HTTP/1.0\r\nAuthorization: ${server.key}\r\n\r\n`], 200],
    ['a target in absolute form', () => get('GET https://x/v1/weights'), 200],
    ['a chunked body', () => [head('POST /v1/cycles', 'Transfer-Encoding: chunked', last), chunked()], 200],
    ['a request without any header', () => ['GET /v1/health HTTP/1.1\r\n\r\n'], 400],
    ['a request without Host', () => [`GET /v1/health HTTP/1.1\r\n${last}\r\n\r\n`], 400],
    ['a key and a byte beyond ASCII', () => withKey(`${server.key}\xe9`), 401],
    ['a byte beyond ASCII and a key', () => withKey(`\xff${server.key}`), 401],
    ['a key and a character beyond ASCII', () => withKey(`${server.key}\xc3\xa9`), 401],
    ['16 MiB', () => cycle(spaces(jsonBodyBytesMax)), 400, ['bad_request', 'service']],
    ['longer gzip', () => cycle(incompressible(), 'Content-Encoding: gzip'), 400, ['bad_request', 'service']],
    ['16 MiB and a byte', () => cycle(spaces(jsonBodyBytesMax + 1)), 413, ['too_large', 'service']],
    ['a body longer than any gzip', () => cycle(spaces(gzipBodyBytesMax + 1)), 413],
    ['32 MiB', () => image('/v1/images/g/1/01', spaces(2 ** 25)), 413, ['too_large', 'nginx']],
    ['a NUL in a path', () => image('/v1/images/%00/1/01', spaces(2)), 400, ['bad_request', 'nginx']],
    ['no head', () => ['NO HEAD\r\n\r\n'], 400, ['bad_request', 'nginx']],
    ['a long header', () => get('GET /v1/health', `X: ${'x'.repeat(40_000)}`), 400, ['bad_request', 'nginx']],
  ])('%s gets its status', async (_, parts, status, refusal) => {
    const received = await exchange(...parts())
    expect(statuses(received)).toEqual([status])
    if (refusal === undefined) return
    const [code, by] = refusal
    expect(received).toMatch(/\r\nContent-Type: application\/json/i)
    expect(received).toContain(`"code":"${code}"`)
    expect(received.includes('"message":"nginx')).toBe(by === 'nginx')
  })

  test('connections of one address past the limit get 503, and others are served', async () => {
    // nginx counts a connection while it has a request.
    const body = 'Content-Length: 10'
    const held = await Promise.all(
      Array.from({ length: connectionsMax }, async () => {
        const socket = await open()
        socket.write(head('POST /v1/cycles', body))
        return socket
      }),
    )
    let refused = ''
    while (!refused.startsWith('HTTP/1.1 503')) refused = await exchange(head('GET /v1/health', last))
    for (const socket of held) socket.destroy()
    let served = ''
    while (!served.startsWith('HTTP/1.1 200')) served = await exchange(head('GET /v1/health', last))
  })

  test('requests of one address past the rate get 429', async () => {
    const received = await exchange(head('GET /v1/health').repeat(300), head('GET /v1/health', last))
    const found = statuses(received)
    expect(found).toContain(200)
    expect(found).toContain(429)
    expect(found.filter((status) => status !== 200 && status !== 429)).toEqual([])
  })
})
