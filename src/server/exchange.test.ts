/** What an exchange releases at its end, also when something fails, and what is reported of it. */
import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeExchange } from '../../test/helpers/fake-exchange.js'
import { ApiKeys } from './api-keys.js'
import { BodyMemory, CallMemory } from './body.js'
import { Exchange, type EndedRequest } from './exchange.js'
import type { OperationParts } from './operations.js'
import { RequestHandler } from './request-handler.js'

test('an observer or a logger that throws at the end of a request keeps nothing held', () => {
  const bodies = new BodyMemory(1000)
  for (const end of ['response', 'disconnect'] as const) {
    let releasedCount = 0
    const memory = new CallMemory(bodies, () => releasedCount++)
    const fake = new FakeExchange({ method: 'GET', path: '/v1/health' })
    const exchange = new Exchange(fake.response, fake.request, 0, memory, () => {
      throw new Error('the log fails')
    })
    exchange.watchConnection()
    memory.addRequest(10)
    expect(exchange.holdResponse(20)).toBeNull()
    exchange.workEnded()
    const ending = (): void => {
      if (end === 'disconnect') fake.disconnect()
      else exchange.send({ status: 200, headers: {}, body: new Uint8Array(20) }, false)
    }
    expect(ending).toThrow('the log fails')
    expect([bodies.bytesHeld, releasedCount], end).toEqual([0, 1])
  }
})

test('the work of a call ends once, when nobody receives its body, and leaves no body to read', async () => {
  const exchangeOf = (): { exchange: Exchange; fake: FakeExchange } => {
    const memory = new CallMemory(new BodyMemory(1000), () => undefined)
    const fake = new FakeExchange({ method: 'POST', path: '/v1/cycles', body: Buffer.from('{}') })
    return { fake, exchange: new Exchange(fake.response, fake.request, 0, memory, () => undefined) }
  }
  const early = exchangeOf()
  const reading = early.exchange.body.read(10, 1000)
  expect(() => early.exchange.workEnded()).toThrow('while it is received')
  early.fake.deliver(0, 2)
  await reading
  const { exchange, fake } = exchangeOf()
  const received = exchange.body.read(10, 1000)
  fake.deliver(0, 2)
  await received
  exchange.workEnded()
  expect(() => exchange.body.read(10, 1000)).toThrow('after its release')
  expect(() => exchange.workEnded()).toThrow('released once')
})

test('a client that accepts nothing of a response for a minute is disconnected, and what it held is released', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const bodies = new BodyMemory(1_000_000)
  const memory = new CallMemory(bodies, () => undefined)
  const fake = new FakeExchange({ method: 'GET', path: '/v1/scores/20250303T0900' })
  const exchange = new Exchange(fake.response, fake.request, 0, memory, () => undefined)
  exchange.watchConnection()
  const body = new Uint8Array(900_000)
  expect(exchange.holdResponse(body.length)).toBeNull()
  exchange.workEnded()
  fake.piecesMax = 0
  exchange.send({ status: 200, headers: {}, body }, false)
  vi.advanceTimersByTime(50_000)
  fake.piecesMax = 1
  vi.advanceTimersByTime(2000)
  const { bytesWritten } = fake
  expect(bytesWritten).toBeGreaterThan(0)
  vi.advanceTimersByTime(58_000)
  expect([fake.ended, bodies.bytesHeld]).toEqual([false, body.length])
  vi.advanceTimersByTime(6000)
  expect([fake.ended, fake.bytesWritten, bodies.bytesHeld]).toEqual([true, bytesWritten, 0])
})

test('nothing waits for a client that has disconnected: neither the rest of its response nor that of its body', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const exchangeOf = (fake: FakeExchange): Exchange => {
    const memory = new CallMemory(new BodyMemory(1_000_000), () => undefined)
    const exchange = new Exchange(fake.response, fake.request, 0, memory, () => undefined)
    exchange.watchConnection()
    return exchange
  }
  const reading = new FakeExchange({ method: 'GET', path: '/v1/scores/20250303T0900' })
  reading.piecesMax = 0
  exchangeOf(reading).send({ status: 200, headers: {}, body: new Uint8Array(900_000) }, false)
  expect(vi.getTimerCount()).toBeGreaterThan(0)
  reading.disconnect()
  const sending = new FakeExchange({ method: 'POST', path: '/v1/cycles', body: new Uint8Array(100) })
  const drained = exchangeOf(sending).beforeSending(true)
  sending.disconnect()
  await drained
  expect(vi.getTimerCount()).toBe(0)
})

test('a path is logged up to 200 characters', () => {
  for (const [length, logged] of [
    [199, `/${'x'.repeat(198)}`],
    [200, `/${'x'.repeat(199)}`],
    [201, `/${'x'.repeat(199)}…`],
  ] as const) {
    const fake = new FakeExchange({ method: 'GET', path: `/${'x'.repeat(length - 1)}` })
    const memory = new CallMemory(new BodyMemory(1000), () => undefined)
    const exchange = new Exchange(fake.response, fake.request, 0, memory, () => undefined)
    expect(exchange.loggedPath).toBe(logged)
  }
})

test('a request does not change once it is reported', async () => {
  const key = 'key-of-these-tests-0123456789'
  const bodies = new BodyMemory(1000)
  const operationParts = {
    clock: () => 0,
    store: { role: 'owner' },
    settings: () => ({ bodyReadMsMax: 1000 }),
  }
  const handler = new RequestHandler({
    apiKeys: new ApiKeys([key]),
    bodies,
    log: pino({ level: 'silent' }),
    operationParts: operationParts as unknown as OperationParts,
  })
  const reported: EndedRequest[] = []
  handler.observe((request) => void reported.push(request))
  const headers = { authorization: key }
  const fake = new FakeExchange({ method: 'PUT', path: '/v1/weights', headers, body: Buffer.from('{}') })
  handler.handle(fake.response, fake.request)
  fake.disconnect()
  // Its operation fails after that.
  await handler.idle()
  expect(reported).toMatchObject([{ status: 0, code: undefined, problem: null }])
})
