/**
 * Thousands of clients that disconnect at random moments, against a real server with little memory for bodies. Afterwards
 * its gauges say that nothing is held, and it serves everybody.
 */
import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { memoryMib } from '../harness/proc.js'
import { heldBytesKinds, heldCallsKinds } from '../../src/server/held-resources.js'
import { send } from '../harness/http.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { smallJpeg } from '../harness/jpeg.js'
import { freePort, type ServerProcess } from '../harness/server.js'
import { started } from '../helpers/servers.js'

const bodiesBytesMax = 64 * 1024 * 1024
const atOnce = 50

async function startedWithGauges(): Promise<{ server: ServerProcess; gauges: () => Promise<string[]> }> {
  const port = await freePort()
  const server = await started({
    UNDERSTUDY_ADMIN_PORT: String(port),
    UNDERSTUDY_BODIES_BYTES_MAX: String(bodiesBytesMax),
  })
  const headers = { authorization: `Bearer ${server.adminToken}` }
  const gauges = async (): Promise<string[]> => {
    const { text } = await send({ port, path: '/metrics', headers })
    return text.match(/^understudy_(body_bytes|calls)_held\{.*$/gm) ?? []
  }
  return { server, gauges }
}

/** What the gauges report as held. */
const heldIn = (gauges: readonly string[]): string[] => gauges.filter((line) => !line.endsWith(' 0'))

function post(path: string, key: string, body: Uint8Array): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

/** Sends the bytes, and disconnects after `ms` or, at the latest, with the response's first bytes. */
function disconnecting(port: number, bytes: Buffer, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined).on('close', () => resolve())
    socket.on('data', () => socket.resetAndDestroy())
    socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), ms))
  })
}

/** Runs `count` pieces of work, some at once. */
async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const run = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, run))
}

const posts = Array.from({ length: 1500 }, (_, index) => index + 1)
const cycle = bytesOf(
  cycleBody(0, {
    candidates: posts.map((post) => candidate('g', post)),
    engagement: posts.map((post) => reading('g', post, cycleMs(0))),
  }),
)

test('after thousands of disconnects at random moments nothing is held, and every call is served', async () => {
  const { server, gauges } = await startedWithGauges()
  const stored = await server.call({ method: 'POST', path: '/v1/cycles', body: cycle })
  expect(stored.status).toBe(200)
  const { key, port } = server
  const image = await smallJpeg(7)
  const get = (path: string): Buffer =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nAccept-Encoding: gzip\r\n\r\n`)
  const respelled = Buffer.concat([cycle.subarray(0, -1), Buffer.from(' }')])
  const calls = [
    () => get('/v1/scores/20240301T0000'),
    () => get('/v1/scores/20240301T0000'),
    () => get('/v1/weights'),
    () => post('/v1/cycles', key, cycle),
    () => post('/v1/cycles', key, respelled),
    () => post('/v1/outcomes', key, bytesOf({ outcomes: [] })),
    () => {
      const head = `PUT /v1/images/g/${randomInt(1, 1000)}/01 HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n`
      const type = `Content-Type: image/jpeg\r\nContent-Length: ${image.length}\r\n\r\n`
      return Buffer.concat([Buffer.from(head + type), image])
    },
  ]
  await inParallel(3000, (index) =>
    disconnecting(port, (calls[index % calls.length] as () => Buffer)(), randomInt(0, 30)),
  )
  await expect.poll(async () => heldIn(await gauges())).toEqual([])
  expect(await gauges()).toHaveLength(heldBytesKinds.length + heldCallsKinds.length)
  for (let call = 0; call < 100; call++) {
    const again = await server.call({ method: 'POST', path: '/v1/cycles', body: cycle })
    expect([again.status, again.text === stored.text]).toEqual([200, true])
  }
})

test('clients that send the id of a stored cycle with a large body and disconnect take no more memory than is counted', async () => {
  const { server, gauges } = await startedWithGauges()
  expect((await server.call({ method: 'POST', path: '/v1/cycles', body: cycle })).status).toBe(200)
  const before = memoryMib(server.pid!, 'VmHWM')!
  const text = cycle.toString()
  const large = Buffer.from(`${text.slice(0, -1)},"padding":"${'x'.repeat(15_000_000)}"}`)
  const bytes = post('/v1/cycles', server.key, large)
  await inParallel(200, () => disconnecting(server.port, bytes, 0))
  // The bodies that are counted, each with its copy for the worker thread, which has 1 GiB of heap at most.
  expect(memoryMib(server.pid!, 'VmHWM')! - before).toBeLessThan(1400)
  await expect.poll(async () => heldIn(await gauges())).toEqual([])
  expect((await server.call({ method: 'POST', path: '/v1/cycles', body: cycle })).status).toBe(200)
})
