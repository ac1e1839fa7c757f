import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { Access } from './access.js'
import { JobLimiter, json, Router, type Reply, type Route } from './routes.js'

const options = { token: 'token-of-the-tests', host: 'admin.example', isTls: false }
const port = 8081
const access = new Access(options)

function withHeaders(headers: Record<string, string>): IncomingMessage {
  return { headers } as unknown as IncomingMessage
}

test('a Host is an IP address, localhost, or the configured name, with any port', () => {
  for (const host of ['127.0.0.1', '[::1]:1', 'localhost', 'ADMIN.example:9', '0.0.0.0:80'])
    expect(access.isOurHost(host), host).toBe(true)
  for (const host of [
    '',
    'evil.example',
    'admin.example.evil',
    'xlocalhost',
    '127.0.0.1.nip.io',
    'a:b',
    ':80',
    '1.2.3',
  ])
    expect(access.isOurHost(host), host).toBe(false)
})

test('the token is a bearer token, and neither a basic one nor the bare header', () => {
  const accepts = (authorization: string): boolean => access.accepts(withHeaders({ authorization }), port)
  expect(accepts('Bearer token-of-the-tests')).toBe(true)
  expect(accepts('bearer token-of-the-tests')).toBe(true)
  for (const value of [
    'token-of-the-tests',
    'Bearer',
    'Bearer token-of-the-test',
    'Bearer token-of-the-tests x',
    '',
  ])
    expect(accepts(value), value).toBe(false)
})

test('a cookie opens the listener of its port, and only that of its token', () => {
  const [pair = ''] = access.cookie(port).split(';')
  const accepts = (cookie: string, by = access, at = port): boolean => by.accepts(withHeaders({ cookie }), at)
  expect(accepts(pair)).toBe(true)
  expect(accepts(`x=1; ${pair}`)).toBe(true)
  expect(accepts(pair, access, 9)).toBe(false)
  expect(accepts(pair, new Access({ ...options, token: 'token-of-other-tests' }))).toBe(false)
  expect(accepts(`${pair.split('=')[0] ?? ''}=token-of-the-tests`)).toBe(false)
})

test('a cookie is for this host, for requests of its own pages, not for scripts, and secure under TLS', () => {
  expect(access.cookie(port)).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/)
  expect(new Access({ ...options, isTls: true }).cookie(port)).toMatch(
    /^__Host-.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  )
})

test('a route matches whole paths, and its parameters are decoded', () => {
  const route = (path: string): Route => ({ path, access: 'token', handle: () => json({}) })
  const router = new Router(['/a.json', '/b/{x}', '/b/{x}/c/{y}'].map(route))
  expect(router.find('/a.json')?.route.path).toBe('/a.json')
  expect(router.find('/b/%EA%B0%80%2F')?.parameters).toEqual(['가/'])
  expect(router.find('/b/1/c/2')?.parameters).toEqual(['1', '2'])
  for (const path of ['/aXjson', '/a.json/', '/b/', '/b/%', '/x/b/1', ''])
    expect(router.find(path), path).toBeNull()
})

test('work beyond a limit waits, and beyond a second one it is refused', async () => {
  const limiter = new JobLimiter(2, 1)
  const stays = (): AbortSignal => new AbortController().signal
  const ends: ((reply: Reply) => void)[] = []
  const work = () => new Promise<Reply>((resolve) => ends.push(resolve))
  const replies = [limiter.run(stays(), work), limiter.run(stays(), work), limiter.run(stays(), work)]
  const refusal = { status: 503, retryAfterS: 5, reason: { code: 'too_many_requests' } }
  await expect(limiter.run(stays(), work)).rejects.toMatchObject(refusal)
  expect([ends.length, limiter.count]).toEqual([2, 3])
  ends[0]?.(json({}))
  await replies[0]
  await expect.poll(() => ends.length).toBe(3)
  for (const end of ends) end(json({}))
  await Promise.all(replies)
  expect(limiter.count).toBe(0)
})

test('work whose client has disconnected leaves the queue and does not start', async () => {
  const limiter = new JobLimiter(1, 1)
  const clients = [0, 1, 2].map(() => new AbortController())
  const started: number[] = []
  let end = (): void => undefined
  const work = (client: number) => () =>
    new Promise<Reply>((resolve) => {
      started.push(client)
      end = () => resolve(json({}))
    })
  const [first, second] = [0, 1].map((n) => limiter.run(clients[n]!.signal, work(n)))
  clients[1]?.abort()
  const third = limiter.run(clients[2]!.signal, work(2))
  await expect(second).rejects.toBe(clients[1]?.signal.reason)
  end()
  await first
  await expect.poll(() => started).toEqual([0, 2])
  end()
  await third
  expect(started).toEqual([0, 2])
})
