/** The admin listener with routes of its own: clients that leave, and clients that do not wait for a response. */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { makeTlsFiles, opensslMissing } from '../../test/helpers/tls-files.js'
import { Access } from './access.js'
import { EventStreams } from './event-streams.js'
import { AdminListener } from './listener.js'
import { json, type Route } from './routes.js'

const silent = (): void => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }
const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function listen(routes: readonly Route[], given: object = {}): Promise<AdminListener> {
  const access = new Access({ token: 'a-token-of-the-test', host: '127.0.0.1', isTls: false })
  const options = { host: '127.0.0.1', port: 0, tls: null, access, routes, log: log as never, ...given }
  const listener = await AdminListener.open(options)
  closing.push(() => listener.close())
  return listener
}

async function send(port: number, text: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port })
  closing.push(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`

test('a response to a client that has left does not count as unread', async () => {
  let started: () => void = silent
  let finish: () => void = silent
  const megabytes = {
    path: '/large',
    access: 'open',
    async handle() {
      started()
      await new Promise<void>((resolve) => (finish = resolve))
      return { status: 200, headers: {}, body: Buffer.alloc(8 * 1024 * 1024) }
    },
  } as const satisfies Route
  const livez = { path: '/livez', access: 'open', handle: () => json({ status: 'ok' }) } as const
  const { port } = await listen([megabytes, livez])
  for (let n = 0; n < 10; n++) {
    const arrived = new Promise<void>((resolve) => (started = resolve))
    const socket = await send(port, get('/large'))
    await arrived
    socket.resetAndDestroy()
    // The listener processes the reset before it responds to a later request.
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200)
    finish()
  }
  await new Promise(setImmediate)
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200)
})

test('the work for a client that has left is aborted', async () => {
  let gone: AbortSignal | null = null
  const slow = {
    path: '/slow',
    access: 'open',
    handle(call) {
      gone = call.gone
      return new Promise<never>((_, reject) =>
        call.gone.addEventListener('abort', () => reject(call.gone.reason as Error)),
      )
    },
  } as const satisfies Route
  const { port } = await listen([slow])
  const socket = await send(port, get('/slow'))
  await expect.poll(() => gone?.aborted).toBe(false)
  socket.resetAndDestroy()
  await expect.poll(() => gone?.aborted).toBe(true)
})

test('a client that pipelines requests is disconnected', async () => {
  let calls = 0
  const slow = {
    path: '/slow',
    access: 'open',
    handle() {
      calls++
      return new Promise<never>(silent)
    },
  } as const satisfies Route
  const { port } = await listen([slow])
  const socket = await send(port, get('/slow').repeat(3000))
  await new Promise((resolve) => socket.resume().on('error', silent).once('close', resolve))
  expect(calls).toBe(1)
})

test.each([
  ['an unknown method', 'FOO /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', 400],
  ['no Host', 'GET /livez HTTP/1.1\r\n\r\n', 400],
  ['no HTTP', 'hello\r\n\r\n', 400],
  ['two lengths of a body', `POST /login HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
  ['a path of 20 kB', get(`/api/picks?q=${'a'.repeat(20_000)}`), 431],
])('a malformed request has a response: %s', async (_, request, status) => {
  const socket = await send((await listen([])).port, request)
  const [data] = (await once(socket, 'data')) as [Buffer]
  expect(data.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\nConnection: close\r\n`))
  await once(socket, 'close')
})

test.skipIf(opensslMissing)('a client that does not complete the TLS handshake is disconnected', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-tls-'))
  closing.push(() => rmSync(directory, { recursive: true }))
  const { cert, key } = makeTlsFiles(directory, 'name')
  const { createServer } = https
  // A two-hundredth of the time limit, which has to be set: nobody waits ten seconds.
  const createImpatient = (options: https.ServerOptions, onRequest?: RequestListener): https.Server =>
    createServer({ ...options, handshakeTimeout: (options.handshakeTimeout ?? NaN) / 200 }, onRequest)
  vi.spyOn(https, 'createServer').mockImplementationOnce(createImpatient as typeof createServer)
  const { port } = await listen([], { tls: { certFile: cert, keyFile: key } })
  // Nothing, and the beginning of a handshake.
  for (const text of ['', '\x16\x03\x01']) {
    const socket = await send(port, text)
    await new Promise((resolve) => socket.resume().on('error', silent).once('close', resolve))
  }
})

describe('a large text', () => {
  const text = 'text of the test '.repeat(2000)
  const large = { path: '/large', access: 'open', handle: () => json({ text }) } as const satisfies Route
  const download = {
    path: '/image',
    access: 'open',
    handle: () => ({ status: 200, headers: { 'Content-Type': 'image/jpeg' }, body: Buffer.from(text) }),
  } as const satisfies Route
  const small = { path: '/small', access: 'open', handle: () => json({}) } as const satisfies Route

  const lengthOf = async (port: number, path: string, encoding: string): Promise<string> => {
    const headers = { 'accept-encoding': encoding }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    expect((await response.text()).length).toBeGreaterThan(1)
    return `${response.headers.get('content-encoding')}, ${response.headers.get('content-length')}`
  }

  test('is compressed for clients that accept it; images and short texts are not', async () => {
    const { port } = await listen([large, download, small])
    expect(await lengthOf(port, '/large', 'br, gzip')).toMatch(/^gzip, \d{3}$/)
    expect(await lengthOf(port, '/large', 'gzip;q=0')).toBe(`null, ${text.length + 12}`)
    expect(await lengthOf(port, '/large', 'identity')).toBe(`null, ${text.length + 12}`)
    expect(await lengthOf(port, '/image', 'gzip')).toBe(`null, ${text.length}`)
    expect(await lengthOf(port, '/small', 'gzip')).toBe('null, 3')
  })

  test('is sent as it is while two are being compressed', async () => {
    const count = 10
    let arrived = 0
    const together = Promise.withResolvers<undefined>()
    const joined = {
      ...large,
      handle: async () => {
        if (++arrived === count) together.resolve(undefined)
        await together.promise
        return large.handle()
      },
    }
    const { port } = await listen([joined])
    const all = await Promise.all(Array.from({ length: count }, () => lengthOf(port, '/large', 'gzip')))
    expect(all.filter((one) => one === `null, ${text.length + 12}`)).toHaveLength(count - 2)
    expect(all.filter((one) => one.startsWith('gzip'))).toHaveLength(2)
    expect(await lengthOf(port, '/large', 'gzip')).toMatch(/^gzip/)
  })
})

describe('the login form', () => {
  const page = { path: '/', access: 'token', handle: () => json({ page: true }) } as const satisfies Route

  async function logIn(port: number, token: string, headers: Record<string, string>): Promise<Response> {
    const body = new URLSearchParams({ token })
    return fetch(`http://127.0.0.1:${port}/login`, { method: 'POST', body, headers, redirect: 'manual' })
  }

  test('is for browsers alone: other clients get JSON', async () => {
    const { port } = await listen([page])
    const get = (path: string, accept: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept } })
    const browser = await get('/', 'text/html,*/*;q=0.8')
    expect(browser.status).toBe(401)
    expect(browser.headers.get('content-type')).toContain('text/html')
    expect(await browser.text()).not.toContain('role="alert"')
    expect(await (await get('/?token=wrong', 'text/html')).text()).toContain('This is not the admin token.')
    for (const [path, accept] of [
      ['/', '*/*'],
      ['/api/now', 'text/html'],
    ] as const)
      expect(await (await get(path, accept)).json()).toMatchObject({ error: { code: 'unauthorized' } })
  })

  test('is in the language that the browser prefers, else in English', async () => {
    const { port } = await listen([page])
    const language = async (accepted: string): Promise<string | undefined> => {
      const headers = { accept: 'text/html', 'accept-language': accepted }
      const html = await (await fetch(`http://127.0.0.1:${port}/?token=wrong`, { headers })).text()
      expect(html).toContain(
        /lang="ko"/.test(html) ? '관리자 토큰이 아닙니다.' : 'This is not the admin token.',
      )
      return /<html lang="(\w+)"/.exec(html)?.[1]
    }
    const accepted = ['ko-KR,ko;q=0.9,en-US;q=0.8', 'en-US,en;q=0.9,ko;q=0.8', 'fr,ko;q=0.5', 'fr', '*']
    expect(await Promise.all(accepted.map(language))).toEqual(['ko', 'en', 'ko', 'en', 'en'])
  })

  test('exchanges the token for a cookie', async () => {
    const { port } = await listen([page])
    const origin = `http://127.0.0.1:${port}`
    const response = await logIn(port, 'a-token-of-the-test', { origin })
    expect({ status: response.status, to: response.headers.get('location') }).toEqual({
      status: 303,
      to: '/',
    })
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    expect((await fetch(`${origin}/`, { headers: { cookie } })).status).toBe(200)
    expect((await logIn(port, 'wrong', { origin })).status).toBe(401)
  })

  test.each([1100, 1_000_000])('of more than 1 KiB is 400: %i bytes', async (length) => {
    const { port } = await listen([page])
    const origin = `http://127.0.0.1:${port}`
    const body = `token=a-token-of-the-test&x=${'x'.repeat(length)}`
    const response = await fetch(`${origin}/login`, {
      method: 'POST',
      body,
      headers: { origin },
      redirect: 'manual',
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { message: 'the form cannot be read', reason: { code: 'unreadable_form' } },
    })
  })

  test.each(['https://evil.example', 'http://127.0.0.1', 'null', ''])(
    'of the origin %j is refused, even with the token',
    async (origin) => {
      const { port } = await listen([page])
      const headers = origin === '' ? {} : { origin }
      const response = await logIn(port, 'a-token-of-the-test', headers)
      expect(response.status).toBe(403)
      expect(response.headers.get('set-cookie')).toBeNull()
    },
  )
})

test.each([
  ['without the token', get('/api/now'), 401],
  ['with an unknown Host', 'GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n', 421],
])('a client %s holds no connection', async (_, request, status) => {
  const { port } = await listen([])
  const socket = await send(port, request)
  let response = ''
  socket.setEncoding('latin1').on('data', (part: string) => (response += part))
  await once(socket, 'close')
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  // Without it, the listener would close the connection too, once it is idle.
  expect(response).toMatch(/^Connection: close\r$/im)
})

test('an event stream that is not read is closed, on real sockets; one that is read has every event', async () => {
  const streams = new EventStreams(Date.now)
  closing.push(() => streams.close())
  const { port } = await listen([{ path: '/events', access: 'open', handle: () => streams.open() }])
  const [unread, read] = [await send(port, get('/events')), await send(port, get('/events'))]
  await Promise.all([once(unread, 'data'), once(read, 'data')])
  unread.pause()
  let events = 0
  read.setEncoding('latin1').on('data', (part: string) => (events += part.match(/!/g)?.length ?? 0))
  // The system itself holds some megabytes for a reader.
  let count = 0
  while (streams.droppedCount === 0 && count < 1000) {
    streams.send('cycle', { text: `!${'x'.repeat(100_000)}` })
    count++
    while (events < count) await once(read, 'data')
  }
  expect(streams).toMatchObject({ count: 1, droppedCount: 1 })
})
