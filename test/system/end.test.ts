/** How the server ends: by a signal, at once or with calls in progress, and by a failure that no code handles. */
import { connect } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { CycleResponse } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { projectDir, ServerProcess } from '../harness/server.js'
import { ended, started } from '../helpers/servers.js'

test.each([
  ['an exception', `throw new Error('planted')`],
  ['a rejection', `Promise.reject(new Error('planted'))`],
])('%s that no code handles ends the process with one line in the log', async (_, failing) => {
  const code = `process.on('SIGUSR2', () => { ${failing} })`
  const server = await started({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` })
  expect(await server.kill('SIGUSR2')).toBe(1)
  const last = JSON.parse(server.log.trimEnd().split('\n').at(-1) ?? '') as object
  expect(last).toMatchObject({
    level: 60,
    msg: 'unexpected error: the process ends',
    err: { message: 'planted' },
  })
})

test('a failure of work in the background is an error in the log with the name of the work', async () => {
  const code = `
    import { inBackground } from '${pathToFileURL(join(projectDir, 'dist/base/index.js')).href}'
    process.on('SIGUSR2', () => {
      inBackground('image encoding', Promise.reject(new Error('planted')))
      process.kill(process.pid, 'SIGTERM')
    })`
  const server = await started({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` })
  expect(await server.kill('SIGUSR2')).toBe(0)
  const lines = server.log.trimEnd().split('\n')
  const failed = lines.filter((line) => line.includes('background work failed'))
  expect(failed.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 50, work: 'image encoding', err: { message: 'planted' } },
  ])
})

test('a server that is asked to end logs that it begins to, and last of all that it has', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'info' })
  expect(await server.kill('SIGTERM')).toBe(0)
  const messages = server.log
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
  expect(messages.at(-1)).toBe('stopped')
  expect(messages).toContain('stopping')
})

describe('SIGTERM', () => {
  /** A busy machine takes its time. */
  const longEnd = { UNDERSTUDY_SHUTDOWN_MS_MAX: '30000' }
  const many = Array.from({ length: 4500 }, (_, n) => n + 1)
  const large = cycleBody(0, {
    candidates: many.map((n) => candidate('g', n)),
    engagement: many.map((n) => reading('g', n, cycleMs(0))),
  })

  test('ends the server with 0 after the cycle in progress, without waiting for stalled or idle clients', async () => {
    const server = await started({ UNDERSTUDY_LOG_LEVEL: 'debug', ...longEnd })
    const idle = connect(server.port, '127.0.0.1')
    const stalled = connect(server.port, '127.0.0.1')
    idle.on('error', () => undefined)
    stalled.on('error', () => undefined)
    const refused = new Promise<string>((resolve) =>
      stalled.once('data', (data: Buffer) => resolve(data.toString())),
    )
    stalled.write(
      `POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\nContent-Length: 100\r\n\r\n{`,
    )
    const begun = server.postCycle(large)
    await server.logged('"msg":"cycle started"')
    const code = server.kill('SIGTERM')
    const reply = await begun
    expect(reply.status).toBe(200)
    expect((reply.json as CycleResponse).results).toHaveLength(many.length)
    expect(await refused).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s)
    expect(await code).toBe(0)
    await server.start()
    expect((await server.call({ path: `/v1/scores/${large.cycle_id}` })).text).toBe(reply.text)
  })

  test('sends 503 to a client that is sending a large cycle, once the body is complete', async () => {
    const server = await started(longEnd)
    const body = Buffer.alloc(16_000_000, ' ')
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\n`)
    socket.write(`Content-Length: ${body.length}\r\n\r\n`)
    // Its head has arrived when another call gets its response.
    await server.call({ path: '/v1/health' })
    const code = server.kill('SIGTERM')
    await server.logged('"msg":"stopping"')
    socket.write(body)
    let response = ''
    for await (const chunk of socket) response += String(chunk)
    expect(response).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s)
    expect(await code).toBe(0)
  })

  test('sends 503 to a client whose body is incomplete at the time limit', async () => {
    const server = await started({ UNDERSTUDY_SHUTDOWN_MS_MAX: '1500' })
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    const response = new Promise<string>((resolve) =>
      socket.once('data', (data: Buffer) => resolve(data.toString())),
    )
    socket.write(`POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\n`)
    socket.write(`Content-Length: 16000000\r\n\r\n`)
    await server.call({ path: '/v1/health' })
    const code = server.kill('SIGTERM')
    socket.write(Buffer.alloc(100_000, ' '))
    expect(await response).toMatch(/^HTTP\/1\.1 503 /)
    expect(await code).toBe(0)
  })

  /** Sends a cycle whose response exceeds the buffers of two sockets, stops the server, and returns the connection. */
  async function stopWithUnreadResponse(shutdownMsMax: number) {
    const server = await started({
      UNDERSTUDY_LOG_LEVEL: 'debug',
      UNDERSTUDY_SHUTDOWN_MS_MAX: String(shutdownMsMax),
    })
    const body = JSON.stringify(
      cycleBody(0, { engagement: many.map((n) => reading('긴'.repeat(1000), n, cycleMs(0))) }),
    )
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    const answered = new Promise<void>((resolve) => socket.once('readable', resolve))
    socket.write(`POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\n`)
    socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    await server.logged('"msg":"cycle started"')
    const code = server.kill('SIGTERM')
    await answered
    return { server, socket, code }
  }

  test('waits until a slow client has read its large response to the last byte', async () => {
    const { socket, code } = await stopWithUnreadResponse(30_000)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    const [head = '', json = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    expect(Number(/Content-Length: (\d+)/i.exec(head)?.[1])).toBeGreaterThan(12_000_000)
    expect((JSON.parse(json) as CycleResponse).results).toHaveLength(many.length)
    expect(await code).toBe(0)
  })

  test('ends with 0 although a client never reads its response', async () => {
    const { server, socket, code } = await stopWithUnreadResponse(3000)
    expect(await code).toBe(0)
    await server.logged('"msg":"stopped"')
    socket.destroy()
  })
})

test('SIGTERM during startup ends the server with 0', async () => {
  const server = ended(new ServerProcess())
  const starting = server.start().catch(() => null)
  await server.logged('"msg"')
  expect(await server.kill('SIGTERM')).toBe(0)
  await starting
})

test('Ctrl-C ends the server with 0, even when it is pressed twice', async () => {
  const server = await started()
  process.kill(server.pid!, 'SIGINT')
  // Signals that have not been handled are one.
  await server.logged('"msg":"stopping"')
  expect(await server.kill('SIGINT')).toBe(0)
})
