/**
 * Requests that are refused before an operation handles them (keys, methods, sizes, slow bodies), and the limits on bodies:
 * a real listener, on a service in memory.
 */
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../../test/helpers/bodies.js'
import { smallJpeg } from '../../test/harness/jpeg.js'
import { listening, type ListeningService } from '../../test/helpers/listening-service.js'
import { firstBytes, head } from '../../test/harness/http.js'
import { mebibyte } from '../base/index.js'
import { imageBytesMax, jsonBodyBytesMax, type CycleResponse } from '../contract/index.js'

const jpeg = { 'Content-Type': 'image/jpeg' }

test('without a key every path and method is 401, known or not; only health needs no key', async () => {
  const server = await listening()
  const status = async (method: string, path: string): Promise<number> =>
    (await server.call({ method, path, key: null })).status
  for (const path of ['/', '/v1/nothing', '/v1/cycles', '/v1/scores/x', '/v1/images/g/0/0', '/v1/weights'])
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect(await status(method, path), `${method} ${path}`).toBe(401)
  expect(await status('DELETE', '/v1/health')).toBe(401)
  expect(await status('GET', '/v1/health')).toBe(200)
  expect(await status('HEAD', '/v1/health')).toBe(200)
})

test('every 401 names the authentication scheme', async () => {
  const server = await listening()
  for (const key of [null, 'a-wrong-key-0123456789'])
    for (const method of ['GET', 'HEAD', 'POST']) {
      const { status, headers } = await server.call({ method, path: '/v1/weights', key })
      expect([status, headers['www-authenticate']], method).toEqual([401, 'ApiKey'])
    }
  expect((await server.call({ path: '/v1/weights' })).headers['www-authenticate']).toBeUndefined()
})

test('a response has Connection: close for every spelling of a request that has it', async () => {
  const server = await listening()
  const responseTo = async (...headers: string[]): Promise<string> => {
    const socket = connect(server.port, '127.0.0.1')
    const response = firstBytes(socket)
    socket.write(head(server, 'GET /v1/weights', ...headers))
    return response.finally(() => socket.destroy())
  }
  const closing = /^HTTP\/1\.1 200 [^{]*\r\nConnection: close\r\n/
  for (const options of ['close', 'Close', 'keep-alive, close', 'TE,close', 'close, TE'])
    expect(await responseTo(`Connection: ${options}`), options).toMatch(closing)
  expect(await responseTo('Connection: TE', 'TE: trailers', 'Connection: close')).toMatch(closing)
  for (const options of ['keep-alive', 'TE, closed', 'x-close'])
    expect(await responseTo(`Connection: ${options}`), options).not.toMatch(closing)
})

test('a valid key after a scheme is 401, and the message explains how to send keys', async () => {
  const server = await listening()
  const { status, json } = await server.call({ path: '/v1/weights', key: `Bearer ${server.key}` })
  const message = expect.stringContaining('the whole Authorization header, without a scheme') as string
  expect([status, json]).toMatchObject([401, { error: { message } }])
})

test('repeated header lines are one value, no part of which is ignored', async () => {
  const server = await listening()
  const authorization = `Authorization: ${server.key}`
  const json = 'Content-Type: application/json'
  const ok = [authorization, json]
  const cases: [status: number, method: string, path: string, headers: string[]][] = [
    [401, 'GET', '/v1/weights', [authorization, 'Authorization: another']],
    [401, 'GET', '/v1/weights', ['Authorization: another', authorization]],
    [200, 'GET', '/v1/weights', [authorization]],
    [415, 'POST', '/v1/outcomes', [...ok, 'Content-Type: text/plain']],
    [415, 'POST', '/v1/outcomes', [authorization, `${json}; charset=utf-8`, 'Content-Type: text/plain']],
    [415, 'POST', '/v1/outcomes', [...ok, 'Content-Encoding: identity', 'Content-Encoding: br']],
    [415, 'POST', '/v1/outcomes', [...ok, 'Content-Encoding: gzip', 'Content-Encoding: gzip']],
    [200, 'POST', '/v1/outcomes', ok],
    [415, 'PUT', '/v1/images/g/1/1', [authorization, 'Content-Type: image/jpeg', 'Content-Type: image/png']],
    [
      415,
      'PUT',
      '/v1/images/g/1/1',
      [authorization, 'Content-Type: image/jpeg;q=1', 'Content-Type: image/png'],
    ],
  ]
  const body = '{"outcomes":[]}'
  for (const [status, method, path, headers] of cases) {
    const socket = connect(server.port, '127.0.0.1')
    const lines = method === 'GET' ? headers : [...headers, `Content-Length: ${body.length}`]
    socket.write([`${method} ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n'))
    if (method !== 'GET') socket.write(body)
    expect(await firstBytes(socket), headers.join(', ')).toMatch(`HTTP/1.1 ${status} `)
    socket.destroy()
  }
})

test('a request whose end is ambiguous is the last of its connection: 401 without a key, 400 with one', async () => {
  const server = await listening()
  for (const headerLines of [
    ['Content-Length: 2', 'Content-Length: 2'],
    ['Transfer-Encoding: gzip, chunked'],
  ])
    for (const [line, status] of [
      [`GET /v1/weights HTTP/1.1\r\nAuthorization: ${server.key}`, 400],
      ['GET /v1/weights HTTP/1.1\r\nAuthorization: another', 401],
      ['GET /v1/nothing HTTP/1.1', 401],
      ['GET /v1/health HTTP/1.1', 400],
    ] as const) {
      const socket = connect(server.port, '127.0.0.1')
      socket.write(`${[line, 'Host: x', ...headerLines].join('\r\n')}\r\n\r\n`)
      let response = ''
      for await (const chunk of socket) response += String(chunk)
      expect(response, `${line} ${headerLines.join()}`).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    }
})

test('gzip may be followed by a padding of zeros, and by nothing else', async () => {
  const server = await listening()
  const post = (index: number, ...parts: Uint8Array[]) =>
    server.call({
      method: 'POST',
      path: '/v1/cycles',
      headers: { 'Content-Encoding': 'gzip' },
      body: Buffer.concat([gzipSync(JSON.stringify(cycleBody(index))), ...parts]),
    })
  for (const rest of ['more', '\0more', '\0'.repeat(300_000) + 'm']) {
    const { status, json } = await post(0, Buffer.from(rest))
    expect([status, json]).toMatchObject([400, { error: { message: 'the body is not valid gzip' } }])
  }
  expect((await post(0, Buffer.alloc(300_000))).status).toBe(200)
  expect((await post(1, Buffer.alloc(1))).status).toBe(200)
  expect((await post(2)).status).toBe(200)
})

test('HEAD has the status and the length of GET, and no body', async () => {
  const server = await listening()
  const body = cycleBody(0, { candidates: [candidate('g', 1)] })
  await server.postCycle(body)
  for (const path of [
    '/v1/health',
    '/v1/weights',
    `/v1/scores/${body.cycle_id}`,
    '/v1/scores/20000101T0000',
  ]) {
    const [get, head] = [await server.call({ path }), await server.call({ method: 'HEAD', path })]
    expect(head.text, path).toBe('')
    expect(head.status, path).toBe(get.status)
    // The clock in health has a fixed width.
    expect(head.headers['content-length'], path).toBe(String(Buffer.byteLength(get.text)))
    expect(head.headers['content-type'], path).toBe(get.headers['content-type'])
  }
})

test('methods are case-sensitive', async () => {
  const server = await listening()
  const socket = connect(server.port, '127.0.0.1')
  socket.write(head(server, 'get /v1/weights'))
  expect(await firstBytes(socket)).toMatch(/^HTTP\/1.1 405 /)
  socket.destroy()
})

test('large bodies that arrive at the same time arrive whole', async () => {
  const server = await listening()
  const posts = Array.from({ length: 3000 }, (_, post) => post + 1)
  const bodies = [0, 1, 2, 3].map((index) =>
    cycleBody(index, { engagement: posts.map((n) => reading(`${index}`.repeat(1000), n, cycleMs(index))) }),
  )
  const responses = await Promise.all(bodies.map((body) => server.postCycle(body)))
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  for (const [index, { json }] of responses.entries()) {
    const { results } = json as CycleResponse
    expect(results.map(({ post_no }) => post_no)).toEqual(posts)
    expect(new Set(results.map(({ gall_id }) => gall_id))).toEqual(new Set([`${index}`.repeat(1000)]))
  }
})

describe('a body that is too large is 413', () => {
  const send = (server: ListeningService, method: string, path: string, body: Buffer, headers = {}) =>
    server.call({ method, path, body, headers })

  test.each([
    ['POST', '/v1/cycles'],
    ['POST', '/v1/outcomes'],
    ['PUT', '/v1/weights'],
  ])(
    '%s %s: what gzip makes larger than the limit, and what is at the limit is read',
    async (method, path) => {
      const server = await listening()
      const gzip = (bytes: number, level = 9) => gzipSync(Buffer.alloc(bytes, ' '), { level })
      const headers = { 'Content-Encoding': 'gzip' }
      const bomb = await send(server, method, path, gzip(4 * jsonBodyBytesMax), headers)
      expect([bomb.status, bomb.json]).toMatchObject([413, { error: { code: 'too_large' } }])
      expect((await send(server, method, path, gzip(jsonBodyBytesMax + 1), headers)).status).toBe(413)
      expect((await send(server, method, path, gzip(jsonBodyBytesMax), headers)).status).toBe(400)
      // What does not compress is longer as gzip, up to a limit of its own.
      const longer = gzip(jsonBodyBytesMax, 0)
      expect((await send(server, method, path, longer, headers)).status).toBe(400)
      const tooLong = Buffer.concat([longer, Buffer.alloc(mebibyte)])
      expect((await send(server, method, path, tooLong, headers)).status).toBe(413)
    },
  )

  test('an image larger than 5 MiB; one of exactly 5 MiB is stored', async () => {
    const server = await listening()
    const image = Buffer.concat([await smallJpeg(1), Buffer.alloc(imageBytesMax)])
    const put = (bytes: number) =>
      send(server, 'PUT', '/v1/images/g/1/01', image.subarray(0, bytes), jpeg).then(({ status }) => status)
    expect(await put(imageBytesMax + 1)).toBe(413)
    expect(await put(imageBytesMax)).toBe(201)
  })

  test('also if its length is not announced', async () => {
    const server = await listening()
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    const response = firstBytes(socket)
    const chunk = Buffer.alloc(1024 * 1024, ' ')
    socket.write(head(server, 'POST /v1/cycles', 'Transfer-Encoding: chunked'))
    for (let sent = 0; sent <= jsonBodyBytesMax; sent += chunk.length) {
      socket.write(`${chunk.length.toString(16)}\r\n`)
      socket.write(chunk)
      socket.write('\r\n')
    }
    expect(await response).toMatch(/^HTTP\/1\.1 413 /)
    socket.destroy()
  })
})

test('an upload is refused for its media type first, then for every malformed part', async () => {
  const server = await listening()
  const image = await smallJpeg(1)
  const refused = async (path: string, body: Buffer, hash?: string): Promise<unknown[]> => {
    const headers = { ...jpeg, ...(hash === undefined ? {} : { 'X-Content-SHA256': hash }) }
    const { status, json } = await server.call({ method: 'PUT', path: `/v1/images/${path}`, body, headers })
    const { fields = [] } = (json as { error: { fields?: { path: string }[] } }).error
    return [status, ...fields.map((field) => field.path)]
  }
  expect(await refused('g/00/1', Buffer.from('png'), 'x')).toEqual([415])
  expect(await refused('g/00/1', Buffer.alloc(imageBytesMax + 1))).toEqual([413])
  expect(await refused('g/00/1', image, 'x')).toEqual([400, 'post_no', 'NN', 'X-Content-SHA256'])
  expect(await refused('g/1/01', Buffer.alloc(0), 'x')).toEqual([400, 'X-Content-SHA256'])
  expect(await refused('g/1/01', Buffer.alloc(0))).toEqual([400])
  expect(await refused('g/1/01', image, 'a1'.repeat(32))).toEqual([400, 'X-Content-SHA256'])
})

describe('a client with Connection: close receives the refusal of its body', () => {
  const refusals = [
    ['POST', '/v1/cycles', 413],
    ['PUT', '/v1/images/g/1/01', 415],
    ['POST', '/v1/nothing', 404],
    ['POST', '/v1/scores/x', 405],
  ] as const
  const bytes = Buffer.alloc(2 * jsonBodyBytesMax, ' ')

  async function call(
    server: ListeningService,
    [method, path]: readonly [string, string, number],
    sendBody: (socket: Socket) => void,
    more: readonly string[] = [],
  ): Promise<string> {
    const socket = connect(server.port, '127.0.0.1')
    const headers = [`Content-Length: ${bytes.length}`, 'Connection: close', ...more]
    socket.write(head(server, `${method} ${path}`, ...headers))
    socket.write(bytes.subarray(0, 1))
    sendBody(socket)
    let response = ''
    for await (const chunk of socket) response += String(chunk)
    return response
  }

  test('after it has sent all of it, however large it is', async () => {
    const server = await listening()
    for (const refusal of refusals) {
      // The server chooses its response when the head has arrived.
      for (const more of [[], ['Connection: te']]) {
        const response = await call(server, refusal, (socket) => socket.write(bytes.subarray(1)), more)
        expect(response, refusal[1]).toMatch(new RegExp(`^HTTP/1.1 ${refusal[2]} `))
      }
    }
  })

  test('when it stops sending', async () => {
    const server = await listening()
    const responses = await Promise.all(refusals.map((refusal) => call(server, refusal, () => undefined)))
    expect(responses.map((response) => Number(response.split(' ')[1]))).toEqual(
      refusals.map(([, , status]) => status),
    )
  })

  test('when it sends so slowly that it would be disconnected', async () => {
    const server = await listening()
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    const response = firstBytes(socket)
    socket.write(head(server, 'POST /v1/nothing', `Content-Length: ${bytes.length}`, 'Connection: close'))
    const drip = setInterval(() => socket.write(bytes.subarray(0, 100)), 50)
    expect(await response).toMatch(/^HTTP\/1\.1 404 /)
    clearInterval(drip)
    socket.destroy()
  })
})

test('a client that sends its body steadily is disconnected at the time limit', async () => {
  const server = await listening()
  server.bodyReadMsMax = 500
  const body = Buffer.alloc(8 * 1024 * 1024, ' ')
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
  let response = ''
  socket.on('data', (data: Buffer) => (response += data.toString()))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(head(server, 'POST /v1/cycles', `Content-Length: ${body.length}`, 'Connection: close'))
  let sent = 0
  // Each piece comes in time, and all of them take four seconds.
  const drip = setInterval(() => socket.write(body.subarray(sent, (sent += 64 * 1024))), 30)
  await closed
  clearInterval(drip)
  expect(response).toBe('')
  expect(server.bodies.bytesHeld).toBe(0)
})

test('bodies past the memory limit get 503 with Retry-After, until others are released', async () => {
  const server = await listening()
  server.bodies.bytesMax = 40 * mebibyte
  const body = Buffer.alloc(15 * mebibyte, ' ')
  const post = (bytes: Uint8Array, headers = {}) =>
    server.call({ method: 'POST', path: '/v1/cycles', body: bytes, headers })
  const stall = (count: number): Socket[] =>
    Array.from({ length: count }, () => {
      const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
      socket.write(head(server, 'POST /v1/cycles', `Content-Length: ${body.length}`))
      socket.write(body.subarray(1))
      return socket
    })
  for (let round = 0; round < 3; round++) {
    const sockets = stall(3)
    // Two fit and wait for their last byte; the third gets a response.
    const refused = await Promise.race(sockets.map(firstBytes))
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*\r\nRetry-After: 1\r\n/s)
    // A small body of gzip takes what it unpacks to.
    expect((await post(gzipSync(body), { 'Content-Encoding': 'gzip' })).status).toBe(503)
    for (const socket of sockets) socket.destroy()
    while ((await post(body)).status === 503);
    // Refused for their content, plain and unpacked: each releases its memory, or the third would not fit.
    for (let i = 0; i < 3; i++) expect((await post(body)).status).toBe(400)
    for (let i = 0; i < 3; i++)
      expect((await post(gzipSync(body), { 'Content-Encoding': 'gzip' })).status).toBe(400)
    expect((await server.postCycle(cycleBody(round))).status).toBe(200)
    // Its body is hashed after the response.
    await vi.waitUntil(() => server.bodies.bytesHeld === 0)
  }
  expect(server.logLines).toContainEqual(
    expect.objectContaining({ code: 'server_error', problem: 'too many bytes of bodies are held' }),
  )
})

test('where no more bytes fit, large responses get 503, and small ones such as health are sent', async () => {
  const server = await listening()
  const posts = Array.from({ length: 500 }, (_, post) => post + 1)
  const body = cycleBody(0, { engagement: posts.map((post) => reading('g', post, cycleMs(0))) })
  expect((await server.postCycle(body)).status).toBe(200)
  server.bodies.bytesMax = 0
  const statusOf = async (path: string): Promise<number> => (await server.call({ path })).status
  const paths = ['/v1/health', '/v1/weights', '/v1/scores/20000101T0000', `/v1/scores/${body.cycle_id}`]
  expect(await Promise.all(paths.map(statusOf))).toEqual([200, 200, 404, 503])
})
