/**
 * A short overload: the rules that hold on a machine of any speed. `npm run test:hostile` checks rates.
 */
import { expect, onTestFinished, test } from 'vitest'
import { sendUntilAccepted } from './retrying-clients.js'
import { overload } from './overload.js'
import { RawClient } from './raw-client.js'
import { cycleIdOfNumber, cycleTraffic, imageTraffic, reading, type Traffic } from './traffic.js'
import { ServerProcess } from '../harness/server.js'

const size = { rounds: 1, peakSeconds: 0.5, overloadSeconds: 1.5, factor: 3 }

async function start(env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await new ServerProcess(env).start()
  onTestFinished(() => server.dispose())
  return server
}

/** A client of a server that has accepted the requests before the measured traffic. */
async function client(server: ServerProcess, traffic: Traffic): Promise<RawClient> {
  const own = new RawClient(server.port)
  onTestFinished(() => own.destroy())
  for (const request of traffic.first) expect((await own.send(request)).status).toBe(200)
  return own
}

test('of too many cycles, each is accepted or gets 503 with Retry-After, and reads are served', async () => {
  const server = await start({ UNDERSTUDY_CYCLES_WAITING_MAX: '1' })
  const cycles = cycleTraffic(server.key, 300)
  const figures = await overload(server, cycles, size, ['/v1/health', `/v1/scores/${cycleIdOfNumber(0)}`])
  expect(figures.others).toEqual([])
  expect(figures.refused.filter(({ retryAfterS }) => !(Number(retryAfterS) >= 1))).toEqual([])
  expect(figures.accepted.length).toBeGreaterThan(0)
  expect(figures.reads.filter(({ status }) => status !== 200)).toEqual([])
})

test('of too many images, each is accepted or gets 503 with Retry-After, and reads are served', async () => {
  const server = await start()
  const figures = await overload(server, await imageTraffic(server.key), size, ['/v1/health'])
  expect(figures.others).toEqual([])
  expect(figures.refused.filter(({ retryAfterS }) => !(Number(retryAfterS) >= 1))).toEqual([])
  expect(figures.accepted.length).toBeGreaterThan(0)
  expect(figures.reads.filter(({ status }) => status !== 200)).toEqual([])
})

test('clients that arrive together and respect Retry-After are all accepted after a few tries', async () => {
  const server = await start()
  const traffic = cycleTraffic(server.key, 300)
  const own = await client(server, traffic)
  const calls = Array.from({ length: 30 }, (_, number) => sendUntilAccepted(own, traffic.request(number)))
  for (const replies of await Promise.all(calls)) {
    expect(replies.at(-1)?.status).toBe(200)
    expect(replies.length).toBeLessThanOrEqual(10)
  }
})

test('while other cycles are refused, a stored cycle gets its response again, by POST and by GET', async () => {
  const server = await start({ UNDERSTUDY_CYCLES_WAITING_MAX: '1' })
  const traffic = cycleTraffic(server.key, 300)
  const own = await client(server, traffic)
  expect((await own.send(traffic.request(0))).status).toBe(200)
  let under = true
  let next = 1
  let refusedCount = 0
  const others = Array.from({ length: 8 }, async () => {
    while (under) if ((await own.send(traffic.request(next++))).status === 503) refusedCount++
  })
  for (let i = 0; i < 20 || refusedCount < 20; i++) {
    expect((await own.send(traffic.request(0))).status).toBe(200)
    expect((await own.send(reading(server.key, `/v1/scores/${cycleIdOfNumber(0)}`))).status).toBe(200)
  }
  under = false
  await Promise.all(others)
})
