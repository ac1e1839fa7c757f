/**
 * The faults of the proxy: what passes, what is reset, and what arrives later.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Proxy } from './proxy.js'

/** A proxy in front of a server that sends everything back. */
async function echoProxy(): Promise<Proxy> {
  const echo = createServer((socket) => void socket.on('error', () => undefined).pipe(socket))
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  const proxy = await Proxy.start((echo.address() as AddressInfo).port)
  onTestFinished(() => {
    proxy.close()
    echo.close()
  })
  return proxy
}

function client(proxy: Proxy): Socket {
  const socket = connect({ port: proxy.port, host: '127.0.0.1' }).on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  return socket
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()))
}

async function echoed(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}

test('bytes pass in both directions, and so does the end', async () => {
  const socket = client(await echoProxy())
  expect(await echoed(socket, 'hello')).toBe('hello')
  socket.end()
  await closed(socket)
})

test('a cut resets open connections and new ones, until it is opened again', async () => {
  const proxy = await echoProxy()
  const socket = client(proxy)
  await echoed(socket, 'hello')
  proxy.mode = 'cut'
  await closed(socket)
  await closed(client(proxy))
  proxy.mode = 'open'
  expect(await echoed(client(proxy), 'again')).toBe('again')
})

test('what is sent into a black hole arrives when it is opened', async () => {
  const proxy = await echoProxy()
  const socket = client(proxy)
  await echoed(socket, 'hello')
  proxy.mode = 'blackhole'
  const late = echoed(socket, 'late')
  let hasArrived = false
  void late.then(() => (hasArrived = true))
  // Meanwhile, bytes pass through another one.
  await echoed(client(await echoProxy()), 'elsewhere')
  expect(hasArrived).toBe(false)
  proxy.mode = 'open'
  expect(await late).toBe('late')
})

test('a cut ends connections that are in a black hole', async () => {
  const proxy = await echoProxy()
  const socket = client(proxy)
  await echoed(socket, 'hello')
  proxy.mode = 'blackhole'
  socket.write('lost')
  proxy.mode = 'cut'
  await closed(socket)
})
