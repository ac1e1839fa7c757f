/**
 * Which responses are a verdict of the service: the client distinguishes results, refusals and refusals for a passing reason
 * from what gateways send in their place.
 */
import { gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { connect, fast, large, ok } from '../../test/helpers/connected-client.js'
import { FaultyServer, type Step } from '../../test/helpers/faulty-server.js'
import { bodyExamples } from '../contract/index.js'
import { ApiError, Client, isFutureRefusal, ResponseError, type Reply } from './index.js'

describe('while the clock of the service is behind', () => {
  const future = { path: 'cycle_time', problem: 'must not be in the future' }
  const refusal = (...fields: object[]): Step => ({
    status: 422,
    body: { error: { code: 'unprocessable', message: 'm', fields } },
  })

  test('the same bytes are sent until the cycle is accepted', async () => {
    const server = new FaultyServer(refusal(future), refusal(future), ok)
    const { client, failures } = await connect(server)
    expect(await client.postCycle(large)).toEqual(ok.body)
    expect(new Set(server.received.map(({ body }) => body.toString('base64'))).size).toBe(1)
    expect(failures.map(({ outcome }) => (outcome as Reply).status)).toEqual([422, 422])
  })

  test('a cycle whose time comes after the time of the call is not sent again', async () => {
    const { body } = refusal(future) as { body: object }
    const server = new FaultyServer({ status: 422, headers: { 'Retry-After': '86400' }, body })
    const { client } = await connect(server, { retryTimeoutMs: 240_000 })
    expect(isFutureRefusal(await client.postCycle(large).catch((thrown: unknown) => thrown))).toBe(true)
    expect(server.attemptCount).toBe(1)
  })

  test('the call ends with the refusal when its time is over', async () => {
    const { client } = await connect(new FaultyServer(refusal(future)), { retryTimeoutMs: 20 })
    const error = await client.postCycle(large).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'unprocessable', fields: [future] })
    expect(isFutureRefusal(error)).toBe(true)
  })

  test.each<[string, object[]]>([
    ['another problem too', [future, { path: 'cycle_id', problem: 'must be cycle_time in KST' }]],
    ['another problem of the time', [{ ...future, problem: 'must be on a five-minute boundary' }]],
    ['this problem of another member', [{ ...future, path: 'cycle_id' }]],
    ['no problem named', []],
  ])('a refusal with %s is final', async (_what, fields) => {
    const server = new FaultyServer(refusal(...fields), ok)
    const { client } = await connect(server)
    const error = await client.postCycle(large).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'unprocessable', status: 422 })
    expect([isFutureRefusal(error), server.attemptCount]).toEqual([false, 1])
  })

  test('other operations are not repeated', async () => {
    const server = new FaultyServer(refusal(future))
    const { client } = await connect(server)
    await expect(client.postOutcomes([])).rejects.toMatchObject({ status: 422 })
    expect(server.attemptCount).toBe(1)
  })
})

describe('errors', () => {
  const unprocessable = { code: 'unprocessable', message: 'm' }
  const gateway = (status: number, error: unknown, type = 'application/json'): Step => ({
    status,
    headers: { 'Content-Type': type },
    body: { error },
  })

  test('an error record is an ApiError with its fields', async () => {
    const fields = [{ path: 'cycle_time', problem: 'must be on a five-minute boundary' }]
    const record = { error: { code: 'unprocessable', message: 'the cycle is not valid', fields } }
    const { client } = await connect(new FaultyServer({ status: 422, body: record }))
    const error = await client.postCycle(large).catch((thrown: unknown) => thrown as ApiError)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({
      name: 'ApiError',
      kind: 'unprocessable',
      code: 'unprocessable',
      status: 422,
      fields,
    })
    expect((error as Error).message).toBe(
      'POST /v1/cycles: 422 unprocessable: the cycle is not valid; cycle_time: must be on a five-minute boundary',
    )
  })

  test.each<[string, Step]>([
    ['an error page', { status: 404, headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
    ['a page with status 200', { headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
    ['JSON that another server sends as text', { headers: { 'Content-Type': 'text/html' }, body: ok.body }],
    ['a body that is not JSON', { body: 'half' }],
    ['a response that is cut off', { body: JSON.stringify(ok.body).slice(0, -20) }],
    ['JSON that is not an object', { body: [] }],
    ['an empty object', { body: {} }],
    ['a response without results', { body: { ...ok.body, results: undefined } }],
    ['the response to another cycle', { body: bodyExamples.CycleResponse }],
    ['a redirect', { status: 302, headers: { Location: '/' } }],
    ['a status that the operation does not have', { status: 201 }],
    ['an error of a gateway with a code of its own', gateway(404, { code: 'no_route', message: 'm' })],
    [
      'an error of a gateway with the code of another status',
      gateway(400, { code: 'not_found', message: 'm' }),
    ],
    ['an error of a gateway with a number as code', gateway(409, { code: 409, message: 'm' })],
    ['an error of a gateway without a message', gateway(413, { code: 'too_large' })],
    ['an error of a gateway with other fields', gateway(422, { ...unprocessable, fields: ['cycle_time'] })],
    [
      'an error of a gateway whose fields have no text as path',
      gateway(422, { ...unprocessable, fields: [{ path: 1, problem: 'p' }] }),
    ],
    [
      'an error of a gateway whose fields have no problem',
      gateway(422, { ...unprocessable, fields: [{ path: 'p' }] }),
    ],
    ['an error of a gateway with fields that are no list', gateway(422, { ...unprocessable, fields: {} })],
    ['an error of a gateway that is a text', gateway(400, 'bad_request')],
    ['an error record sent as a page', gateway(422, unprocessable, 'text/html')],
    [
      'an error record of a type that ends in that of JSON',
      gateway(422, unprocessable, 'x-application/json'),
    ],
    ['an error record below another member', { status: 422, body: { errors: [unprocessable] } }],
  ])('%s is a ResponseError', async (_what, step) => {
    const server = new FaultyServer(step)
    const { client } = await connect(server)
    const error = await client.postCycle(large).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ResponseError)
    expect(error).not.toBeInstanceOf(ApiError)
    expect(server.attemptCount).toBe(1)
  })

  test('a certificate that is not trusted is not tried again', async () => {
    const cause = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    let attemptCount = 0
    const client = new Client({
      ...fast,
      url: 'https://localhost',
      fetch: () => {
        attemptCount++
        return Promise.reject(new TypeError('fetch failed', { cause }))
      },
    })
    await expect(client.getHealth()).rejects.toThrow('no response in 1 attempt: self-signed certificate')
    expect(attemptCount).toBe(1)
  })
})

describe('a response has a size limit', () => {
  const bytes = JSON.stringify(ok.body).length

  test('up to which it is accepted', async () => {
    const server = new FaultyServer(ok)
    const { client } = await connect(server, { responseBytesMax: bytes })
    expect(await client.postCycle(large)).toEqual(ok.body)
  })

  test.each([200, 404])(
    'beyond which the rest of a %s is not received, and it is not sent again',
    async (status) => {
      const server = new FaultyServer({ status, body: ok.body })
      const { client, failures } = await connect(server, { responseBytesMax: bytes - 1 })
      const error = await client.postCycle(large).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ name: 'ResponseError', status })
      expect((error as Error).message).toBe(`POST /v1/cycles: ${status} has more than ${bytes - 1} bytes`)
      expect([server.attemptCount, failures.length]).toEqual([1, 1])
    },
  )

  test('that holds for the decompressed bytes', async () => {
    const body = gzipSync(Buffer.alloc(1024 * 1024, ' '))
    const compressed = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }
    const { client } = await connect(new FaultyServer(ok), {
      responseBytesMax: 100_000,
      fetch: () =>
        Promise.resolve(
          new Response(new Blob([body]).stream().pipeThrough(new DecompressionStream('gzip')), {
            headers: compressed,
          }),
        ),
    })
    await expect(client.postCycle(large)).rejects.toThrow('200 has more than 100000 bytes')
  })

  test('without which an endless response would end the process', async () => {
    let pulledBytes = 0
    const cancel = vi.fn()
    const endless = new ReadableStream({
      cancel,
      pull: (controller) => {
        controller.enqueue(new Uint8Array(65_536))
        pulledBytes += 65_536
      },
    })
    const { client } = await connect(new FaultyServer(ok), {
      responseBytesMax: 1_000_000,
      fetch: () => Promise.resolve(new Response(endless)),
    })
    await expect(client.postCycle(large)).rejects.toThrow('200 has more than 1000000 bytes')
    expect(pulledBytes).toBeLessThan(1_300_000)
    expect(cancel).toHaveBeenCalledOnce()
  })

  test('after a temporary status the call is repeated', async () => {
    const server = new FaultyServer({ status: 502, body: 'x'.repeat(bytes + 1) }, ok)
    const { client } = await connect(server, { responseBytesMax: bytes })
    expect(await client.postCycle(large)).toEqual(ok.body)
  })
})
