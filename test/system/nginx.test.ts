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
  const head = (line: string, ...headers: string[]): string =>
    [`${line} HTTP/1.1`, 'Host: x', `Authorization: ${server.key}`, ...headers, '', ''].join('\r\n')
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
  const statusesOf = (received: string): number[] =>
    [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
  const last = 'Connection: close'

  test('pipelined requests get their responses in order', async () => {
    const bodies = [0, 1, 2].map((index) => JSON.stringify(cycleBody(index)))
    const posts = bodies.map((body, index) =>
      [head('POST /v1/cycles', `Content-Length: ${body.length}`, ...(index === 2 ? [last] : [])), body].join(
        '',
      ),
    )
    const received = await exchange(posts.join(''))
    expect(statusesOf(received)).toEqual([200, 200, 200])
    const ids = [...received.matchAll(/"cycle_id":"(\w+)"/g)].map((match) => match[1])
    expect(ids).toEqual([0, 1, 2].map((index) => cycleBody(index).cycle_id))
  })

  test('a chunked body with chunk extensions and trailers is read', async () => {
    const body = JSON.stringify(cycleBody(3))
    const size = body.length.toString(16)
    const received = await exchange(
      head('POST /v1/cycles', 'Transfer-Encoding: chunked', last),
      `${size};a="5"\r\n${body}\r\n0\r\nX-Sum: 1\r\n\r\n`,
    )
    expect(statusesOf(received)).toEqual([200])
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

  test('HTTP/1.0 and absolute-form targets are accepted', async () => {
    const old = `GET /v1/weights HTTP/1.0\r\nAuthorization: ${server.key}\r\n\r\n`
    expect(statusesOf(await exchange(old))).toEqual([200])
    expect(statusesOf(await exchange(head('GET https://x/v1/weights', last)))).toEqual([200])
  })

  test('a request without Host, or without any header, is 400', async () => {
    expect(statusesOf(await exchange('GET /v1/health HTTP/1.1\r\n\r\n'))).toEqual([400])
    expect(statusesOf(await exchange(`GET /v1/health HTTP/1.1\r\n${last}\r\n\r\n`))).toEqual([400])
  })

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
    expect(statusesOf(await exchange(head('GET /v1/weights', last)))).toEqual([200])
    socket.write(body.slice(50))
    expect(await response).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
  })

  test('a body of 16 MiB passes, as gzip that does not compress too; a larger one is 413', async () => {
    const post = (bytes: Buffer, ...headers: string[]) =>
      exchange(head('POST /v1/cycles', `Content-Length: ${bytes.length}`, ...headers, last), bytes)
    const spaces = Buffer.alloc(jsonBodyBytesMax, ' ')
    // The server reads them: 400 with an error record.
    expect(await post(spaces)).toMatch(/^HTTP\/1\.1 400 [^]*"code":"bad_request"/)
    const stored = gzipSync(spaces, { level: 0 })
    expect(stored.length).toBeGreaterThan(jsonBodyBytesMax)
    expect(await post(stored, 'Content-Encoding: gzip')).toMatch(/^HTTP\/1\.1 400 [^]*"code":"bad_request"/)
    expect(await post(Buffer.alloc(jsonBodyBytesMax + 1, ' '))).toMatch(
      /^HTTP\/1\.1 413 [^]*"code":"too_large"/,
    )
    expect(await post(Buffer.alloc(gzipBodyBytesMax + 1, ' '))).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('what nginx refuses for good has an error record of the contract', async () => {
    const image = (path: string): Promise<string> =>
      exchange(head(`PUT ${path}`, 'Content-Type: image/jpeg', 'Content-Length: 2', last), 'ab')
    const badRequest =
      /^HTTP\/1\.1 400 [^]*Content-Type: application\/json[^]*"code":"bad_request","message":"nginx/
    expect(await image('/v1/images/%00/1/01')).toMatch(badRequest)
    expect(await exchange('NO HEAD\r\n\r\n')).toMatch(badRequest)
    expect(await exchange(head('GET /v1/health', `X: ${'x'.repeat(40_000)}`, last))).toMatch(badRequest)
    const large = head(
      'PUT /v1/images/g/1/01',
      'Content-Type: image/jpeg',
      `Content-Length: ${2 ** 25}`,
      last,
    )
    expect(await exchange(large, Buffer.alloc(2 ** 25))).toMatch(
      /^HTTP\/1\.1 413 [^]*Content-Type: application\/json[^]*"code":"too_large","message":"nginx/,
    )
  })

  test('a key with bytes outside visible ASCII around it is 401', async () => {
    for (const key of [`${server.key}\xe9`, `\xff${server.key}`, `${server.key}\xc3\xa9`]) {
      const request = `GET /v1/weights HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n${last}\r\n\r\n`
      expect(statusesOf(await exchange(request))).toEqual([401])
    }
    expect(statusesOf(await exchange(head('GET /v1/weights', last)))).toEqual([200])
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
    const statuses = statusesOf(received)
    expect(statuses).toContain(200)
    expect(statuses).toContain(429)
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  })
})
