import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { Access } from './access.js'
import { json, Router, type Route } from './routes.js'

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
