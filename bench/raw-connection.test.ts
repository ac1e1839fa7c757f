/**
 * The connection accepts HTTP/1.1 responses, however they are split, and rejects anything else.
 */
import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { headerOf, RawConnection, type RawReply } from './raw-connection.js'

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

/** Starts a server that passes each chunk of a request to `onData`. Returns a connection to it. */
async function connectTo(
  onData: (socket: Socket, text: string) => void,
  into = Buffer.alloc(200),
): Promise<RawConnection> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => onData(socket, chunk.toString()))
    cleanUps.push(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const connection = new RawConnection({ port: (server.address() as AddressInfo).port, key: 'secret' }, into)
  cleanUps.push(
    () => connection.close(),
    () => server.close(),
  )
  return connection
}

function post(connection: RawConnection): Promise<RawReply> {
  return connection.post({ path: '/there', body: Buffer.from('hello'), headers: { 'x-own': '1' } })
}

test('a call sends its headers, key and body, and the response is in the given buffer', async () => {
  let received = ''
  const into = Buffer.alloc(200)
  const connection = await connectTo((socket, text) => {
    received += text
    if (received.endsWith('hello'))
      socket.write('HTTP/1.1 207 Odd\r\nX-Other: a b \r\nContent-Length: 4\r\n\r\nback')
  }, into)
  const { status, head, body } = await post(connection)
  expect(received).toMatch(/^POST \/there HTTP\/1\.1\r\nhost: 127.0.0.1:\d+\r\nauthorization: secret\r\n/)
  expect(received).toMatch(/\r\ncontent-length: 5\r\nx-own: 1\r\n\r\nhello$/)
  expect([status, body.toString(), headerOf(head, 'x-other')]).toEqual([207, 'back', 'a b'])
  expect(body.buffer).toBe(into.buffer)
})

test('a response may arrive byte by byte, and may have no body', async () => {
  const responses = [
    'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes',
    'HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n',
  ]
  const connection = await connectTo((socket) => {
    socket.setNoDelay(true)
    const write = (rest: string): void => {
      if (rest !== '') socket.write(rest.slice(0, 1), () => write(rest.slice(1)))
    }
    write(responses.shift() ?? '')
  })
  expect((await post(connection)).body.toString()).toBe('yes')
  expect(await post(connection)).toMatchObject({ status: 404, body: Buffer.alloc(0) })
})

test('the client reconnects after the server closed the connection between two calls', async () => {
  const closed: Promise<void>[] = []
  const connection = await connectTo((socket) => {
    closed.push(new Promise((resolve) => socket.once('close', () => resolve())))
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
  expect((await post(connection)).body.toString()).toBe('ok')
  // Wait until the client has seen the end of the connection too.
  await closed[0]
  await new Promise((resolve) => setImmediate(resolve))
  expect((await post(connection)).body.toString()).toBe('ok')
  expect(closed).toHaveLength(2)
})

describe('a call fails', () => {
  test.each([
    ['of another protocol', 'TTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', /not an HTTP/],
    ['without content-length', 'HTTP/1.1 200 OK\r\n\r\n', /without content-length/],
    ['larger than the buffer', 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n', /500 bytes, more than/],
    [
      'with headers larger than the buffer',
      `HTTP/1.1 200 OK\r\n${'x'.repeat(300)}`,
      /headers of the response are longer/,
    ],
    ['with bytes after it', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc', /more than one response/],
  ])('at a response %s', async (_, response, reason) => {
    const connection = await connectTo((socket) => void socket.write(response))
    await expect(post(connection)).rejects.toThrow(reason)
  })

  test('if the connection ends before the response', async () => {
    const connection = await connectTo((socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nba'),
    )
    await expect(post(connection)).rejects.toThrow('the server closed the connection')
  })

  test('if no server listens', async () => {
    await expect(post(new RawConnection({ port: 1, key: 'k' }, Buffer.alloc(1)))).rejects.toThrow(
      'ECONNREFUSED',
    )
  })
})

test('the busy share covers the time of calls only', async () => {
  const connection = await connectTo(
    (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
  )
  expect(connection.takeBusyShare()).toBe(0)
  await post(connection)
  expect(connection.takeBusyShare()).toBeGreaterThan(0)
  expect(connection.takeBusyShare()).toBe(0)
})
