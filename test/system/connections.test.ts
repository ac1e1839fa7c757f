/**
 * What a connection carries: requests that come in pieces or behind one another, bodies whose end comes late, answers to
 * clients that read late or end their side. Real processes, real sockets.
 */
import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { firstBytes, head } from '../helpers/raw-http.js'
import { started } from '../helpers/servers.js'

describe('a large answer that ends its connection is whole', () => {
  const posts = Array.from({ length: 250 }, (_, n) => n + 1)
  const body = cycleBody(0, { engagement: posts.map((n) => reading('긴'.repeat(2500), n, cycleMs(0))) })

  async function ended(socket: Socket): Promise<string> {
    return Buffer.concat((await socket.toArray()) as Buffer[]).toString()
  }

  test('whatever has come behind its request', async () => {
    const server = await started()
    const { text } = await server.postCycle(body)
    const get = head(server, `GET /v1/scores/${body.cycle_id}`, 'Connection: close')
    for (const behind of ['', '\r\n', get, 'x'.repeat(20_000)]) {
      const socket = connect(server.port, '127.0.0.1')
      socket.write(get + behind)
      const answer = await ended(socket)
      expect(answer.endsWith(`\r\n\r\n${text}`), `${answer.length} bytes`).toBe(true)
    }
  })

  test('whenever the last line or the trailers of its chunked request come', async () => {
    const server = await started()
    const chunk = Buffer.from(JSON.stringify(body))
    const { text } = await server.postCycle(body)
    for (const [before, behind] of [
      ['0\r\n', '\r\n'],
      ['0\r\n\r', '\n'],
      ['0\r\nX-Sum: 1', '\r\n\r\n'],
    ] as const) {
      const socket = connect(server.port, '127.0.0.1').setNoDelay()
      const answer = ended(socket)
      socket.write(head(server, 'POST /v1/cycles', 'Transfer-Encoding: chunked', 'Connection: close'))
      socket.write(`${chunk.length.toString(16)}\r\n`)
      socket.write(chunk)
      socket.write(`\r\n${before}`)
      // The cycle is known, so that its answer would be out before this one.
      await server.postCycle(body)
      socket.write(behind)
      expect((await answer).endsWith(`\r\n\r\n${text}`), before).toBe(true)
    }
  })
})

test('a client that waits for leave to send its body gets it, however it writes the expectation', async () => {
  const server = await started()
  for (const expectation of ['100-continue', '100-Continue', '100-CONTINUE']) {
    const socket = connect(server.port, '127.0.0.1').setNoDelay()
    const leave = firstBytes(socket)
    socket.write(head(server, 'POST /v1/cycles', 'Content-Length: 2', `Expect: ${expectation}`))
    expect(await leave, expectation).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    const answer = firstBytes(socket)
    socket.write('{}')
    expect(await answer).toMatch(/^HTTP\/1\.1 400 /)
    socket.destroy()
  }
})

test('a request is answered wherever its head comes in two, and when another one stands before it', async () => {
  const server = await started()
  const request = head(server, 'POST /v1/cycles', 'Content-Length: 0')
  const lineEnd = request.indexOf('\r\n') + 2
  const cuts = Array.from({ length: request.length - 1 }, (_, index) => index + 1)
  for (const before of ['', request])
    for (const cut of cuts.filter((at) => at < lineEnd || at % 9 === 0)) {
      const socket = connect(server.port, '127.0.0.1').setNoDelay()
      let answers = ''
      const answered = new Promise<void>((resolve) =>
        socket.on('data', (data: Buffer) => {
          answers += data.toString()
          if (answers.split('}}').length === (before === '' ? 2 : 3)) resolve()
        }),
      )
      socket.write(before + request.slice(0, cut))
      await server.call({ path: '/v1/health' })
      socket.write(request.slice(cut))
      await answered
      expect(answers.match(/HTTP\/1\.1 \d+/g), `cut at ${cut}`).toEqual(
        before === '' ? ['HTTP/1.1 400'] : ['HTTP/1.1 400', 'HTTP/1.1 400'],
      )
      socket.destroy()
    }
})

test('a small body that comes by itself is read, also behind a request line that came in two', async () => {
  const server = await started()
  const socket = connect(server.port, '127.0.0.1').setNoDelay()
  const line = `GET /v1/scores/${'x'.repeat(300)} HTTP/1.1\r\n`
  socket.write(line.slice(0, 310))
  await server.call({ path: '/v1/health' })
  const first = firstBytes(socket)
  socket.write(head(server, line.split(' HTTP')[0] as string).slice(310))
  expect(await first).toMatch(/^HTTP\/1\.1 404 /)
  const second = firstBytes(socket)
  socket.write(head(server, 'POST /v1/cycles', 'Content-Length: 2'))
  await server.call({ path: '/v1/health' })
  socket.write('{}')
  expect(await second).toMatch(/^HTTP\/1\.1 400 /)
  socket.destroy()
})

test('empty lines before a request are passed over', async () => {
  const server = await started()
  const socket = connect(server.port, '127.0.0.1').setNoDelay()
  const request = head(server, 'POST /v1/cycles', 'Content-Length: 2')
  for (const before of ['', '\r\n', '\r\n\r\n\n']) {
    const answer = firstBytes(socket)
    socket.write(before)
    await server.call({ path: '/v1/health' })
    socket.write(`${request}{}\r\n`)
    expect(await answer).toMatch(/^HTTP\/1\.1 400 /)
  }
  socket.destroy()
})

test('a client that ends its connection within a request line has it ended', async () => {
  const server = await started()
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end('GET /v1/heal')
  await new Promise((resolve) => socket.resume().once('end', resolve))
  expect((await server.call({ path: '/v1/health' })).status).toBe(200)
})

test('a client that reads late gets large answers whole, and what it asked for in advance after them', async () => {
  const server = await started()
  const posts = Array.from({ length: 2000 }, (_, n) => n + 1)
  const body = cycleBody(0, { engagement: posts.map((n) => reading('긴'.repeat(2500), n, cycleMs(0))) })
  const answer = await server.postCycle(body)
  // More than the buffers of two sockets hold.
  expect(answer.text.length).toBeGreaterThan(5_000_000)
  const socket = connect(server.port, '127.0.0.1')
  const lines = [`GET /v1/scores/${body.cycle_id}`, `GET /v1/scores/${body.cycle_id}`, 'GET /v1/weights']
  socket.write(lines.map((line) => head(server, line)).join(''))
  await new Promise((resolve) => socket.once('readable', resolve))
  // The first answer waits for its reader by now; the others wait behind it.
  await server.call({ path: '/v1/health' })
  const received: string[] = []
  await new Promise<void>((resolve, reject) => {
    socket.setEncoding('utf8')
    socket.on('close', () => reject(new Error(`closed after ${received.length} pieces`)))
    socket.on('data', (text: string) => {
      received.push(text)
      if (received.slice(-2).join('').endsWith('"previous":null}')) resolve()
    })
  })
  expect(received.join('').split(answer.text)).toHaveLength(3)
  socket.removeAllListeners('close').destroy()
})

test('a client that reads late gets its own answer, whatever others get meanwhile', async () => {
  const server = await started()
  const posts = Array.from({ length: 950 }, (_, n) => n + 1)
  const answers: { id: string; text: string }[] = []
  for (const [index, letter] of ['긴', '딴'].entries()) {
    const rows = posts.map((n) => reading(letter.repeat(2500), n, cycleMs(index)))
    const body = cycleBody(index, { engagement: rows })
    answers.push({ id: body.cycle_id, text: (await server.postCycle(body)).text })
  }
  const [first, second] = answers as [(typeof answers)[0], (typeof answers)[0]]
  const socket = connect(server.port, '127.0.0.1')
  socket.write(head(server, `GET /v1/scores/${first.id}`))
  await new Promise((resolve) => socket.once('readable', resolve))
  // Of one size, so that either would do for the other's memory.
  expect(Math.abs(first.text.length - second.text.length)).toBeLessThan(10)
  for (let i = 0; i < 3; i++)
    expect((await server.call({ path: `/v1/scores/${second.id}` })).text === second.text).toBe(true)
  let received = ''
  socket.setEncoding('utf8')
  await new Promise<void>((resolve) =>
    socket.on('data', (text: string) => {
      received += text
      if (received.endsWith(first.text.slice(-20))) resolve()
    }),
  )
  expect(received.endsWith(first.text)).toBe(true)
  socket.destroy()
})

test('a client that leaves in the middle of a large answer is let go of', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'info' })
  const many = Array.from({ length: 2000 }, (_, n) => n + 1)
  const body = cycleBody(0, { engagement: many.map((n) => reading('긴'.repeat(2500), n, cycleMs(0))) })
  expect((await server.postCycle(body)).status).toBe(200)
  const socket = connect(server.port, '127.0.0.1')
  const some = firstBytes(socket)
  socket.write(head(server, `GET /v1/scores/${body.cycle_id}`))
  await some
  socket.destroy()
  await server.logged(/"path":"\/v1\/scores\/.*"bytes_out":\d+/)
})

test('a body that begins like TLS does not end the guard of its connection', async () => {
  const server = await started()
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
  let received = ''
  socket.on('data', (data: Buffer) => (received += data.toString()))
  const answers = async (count: number): Promise<void> => {
    while (received.split('HTTP/1.1 ').length - 1 < count)
      await new Promise((resolve) => socket.once('data', resolve))
  }
  socket.write(head(server, 'POST /v1/cycles', 'Transfer-Encoding: chunked'))
  socket.write('1\r\n{\r\n3\r\n')
  // Each write is a read of its own at the server only when the one before has been taken: hence the detour.
  await server.call({ path: '/v1/health' })
  socket.write('\x16\x16\x16')
  await server.call({ path: '/v1/health' })
  socket.write('\r\n0\r\n\r\n')
  await answers(1)
  socket.write(
    Buffer.from(`GET /v1/weights HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\xe9\r\n\r\n`, 'latin1'),
  )
  await answers(2)
  expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['400', '401'])
  socket.destroy()
})
