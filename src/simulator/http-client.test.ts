/**
 * The HTTP client: it retries while the service is unavailable, up to a limit.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { HttpClient, type Call } from './http-client.js'

const servers: http.Server[] = []
const clients: HttpClient[] = []

afterEach(() => {
  for (const client of clients.splice(0)) client.close()
  for (const server of servers.splice(0)) server.closeAllConnections()
})

function newClient(
  port: number,
  more: { patienceMs?: number; signal?: AbortSignal; path?: string } = {},
): HttpClient {
  const client = new HttpClient({
    url: `http://127.0.0.1:${port}${more.path ?? ''}`,
    apiKey: 'key',
    patienceMs: more.patienceMs ?? 30_000,
    signal: more.signal,
  })
  clients.push(client)
  return client
}

function listen(handler: http.RequestListener, port = 0): Promise<number> {
  const server = http.createServer(handler)
  servers.push(server)
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

const call: Call = { method: 'POST', path: '/v1/cycles', body: Buffer.from('{}') }

test('a call carries its key, its length and its body, below the path of the base URL', async () => {
  let seen: unknown
  const port = await listen((request, response) => {
    request.on('data', (chunk: Buffer) => {
      const { authorization, 'content-length': length } = request.headers
      seen = [request.method, request.url, authorization, length, chunk.toString()]
    })
    request.on('end', () => response.end('done'))
  })
  const reply = await newClient(port, { path: '/base/' }).send(call)
  expect(seen).toEqual(['POST', '/base/v1/cycles', 'key', '2', '{}'])
  expect([reply.status, reply.body.toString(), reply.retryCount]).toEqual([200, 'done', 0])
})

test('broken connections, incomplete responses, 502, 503 and 504 are retried until a response arrives', async () => {
  let attempts = 0
  const port = await listen((request, response) => {
    request.resume()
    attempts++
    if (attempts === 1) request.socket.destroy()
    else if (attempts === 2) response.writeHead(503, { 'retry-after': '0' }).end()
    else if (attempts === 3) {
      response.writeHead(200, { 'content-length': 100 })
      response.write('half', () => request.socket.destroy())
    } else if (attempts < 6) response.writeHead(attempts === 4 ? 502 : 504, { 'retry-after': '0' }).end()
    else response.end('whole')
  })
  const client = newClient(port)
  const reply = await client.send(call)
  expect([reply.body.toString(), reply.retryCount, client.retryCount]).toEqual(['whole', 5, 5])
})

test('the client waits for a service that does not listen yet', async () => {
  const port = await listen(() => {})
  await new Promise((resolve) => servers.pop()?.close(resolve))
  const reply = newClient(port).send(call)
  await listen((_request, response) => response.end('here'), port)
  expect((await reply).body.toString()).toBe('here')
})

test('a service that remains unavailable is an error of kind unreachable', async () => {
  const port = await listen(() => {})
  await new Promise((resolve) => servers.pop()?.close(resolve))
  await expect(newClient(port, { patienceMs: 80 }).send(call)).rejects.toMatchObject({ kind: 'unreachable' })
})

test('an error status other than 502, 503 and 504 is a response', async () => {
  const port = await listen((request, response) => {
    request.resume()
    response.writeHead(500).end('oops')
  })
  expect(await newClient(port).send(call)).toMatchObject({ status: 500, retryCount: 0 })
})

test('connections are kept alive until they are closed', async () => {
  const sockets = new Set<unknown>()
  const port = await listen((request, response) => {
    sockets.add(request.socket)
    request.resume()
    response.end()
  })
  const client = newClient(port)
  await client.send(call)
  await client.send(call)
  expect(sockets.size).toBe(1)
  client.closeConnections()
  await client.send(call)
  expect(sockets.size).toBe(2)
})

test('a call that is broken off reaches the service in part or in whole, and the client continues', async () => {
  const received: number[] = []
  const settled: Promise<void>[] = []
  const port = await listen((request, response) => {
    let bytes = 0
    request.on('data', (chunk: Buffer) => (bytes += chunk.length))
    request.on('error', () => {})
    settled.push(new Promise((resolve) => request.on('close', () => resolve(void received.push(bytes)))))
    if (request.url === '/answered') request.on('end', () => response.end())
  })
  const client = newClient(port)
  const body = Buffer.alloc(1000)
  await client.breakOff({ method: 'POST', path: '/lost', body }, 'body-cut')
  await client.breakOff({ method: 'POST', path: '/lost', body }, 'response-unread')
  expect((await client.send({ method: 'POST', path: '/answered', body })).status).toBe(200)
  await Promise.all(settled)
  expect(received).toEqual([500, 1000, 1000])
})

test('breaking off a call to an unavailable service is not an error', async () => {
  const port = await listen(() => {})
  await new Promise((resolve) => servers.pop()?.close(resolve))
  await newClient(port).breakOff(call, 'response-unread')
})

test('a signal ends a call that waits for its response, and one that waits for a retry', async () => {
  const stop = new AbortController()
  const port = await listen(() => stop.abort(new Error('enough')))
  await expect(newClient(port, { signal: stop.signal }).send(call)).rejects.toThrow('enough')
  await expect(newClient(port, { signal: stop.signal }).send(call)).rejects.toThrow('enough')
})
