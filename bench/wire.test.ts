/**
 * The wire takes what HTTP/1.1 servers send, in whatever pieces, and nothing else.
 */
import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { headerOf, Wire, type WireReply } from './wire.js'

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

/** A server that does as told with each piece of a request; returns a wire to it. */
async function wireTo(
  onData: (socket: Socket, text: string) => void,
  into = Buffer.alloc(200),
): Promise<Wire> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => onData(socket, chunk.toString()))
    cleanUps.push(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const wire = new Wire({ port: (server.address() as AddressInfo).port, key: 'secret' }, into)
  cleanUps.push(
    () => wire.close(),
    () => server.close(),
  )
  return wire
}

function post(wire: Wire): Promise<WireReply> {
  return wire.post({ path: '/there', body: Buffer.from('hello'), headers: { 'x-own': '1' } })
}

test('a call has its head, its key and its body, and the answer lies where it was wanted', async () => {
  let heard = ''
  const into = Buffer.alloc(200)
  const wire = await wireTo((socket, text) => {
    heard += text
    if (heard.endsWith('hello'))
      socket.write('HTTP/1.1 207 Odd\r\nX-Other: a b \r\nContent-Length: 4\r\n\r\nback')
  }, into)
  const { status, head, body } = await post(wire)
  expect(heard).toMatch(/^POST \/there HTTP\/1\.1\r\nhost: 127.0.0.1:\d+\r\nauthorization: secret\r\n/)
  expect(heard).toMatch(/\r\ncontent-length: 5\r\nx-own: 1\r\n\r\nhello$/)
  expect([status, body.toString(), headerOf(head, 'x-other')]).toEqual([207, 'back', 'a b'])
  expect(body.buffer).toBe(into.buffer)
})

test('an answer may come byte by byte, and without a body', async () => {
  const answers = [
    'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes',
    'HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n',
  ]
  const wire = await wireTo((socket) => {
    socket.setNoDelay(true)
    const write = (rest: string): void => {
      if (rest !== '') socket.write(rest.slice(0, 1), () => write(rest.slice(1)))
    }
    write(answers.shift() ?? '')
  })
  expect((await post(wire)).body.toString()).toBe('yes')
  expect(await post(wire)).toMatchObject({ status: 404, body: Buffer.alloc(0) })
})

test('a connection that the server closed between two calls is opened again', async () => {
  const closed: Promise<void>[] = []
  const wire = await wireTo((socket) => {
    closed.push(new Promise((resolve) => socket.once('close', () => resolve())))
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
  expect((await post(wire)).body.toString()).toBe('ok')
  // The server has heard the last of it: so has the wire.
  await closed[0]
  await new Promise((resolve) => setImmediate(resolve))
  expect((await post(wire)).body.toString()).toBe('ok')
  expect(closed).toHaveLength(2)
})

describe('a call fails', () => {
  test.each([
    ['of another protocol', 'TTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', /no answer of HTTP/],
    ['without a length', 'HTTP/1.1 200 OK\r\n\r\n', /without a length/],
    ['larger than its room', 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n', /500 bytes, more than/],
    [
      'with a head larger than its room',
      `HTTP/1.1 200 OK\r\n${'x'.repeat(300)}`,
      /head of an answer is longer/,
    ],
    ['with more behind it', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc', /more than its answer/],
  ])('at an answer %s', async (_, answer, reason) => {
    const wire = await wireTo((socket) => void socket.write(answer))
    await expect(post(wire)).rejects.toThrow(reason)
  })

  test('at a connection that ends before the answer does', async () => {
    const wire = await wireTo((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nba'))
    await expect(post(wire)).rejects.toThrow('the server closed the connection')
  })

  test('where nobody listens', async () => {
    await expect(post(new Wire({ port: 1, key: 'k' }, Buffer.alloc(1)))).rejects.toThrow('ECONNREFUSED')
  })
})

test('the busy share is of the time of calls', async () => {
  const wire = await wireTo((socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  expect(wire.takeBusyShare()).toBe(0)
  await post(wire)
  expect(wire.takeBusyShare()).toBeGreaterThan(0)
  expect(wire.takeBusyShare()).toBe(0)
})
