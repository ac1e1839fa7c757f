/**
 * What a client may expect of its connection (docs/contract.md, HTTP): refusals that arrive while it sends, responses that it reads
 * slowly, pipelined requests, and requests that arrive in parts. Real processes, real sockets, ordinary clients.
 */
import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { firstBytes, head } from '../harness/http.js'
import type { ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

const run = promisify(execFile)

/** Stores a cycle with a response of several megabytes, more than the buffers of two sockets hold, and returns both. */
async function largeCycle(server: ServerProcess): Promise<{ path: string; text: string }> {
  const posts = Array.from({ length: 5000 }, (_, n) => n + 1)
  const body = cycleBody(0, { engagement: posts.map((n) => reading('긴'.repeat(1000), n, cycleMs(0))) })
  const { text } = await server.postCycle(body)
  expect(text.length).toBeGreaterThan(5_000_000)
  return { path: `/v1/scores/${body.cycle_id}`, text }
}

describe('a refusal of an 18 MB body reaches', () => {
  const bytes = 18_000_000
  const clients: [name: string, isMissing: boolean, send: typeof withCurl][] = [
    ['curl', spawnSync('curl', ['--version']).error !== undefined, withCurl],
    ['curl without Expect', spawnSync('curl', ['--version']).error !== undefined, withCurlAtOnce],
    ['fetch of Node', false, withFetch],
    ['http.client of Python', spawnSync('python3', ['--version']).error !== undefined, withPython],
  ]

  test.each(clients.filter(([, isMissing]) => !isMissing))('%s', async (_name, _isMissing, send) => {
    const server = await started()
    const url = `http://127.0.0.1:${server.port}`
    const file = join(scratchDir(), 'body')
    writeFileSync(file, Buffer.alloc(bytes, ' '))
    expect(await send(`${url}/v1/cycles`, 'a-wrong-key-0123456789', file)).toBe(401)
    expect(await send(`${url}/v1/cycles`, server.key, file)).toBe(413)
    expect(await send(`${url}/v1/nothing`, server.key, file)).toBe(404)
  })

  async function withCurl(url: string, key: string, file: string, ...more: string[]): Promise<number> {
    const headers = ['-H', `Authorization: ${key}`, '-H', 'Content-Type: application/json']
    const post = ['-X', 'POST', ...headers, '--data-binary', `@${file}`, ...more]
    const { stdout } = await run('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', ...post, url])
    return Number(stdout)
  }

  async function withCurlAtOnce(url: string, key: string, file: string): Promise<number> {
    return withCurl(url, key, file, '-H', 'Expect:')
  }

  async function withFetch(url: string, key: string): Promise<number> {
    const init = { method: 'POST', headers: { Authorization: key }, body: Buffer.alloc(bytes, ' ') }
    return (await fetch(url, init)).status
  }

  async function withPython(url: string, key: string, file: string): Promise<number> {
    const script = [
      'import http.client, sys, urllib.parse',
      'url = urllib.parse.urlsplit(sys.argv[1])',
      'connection = http.client.HTTPConnection(url.netloc)',
      'connection.request("POST", url.path, open(sys.argv[3], "rb").read(), {"Authorization": sys.argv[2]})',
      'print(connection.getresponse().status)',
    ]
    return Number((await run('python3', ['-c', script.join('\n'), url, key, file])).stdout)
  }
})

test('a pipelining client gets responses in order, or its connection is closed', async () => {
  const server = await started()
  const requests = [
    ['GET /v1/health', 'GET /v1/weights', 'GET /v1/health'],
    ['GET /v1/weights', 'POST /v1/cycles', 'GET /v1/weights'],
    ['POST /v1/cycles', 'POST /v1/cycles', 'GET /v1/weights'],
  ]
  const body = JSON.stringify(cycleBody(0))
  for (const lines of requests) {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    const bytes = lines.map((line) =>
      line.startsWith('GET')
        ? head(server, line)
        : head(server, line, `Content-Length: ${body.length}`) + body,
    )
    socket.on('error', () => undefined)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.end(bytes.join(''))
    await closed
    const received = Buffer.concat(chunks).toString()
    const kinds = [...received.matchAll(/"(status|version|cycle_id)":/g)].map(([, name]) => name)
    const expected = {
      'GET /v1/health': 'status',
      'GET /v1/weights': 'version',
      'POST /v1/cycles': 'cycle_id',
    }
    const order = lines.map((line) => expected[line as keyof typeof expected])
    // One response each, some from the start of the list: none is skipped, repeated or mixed up.
    const first = kinds.filter((kind, index) => index === 0 || kind !== kinds[index - 1])
    expect(received.split('HTTP/1.1 ').length - 1, received).toBeLessThanOrEqual(lines.length)
    expect(received.replaceAll('HTTP/1.1 200 OK', '')).not.toMatch(/HTTP\/1\.1 (?!200|408)/)
    expect(order.slice(0, 1), received).toEqual(first.length === 0 ? order.slice(0, 1) : first.slice(0, 1))
  }
  expect((await server.call({ path: '/v1/weights' })).status).toBe(200)
})

test('a request gets its response wherever its headers are split in two', async () => {
  const server = await started()
  const request = head(server, 'POST /v1/cycles', 'Content-Length: 0')
  // uWebSockets.js may respond with 505 if the request line itself is split: nginx in front sends it whole.
  const first = request.indexOf('\r\n') + 2
  for (let cut = first; cut < request.length; cut += 7) {
    const socket = connect(server.port, '127.0.0.1').setNoDelay()
    const response = firstBytes(socket)
    socket.write(request.slice(0, cut))
    // The server has read the first part when it responds to another client.
    await server.call({ path: '/v1/health' })
    socket.write(request.slice(cut))
    expect(await response, `split at ${cut}`).toMatch(/^HTTP\/1\.1 400 /)
    socket.destroy()
  }
})

test('a client that closes its side within a request line is disconnected', async () => {
  const server = await started()
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end('GET /v1/heal')
  await new Promise((resolve) => socket.resume().once('end', resolve))
  expect((await server.call({ path: '/v1/health' })).status).toBe(200)
})

test('clients that do not read large responses do not delay others, and receive them whole once they read', async () => {
  const server = await started()
  const { path, text } = await largeCycle(server)
  const sockets = Array.from({ length: 30 }, () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(head(server, `GET ${path}`, 'Connection: close'))
    return socket
  })
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('readable', resolve))))
  expect((await server.call({ path: '/v1/weights' })).status).toBe(200)
  for (const socket of sockets.slice(3)) socket.destroy()
  for (const socket of sockets.slice(0, 3)) {
    const received = Buffer.concat((await socket.toArray()) as Buffer[]).toString()
    expect(received.endsWith(`\r\n\r\n${text}`), `${received.length} bytes`).toBe(true)
  }
})

test('the memory of responses to slow clients is limited: the next request gets 503', async () => {
  const server = await started({ UNDERSTUDY_BODIES_BYTES_MAX: String(40 * 1024 * 1024) })
  const { path, text } = await largeCycle(server)
  const fitting = Math.floor((40 * 1024 * 1024) / Buffer.byteLength(text))
  const sockets = Array.from({ length: fitting }, () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(head(server, `GET ${path}`))
    return socket
  })
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('readable', resolve))))
  const refused = await server.call({ path })
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  expect((await server.call({ path: '/v1/weights' })).status).toBe(200)
  for (const socket of sockets) socket.destroy()
  while ((await server.call({ path })).status !== 200);
})

test('a client that disconnects during a large response ends the request', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'info' })
  const { path } = await largeCycle(server)
  const socket = connect(server.port, '127.0.0.1')
  const some = firstBytes(socket)
  socket.write(head(server, `GET ${path}`))
  await some
  socket.destroy()
  await server.logged(/"path":"\/v1\/scores\/.*"bytes_out":\d+/)
})

test('a request without Host is 400, and its connection is closed', async () => {
  const server = await started()
  for (const line of ['GET /v1/health', 'POST /v1/cycles']) {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    socket.write(`${line} HTTP/1.1\r\nAuthorization: ${server.key}\r\n\r\n`)
    expect((await socket.toArray()).join('')).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
  }
})

test('a client that sends its body byte by byte is disconnected at the time limit', async () => {
  const server = await started({ UNDERSTUDY_BODY_READ_MS_MAX: '200' })
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(head(server, 'POST /v1/cycles', 'Content-Length: 1000000'))
  const trickle = setInterval(() => socket.write('{'), 10)
  await closed
  clearInterval(trickle)
  await server.logged('"status":"aborted"')
  expect((await server.call({ path: '/v1/weights' })).status).toBe(200)
})
