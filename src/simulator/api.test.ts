/** The operations of the simulated client on real sockets: outages, and calls that are aborted on purpose. */
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { FaultyServer, type Step } from '../../test/helpers/faulty-server.js'
import { bodyExamples } from '../contract/index.js'
import { Api, type ApiOptions, type Outage } from './api.js'
import { Rng } from './rng.js'

const health = { body: bodyExamples.Health }
const refused: Step = {
  status: 503,
  headers: { 'Retry-After': '0' },
  body: { error: { code: 'server_error', message: 'm' } },
}

async function connect(server: FaultyServer, more: Partial<ApiOptions> = {}): Promise<Api> {
  return new Api({ url: await server.listen(), apiKey: 'key', retryTimeoutMs: 30_000, ...more })
}

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('an outage is reported from its first failure to its end, and its attempts are counted', async () => {
  const reported: (Outage | null)[] = []
  const server = new FaultyServer('before', refused, { status: 502, body: 'a proxy' }, health)
  const api = await connect(server, { onOutage: (outage) => void reported.push(outage) })
  expect(await api.health()).toEqual(bodyExamples.Health)
  expect(await api.health()).toEqual(bodyExamples.Health)
  expect(reported).toMatchObject([{}, { reason: 'status 503' }, { reason: 'status 502' }, null])
  expect(api.retryCount).toBe(3)
})

test('a service that remains unavailable is an error of kind unreachable', async () => {
  const url = `http://127.0.0.1:${await closedPort()}`
  const api = new Api({ url, apiKey: 'key', retryTimeoutMs: 80 })
  await expect(api.health()).rejects.toMatchObject({
    kind: 'unreachable',
    message: expect.stringMatching(/^GET \/v1\/health: no response within 0 s; last failure: ./) as string,
  })
})

test('so is a server that does not speak HTTP, at its first response', async () => {
  const server = createServer((socket) => socket.end('220 mail.example.org\r\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const api = new Api({ url, apiKey: 'key', retryTimeoutMs: 30_000 })
  await expect(api.health()).rejects.toMatchObject({
    kind: 'unreachable',
    message: expect.stringContaining(`${url}: `) as string,
  })
  expect(api.retryCount).toBe(0)
  server.close()
})

test('a status that the operation does not have is a violation, and a wrong key is not', async () => {
  const api = await connect(new FaultyServer({ status: 500, body: {} }, { status: 401, body: {} }))
  await expect(api.health()).rejects.toMatchObject({ path: 'GET /v1/health: status', expected: '200' })
  await expect(api.health()).rejects.toMatchObject({ kind: 'unauthorized' })
})

test('a cycle in the future is sent again, and the outage says that the clocks differ', async () => {
  const reported: (Outage | null)[] = []
  const fields = [{ path: 'cycle_time', problem: 'must not be in the future' }]
  const future = { status: 422, body: { error: { code: 'unprocessable', message: 'm', fields } } }
  const server = new FaultyServer(future, future, { body: bodyExamples.CycleResponse })
  const api = await connect(server, { onOutage: (outage) => void reported.push(outage) })
  expect((await api.sendCycle(await api.cycleCall('{}', new Rng('x')))).status).toBe(200)
  const reason = 'the clock of the service is behind the time of the cycle'
  expect(reported).toMatchObject([{ reason }, { reason }, null])
})

test.each<[string, number, (api: Api) => Promise<unknown>]>([
  [
    'that a cycle is stored with another body',
    409,
    async (api) => api.sendCycle(await api.cycleCall('{}', new Rng('x'))),
  ],
  ['that a response is not stored', 404, (api) => api.storedResponse('20260302T1205')],
])('JSON of a gateway does not mean %s', async (_what, status, call) => {
  const api = await connect(new FaultyServer({ status, body: { error: { code: 'no_route', message: 'm' } } }))
  await expect(call(api)).rejects.toMatchObject({
    name: 'ContractViolation',
    path: expect.stringMatching(/: body$/) as string,
  })
})

test('a page of a gateway does not mean that a response is not stored', async () => {
  const api = await connect(new FaultyServer({ status: 404, headers: { 'Content-Type': 'text/html' } }))
  await expect(api.isStored('20260302T1205')).rejects.toMatchObject({ name: 'ContractViolation' })
})

test('a body that is aborted arrives in part or in whole, and the client continues', async () => {
  const server = new FaultyServer('silent', 'silent', { body: bodyExamples.CycleResponse })
  const api = await connect(server)
  const call = await api.cycleCall(JSON.stringify({ text: 'x'.repeat(300_000) }), new Rng('without gzip', 2))
  const length = call.body?.length ?? 0
  await api.abortCall(call, 'body-cut')
  await api.abortCall(call, 'response-unread')
  expect((await api.sendCycle(call)).status).toBe(200)
  // The first body is incomplete, so it is not among those that arrived.
  expect(server.received.map(({ body }) => body.length)).toEqual([length, length])
  expect(api.bodyBytesSent).toBe(2 * length + (length >> 1))
})

test('aborting a call to an unavailable service is not an error', async () => {
  const api = new Api({
    url: `http://127.0.0.1:${await closedPort()}`,
    apiKey: 'key',
    retryTimeoutMs: 30_000,
  })
  await api.abortCall(await api.cycleCall('{}', new Rng('x')), 'response-unread')
})
