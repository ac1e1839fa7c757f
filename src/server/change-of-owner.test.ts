/**
 * Calls during which their process loses the environment, over HTTP: the response, and what the log keeps of the first error.
 */
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { listenFor } from '../../test/helpers/listening-service.js'
import { ServiceError } from '../contract/index.js'
import { StoreError } from '../store/index.js'
import { ApiKeys } from './api-keys.js'
import { BodyMemory } from './body.js'
import type { OperationParts } from './operations.js'
import { RequestHandler } from './request-handler.js'

const key = 'key-of-these-tests-0123456789'
const owner = { role: 'owner' as 'owner' | 'standby', replication: { epoch: 3 } }

interface LogLine {
  readonly msg: string
  readonly err?: { readonly message: string; readonly stack: string }
}

/** Sends one call; `during` runs within its handler. */
async function called(during: (store: typeof owner) => unknown, path = '/v1/weights') {
  const lines: LogLine[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) })
  const store = structuredClone(owner)
  const run = (): unknown => during(store)
  const intake = { responseInMemory: () => null, response: run }
  const cycles = { weights: { state: run }, intake, problems: run }
  const handler = new RequestHandler({
    apiKeys: new ApiKeys([key]),
    log,
    bodies: new BodyMemory(1e9),
    operationParts: { cycles, store, clock: () => 0, log } as unknown as OperationParts,
  })
  const listener = await listenFor(handler, log)
  onTestFinished(() => {
    listener.stopListening()
    listener.closeConnections()
  })
  const reply = await fetch(`http://127.0.0.1:${listener.port}${path}`, { headers: { Authorization: key } })
  await reply.arrayBuffer()
  const failure = lines.find(({ msg }) => msg === 'a request failed')?.err
  return { status: reply.status, retryAfter: reply.headers.get('retry-after'), failure }
}

const changes = {
  'another process has become the owner': (store: typeof owner) => (store.role = 'standby'),
  'the process has lost and won the environment': (store: typeof owner) => (store.replication.epoch = 4),
}
const endings = {
  'returns a response': () => Buffer.from('{}'),
  'refuses the request': () => {
    throw new ServiceError({ code: 'invalid_cycle_id' })
  },
  'fails in storage': () => {
    throw new StoreError('failed', 'no room')
  },
  'has a bug': () => {
    throw new TypeError('not a function')
  },
}
const cases = Object.entries(changes).flatMap(([change, lose]) =>
  Object.entries(endings).flatMap(([ending, end]) =>
    ['/v1/weights', '/v1/scores/20240301T0000'].map((path) => ({ change, lose, ending, end, path })),
  ),
)

test.each(cases)('$path is 503 with Retry-After if its handler $ending after $change', async (one) => {
  const reply = await called((store) => {
    one.lose(store)
    return one.end()
  }, one.path)
  expect([reply.status, reply.retryAfter]).toEqual([503, '1'])
})

test('what the handler threw first is logged, with its cause, although the response is that of a standby', async () => {
  const first = new StoreError('failed', 'the outcome is unknown', { cause: new Error('the disk burns') })
  for (const error of [first, new ServiceError({ code: 'storage_refuses' }, { cause: first })]) {
    const { failure } = await called((store) => {
      store.replication.epoch = 4
      throw error
    })
    expect(failure?.message).toContain('the outcome is unknown')
    expect(failure?.stack).toContain('the disk burns')
  }
})

test('a request that is refused by its own fault, or because another process owns, is no failure in the log', async () => {
  const takenOver = new StoreError('standby', 'another process is the owner')
  const errors = [
    new ServiceError({ code: 'not_gzip' }),
    takenOver,
    new ServiceError({ code: 'storage_refuses' }, { cause: takenOver }),
  ]
  for (const error of errors) {
    const reply = await called((store) => {
      store.role = 'standby'
      throw error
    })
    expect(reply).toEqual({ status: 503, retryAfter: '1', failure: undefined })
  }
})

test('without a change of owner, the handler decides the response', async () => {
  const statuses = await Promise.all(
    Object.values(endings).map(async (end) => (await called(end, '/v1/scores/20240301T0000')).status),
  )
  expect(statuses).toEqual([200, 404, 503, 500])
})
