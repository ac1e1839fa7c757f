/** The client on real sockets: what it sends, what it repeats, and how a call ends. */
import { createHash } from 'node:crypto'
import { createServer, type AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cycleBody } from '../../test/helpers/bodies.js'
import { connect, fast, large, ok } from '../../test/helpers/connected-client.js'
import { FaultyServer, type Step } from '../../test/helpers/faulty-server.js'
import { bodyExamples, errorTable } from '../contract/index.js'
import { ApiError, Client, ConnectionError } from './index.js'

const unavailable = { error: { code: 'server_error', message: 'too many cycles are waiting' } }

describe('each operation', () => {
  const calls: [string, (client: Client) => Promise<unknown>, unknown, string][] = [
    [
      'postCycle',
      (c) => c.postCycle(bodyExamples.CycleRequest),
      bodyExamples.CycleResponse,
      'POST /v1/cycles',
    ],
    [
      'getScores',
      (c) => c.getScores('20260302T1205'),
      bodyExamples.CycleResponse,
      'GET /v1/scores/20260302T1205',
    ],
    ['getHealth', (c) => c.getHealth(), bodyExamples.Health, 'GET /v1/health'],
    [
      'postOutcomes',
      (c) => c.postOutcomes(bodyExamples.OutcomesRequest.outcomes),
      bodyExamples.OutcomesResponse,
      'POST /v1/outcomes',
    ],
    ['getWeights', (c) => c.getWeights(), bodyExamples.WeightsState, 'GET /v1/weights'],
    [
      'putWeights',
      (c) => c.putWeights(bodyExamples.WeightsRequest),
      bodyExamples.WeightsAck,
      'PUT /v1/weights',
    ],
  ]

  test.each(calls)('%s is a typed call with the key', async (_name, call, result, line) => {
    const server = new FaultyServer({ body: result })
    const { client } = await connect(server)
    expect(await call(client)).toEqual(result)
    const [{ method, path, headers, body } = { headers: {}, body: Buffer.alloc(0) } as never] =
      server.received
    expect([`${method} ${path}`, headers.authorization]).toEqual([line, 'key'])
    if (body.length > 0) expect(headers['content-type']).toBe('application/json')
  })

  test('putImage sends the hash of the bytes, and returns whether the image is new', async () => {
    const server = new FaultyServer(
      { status: 201, body: bodyExamples.ImageStored },
      { body: bodyExamples.ImageStored },
    )
    const { client } = await connect(server)
    const jpeg = Buffer.from('jpeg')
    const key = { gall_id: '한/글', post_no: 7, position: 3 }
    expect([(await client.putImage(key, jpeg)).created, (await client.putImage(key, jpeg)).created]).toEqual([
      true,
      false,
    ])
    const [first] = server.received
    expect(first?.path).toBe(`/v1/images/${encodeURIComponent('한/글')}/7/03`)
    expect(first?.headers).toMatchObject({
      'content-type': 'image/jpeg',
      'x-content-sha256': createHash('sha256').update(jpeg).digest('hex'),
    })
    expect(first?.body).toEqual(jpeg)
  })

  const notFound: Step = { status: 404, body: { error: { code: 'not_found', message: 'm' } } }

  test('hasScores reads no body of stored scores', async () => {
    const server = new FaultyServer({}, notFound, notFound, { status: 401 })
    const { client } = await connect(server)
    expect([await client.hasScores('x'), await client.hasScores('x')]).toEqual([true, false])
    await expect(client.hasScores('x')).rejects.toMatchObject({ status: 401 })
    expect(server.received.map(({ method }) => method)).toEqual(['HEAD', 'HEAD', 'GET', 'HEAD'])
  })

  test('scores that are stored between HEAD and GET are there', async () => {
    const { client } = await connect(new FaultyServer(notFound, ok))
    expect(await client.hasScores(large.cycle_id)).toBe(true)
  })

  test.each<[string, Step]>([
    ['a page with status 200', { status: 200, headers: { 'Content-Type': 'text/html' } }],
    ['a page with status 404', { status: 404, headers: { 'Content-Type': 'text/html' } }],
    ['JSON with status 404', { status: 404, body: { error: { code: 'no_route', message: 'm' } } }],
  ])('%s of a gateway says nothing about scores', async (_what, step) => {
    const { client } = await connect(new FaultyServer(step))
    await expect(client.hasScores('x')).rejects.toMatchObject({ name: 'ResponseError' })
  })

  test('the scores of another cycle are not those of this one', async () => {
    const { client } = await connect(new FaultyServer({ body: bodyExamples.CycleResponse }))
    await expect(client.getScores('20260302T1210')).rejects.toThrow(
      'is for cycle 20260302T1205, not 20260302T1210',
    )
  })
})

test('a base address may have a path', async () => {
  const server = new FaultyServer({ body: bodyExamples.Health })
  const url = await server.listen()
  await new Client({ ...fast, url: `${url}/base/` }).getHealth()
  expect(server.received[0]?.path).toBe('/base/v1/health')
})

test.each([
  ['the url is no URL', { url: 'localhost' }],
  ['the url is of another protocol', { url: 'ftp://localhost' }],
  ['the key cannot be in a header', { apiKey: '열쇠' }],
  ['the key has a space', { apiKey: 'Bearer key' }],
  ['a time is not a number', { backoffMsMax: NaN }],
  ['a time is longer than a timer', { attemptTimeoutMs: 2 ** 31 }],
  ['a response may have no bytes', { responseBytesMax: 0 }],
  ['a size is not a number', { responseBytesMax: NaN }],
])('a client cannot be made if %s, and the error does not contain the key', (_what, wrong) => {
  const make = (): Client => new Client({ url: 'http://localhost', apiKey: 'secret', ...wrong })
  expect(make).toThrow(TypeError)
  expect(make).not.toThrow(/secret|열쇠|Bearer/)
})

test('a gallery that is a dot segment is an error: fetch would send another path', async () => {
  const { client } = await connect(new FaultyServer(ok))
  const call = client.putImage({ gall_id: '..', post_no: 1, position: 1 }, Buffer.from('x'))
  await expect(call).rejects.toThrow('a path cannot have the segments . and ..')
})

describe('gzip', () => {
  test('compresses large bodies only', async () => {
    const server = new FaultyServer(ok)
    const { client } = await connect(server)
    await client.postCycle(large)
    await client.postCycle(cycleBody(0))
    const [first, second] = server.received
    expect(first?.headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(gunzipSync(first?.body ?? '').toString())).toEqual(large)
    expect(second?.headers['content-encoding']).toBe(undefined)
  })

  test('can be switched off', async () => {
    const server = new FaultyServer(ok)
    const { client } = await connect(server, { gzip: false })
    await client.postCycle(large)
    expect(JSON.parse(String(server.received[0]?.body))).toEqual(large)
  })
})

describe('retries', () => {
  const faults: Step[] = [
    ...(['before', 'within', 'after', 'half'] as const),
    { status: 503, headers: { 'Retry-After': '0' }, body: unavailable },
    ...[408, 429, 502, 503, 504].map((status) => ({ status, body: 'a proxy' })),
  ]

  test('all attempts send the same bytes, whatever the outcome of earlier ones', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...faults), { maxLength: 5 }),
        fc.boolean(),
        async (steps, gzip) => {
          const server = new FaultyServer(...steps, ok)
          const { client, failures } = await connect(server, { gzip })
          expect(await client.postCycle(large)).toEqual(ok.body)
          expect(server.attemptCount).toBe(steps.length + 1)
          expect(failures.map(({ retryCount }) => retryCount)).toEqual(steps.map((_, index) => index))
          const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
          expect(new Set(server.received.map(({ body }) => digest(body))).size).toBe(1)
          expect(new Set(server.received.map(({ headers }) => headers['content-encoding'])).size).toBe(1)
        },
      ),
      { numRuns: 30 },
    )
  })

  test('the bytes of an image may change after the call began', async () => {
    const server = new FaultyServer('after', { status: 201, body: bodyExamples.ImageStored })
    const jpeg = Buffer.from('jpeg')
    const { client } = await connect(server, { onFailure: () => jpeg.fill(0) })
    await client.putImage({ gall_id: 'g', post_no: 1, position: 1 }, jpeg)
    expect(server.received.map(({ body }) => body.toString())).toEqual(['jpeg', 'jpeg'])
  })

  test('a client waits for a service that does not listen yet', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    await new Promise((resolve) => other.close(resolve))
    const later = new FaultyServer(ok)
    let isUp = false
    const client = new Client({
      ...fast,
      url: `http://127.0.0.1:${port}`,
      onFailure: () => {
        if (!isUp) void later.listen(port)
        isUp = true
      },
    })
    expect(await client.postCycle(large)).toEqual(ok.body)
  })

  test.each(Object.entries(errorTable).filter(([kind]) => kind !== 'unavailable'))(
    'the error %s of the service is final',
    async (kind, { status, code }) => {
      const server = new FaultyServer({ status, body: { error: { code, message: 'm' } } })
      const { client } = await connect(server)
      const error = await client.getHealth().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ApiError)
      expect(error).toMatchObject({ kind, status, code })
      expect(server.attemptCount).toBe(1)
    },
  )

  test.each([431, 501, 302])('status %s, which the service does not have, is final', async (status) => {
    const server = new FaultyServer({ status, body: { error: { code: 'server_error', message: 'm' } } })
    const { client } = await connect(server)
    const error = await client.getHealth().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ResponseError', status })
    expect(server.attemptCount).toBe(1)
  })

  test('no attempt begins before Retry-After: if the timeout is shorter, the call ends immediately', async () => {
    const server = new FaultyServer({ status: 503, headers: { 'Retry-After': '3600' }, body: unavailable })
    const { client, failures } = await connect(server)
    await expect(client.postCycle(large)).rejects.toMatchObject({ kind: 'unavailable', status: 503 })
    expect([server.attemptCount, failures[0]?.waitMs]).toEqual([1, null])
  })

  test('the wait after Retry-After is the one of the header', async () => {
    const server = new FaultyServer({ status: 503, headers: { 'Retry-After': '1' }, body: unavailable }, ok)
    const { client, failures } = await connect(server)
    const startedAtMs = performance.now()
    await client.postCycle(large)
    expect(failures[0]?.waitMs).toBeGreaterThanOrEqual(1000)
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(990)
  })

  test('a service that remains unreachable is a ConnectionError with the reason', async () => {
    const server = new FaultyServer('before')
    const { client, failures } = await connect(server, { retryTimeoutMs: 30 })
    const error = await client.getHealth().catch((thrown: unknown) => thrown as ConnectionError)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ attemptCount: failures.length })
    expect((error as Error).message).toMatch(/^GET \/v1\/health: no response in \d+ attempts?: ./)
  })

  test('an error of onFailure ends the call', async () => {
    const server = new FaultyServer({ status: 503, body: unavailable }, ok)
    const onFailure = (): void => {
      throw new Error('seen enough')
    }
    const { client } = await connect(server, { onFailure })
    await expect(client.getHealth()).rejects.toThrow('seen enough')
  })
})

describe('a call ends', () => {
  test.each<Step>(['silent', 'stalled'])(
    'an attempt at its time limit, and the next one follows: %s',
    async (step) => {
      const server = new FaultyServer(step, ok)
      const { client, failures } = await connect(server, { attemptTimeoutMs: 100 })
      expect(await client.postCycle(large)).toEqual(ok.body)
      expect(failures[0]?.outcome).toMatchObject({ message: 'no response within 100 ms' })
    },
  )

  test.each<[string, Step]>([
    ['while it waits for the response', 'silent'],
    ['while it receives the response', 'stalled'],
    ['while it waits for the next attempt', 'before'],
  ])('by its signal %s, with the reason of the signal', async (_when, step) => {
    const stop = new AbortController()
    const longWaits = { backoffMsFirst: 1e6, backoffMsMax: 1e6, retryTimeoutMs: Infinity, random: () => 0.9 }
    const { client, failures } = await connect(new FaultyServer(step), longWaits)
    const call = client.postCycle(large, { signal: stop.signal })
    setTimeout(() => stop.abort(new Error('enough')), 50)
    await expect(call).rejects.toThrow('enough')
    expect(failures.map(({ outcome }) => outcome)).not.toContainEqual(new Error('enough'))
    await expect(client.getHealth({ signal: stop.signal })).rejects.toThrow('enough')
  })
})
