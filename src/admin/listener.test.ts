/** The admin listener with routes of its own: clients that leave, and clients that do not wait for a response. */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { makeTlsFiles, opensslMissing } from '../../test/helpers/tls-files.js'
import { Access } from './access.js'
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
      return { status: 200, body: Buffer.alloc(8 * 1024 * 1024) }
    },
  } as const satisfies Route
  const livez = { path: '/livez', access: 'open', handle: () => json({ status: 'ok' }) } as const
  const { port } = await listen([megabytes, livez])
  for (let n = 0; n < 10; n++) {
    const arrived = new Promise<void>((resolve) => (started = resolve))
    const socket = await send(port, get('/large'))
    await arrived
    socket.resetAndDestroy()
    // The listener learns of the reset before it answers a request that came after it.
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200)
    finish()
  }
  await new Promise(setImmediate)
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200)
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

test.skipIf(opensslMissing)('a client that does not complete the TLS handshake is disconnected', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-tls-'))
  closing.push(() => rmSync(directory, { recursive: true }))
  const { cert, key } = makeTlsFiles(directory, 'name')
  const { port } = await listen([], { tls: { certFile: cert, keyFile: key }, handshakeMsMax: 50 })
  // Nothing, and the beginning of a handshake.
  for (const text of ['', '\x16\x03\x01']) {
    const socket = await send(port, text)
    await new Promise((resolve) => socket.resume().on('error', silent).once('close', resolve))
  }
})
