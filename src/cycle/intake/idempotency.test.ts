/** Repeated calls: many at the same time, and at moments when the stored cycle changes state. */
import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createMemoryStore, type Store, type StoredCycle } from '../../store/index.js'
import { RequestBody } from '../request-body.js'
import { expiredCycle, Idempotency, type Flight } from './idempotency.js'
import type { StoredResponse } from './stored-responses.js'

const bytes = (value: unknown, indent = 0): Buffer => Buffer.from(JSON.stringify(value, null, indent))

const body = { more: 1, rows: [1, 2, 3] }
const cycleId = '20260302T1200'
const response = bytes({ cycle_id: cycleId })

async function storeWithCycle(): Promise<{ store: Store; cycle: StoredCycle }> {
  const store = createMemoryStore()
  const json = bytes(body)
  await store.appendCycle({
    cycleId,
    cycleAtMs: 0,
    receivedAt: '2026-03-02T03:00:00Z',
    modelVersion: 'm',
    weightsVersion: 'w',
    request: { encoding: 'identity', bytes: json, bodyBytes: json.length },
    requestSha256: hash('sha256', json),
    responseSha256: hash('sha256', response),
    columns: new Uint8Array(),
    response,
  })
  const cycle = store.findCycle(cycleId)
  if (cycle === undefined) throw new Error('the cycle is not stored')
  return { store, cycle }
}

/** The response to a body with the id of a stored cycle. */
function replay(
  idempotency: Idempotency,
  cycle: StoredCycle,
  json: Buffer,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  return idempotency.repeat({ kind: 'stored', cycle }, cycleId, new RequestBody(json), signal)
}

function flightOf(idempotency: Idempotency): Flight {
  const known = idempotency.lookup(cycleId)
  if (known.kind !== 'in progress') throw new Error('the cycle is not in progress')
  return known.flight
}

test('one lookup distinguishes an unknown cycle, one in progress, a stored one and an expired one', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  expect(idempotency.lookup(cycleId)).toEqual({ kind: 'stored', cycle })
  expect(idempotency.lookup('20260302T1205')).toEqual({ kind: 'unknown' })
  const never = new Promise<StoredResponse>(() => undefined)
  idempotency.begin({ cycleId: '20260302T1205', json: new Uint8Array(), stored: never })
  expect(idempotency.lookup('20260302T1205').kind).toBe('in progress')
  const expiring = { ...store.expiry, isExpired: (id: string) => id === '20260302T1210' } as Store['expiry']
  Object.assign(store, { expiry: expiring })
  expect(idempotency.lookup('20260302T1210')).toEqual({ kind: 'expired' })
})

test('the newest response is in memory when its cycle is stored, and no other is', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  expect(idempotency.responseInMemory(cycleId)).toBeNull()
  idempotency.begin({ cycleId, json: bytes(body), stored: Promise.resolve({ cycle, response }) })
  await flightOf(idempotency).stored
  expect(idempotency.responseInMemory(cycleId)).toBe(response)
  expect(idempotency.lookup(cycleId)).toEqual({ kind: 'stored', cycle })
  expect(idempotency.responseInMemory('20260302T1205')).toBeUndefined()
})

test('a cycle that fails is unknown again, and the same call may begin it once more', async () => {
  const idempotency = new Idempotency(createMemoryStore())
  for (let attempt = 0; attempt < 2; attempt++) {
    const stored = Promise.reject(new Error('the model failed'))
    idempotency.begin({ cycleId, json: bytes(body), stored })
    const joined = idempotency.join(flightOf(idempotency))
    await expect(joined).rejects.toThrow('the model failed')
    expect(idempotency.lookup(cycleId)).toEqual({ kind: 'unknown' })
    expect(idempotency.coalescedCount).toBe(0)
  }
})

test('many calls for one stored cycle hold few copies of its body in memory', async () => {
  const { store, cycle } = await storeWithCycle()
  let open = 0
  let openMost = 0
  const readRequest = store.readRequest.bind(store)
  store.readRequest = (position) => {
    const request = readRequest(position)
    if (request === undefined) return undefined
    return {
      ...request,
      get bytes() {
        openMost = Math.max(openMost, ++open)
        return request.bytes
      },
    }
  }
  const idempotency = new Idempotency(store)
  const calls = Array.from({ length: 100 }, (_, more) =>
    replay(idempotency, cycle, bytes({ ...body, more }, 1)).finally(() => open--),
  )
  const settled = await Promise.allSettled(calls)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(openMost).toBeLessThan(10)
})

test('a repeat with the same bytes does not wait for comparisons of values', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  const large = (more: number): Buffer => bytes({ ...body, more, text: 'x'.repeat(300_000) })
  const order: string[] = []
  const note = (call: string) => (): void => void order.push(call)
  const others = [2, 3, 4, 5, 6].map((more) => replay(idempotency, cycle, large(more)).catch(note('other')))
  const same = replay(idempotency, cycle, bytes(body)).then(note('same'))
  await Promise.all([...others, same])
  expect(order[0]).toBe('same')
})

test('a call that waits for a cycle gets its response by the value of its body, even when the first body is overwritten', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  const json = bytes(body)
  const stored = Promise.withResolvers<StoredResponse>()
  idempotency.begin({ cycleId, json, stored: stored.promise })
  const known = { kind: 'in progress', flight: flightOf(idempotency) } as const
  const respelled = idempotency.repeat(known, cycleId, new RequestBody(bytes(body, 2)))
  const other = idempotency.repeat(known, cycleId, new RequestBody(bytes({ ...body, more: 2 })))
  json.fill(0)
  stored.resolve({ cycle, response })
  expect(Buffer.from(await respelled)).toEqual(response)
  await expect(other).rejects.toMatchObject({
    kind: 'conflict',
    fields: [{ path: 'more', problem: 'was 1, is 2' }],
  })
})

test('the number of calls that wait for cycles in progress is bounded, and a call that is aborted no longer waits', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  const json = bytes(body)
  const stored = Promise.withResolvers<StoredResponse>()
  idempotency.begin({ cycleId, json, stored: stored.promise })
  const flight = flightOf(idempotency)
  const waiting = Array.from({ length: 999 }, () => idempotency.join(flight))
  const client = new AbortController()
  const left = idempotency.join(flight, client.signal)
  await expect(idempotency.join(flight)).rejects.toThrow('too many calls wait for a cycle in progress')
  client.abort(new Error('the client disconnected'))
  await expect(left).rejects.toThrow('the client disconnected')
  expect(idempotency.coalescedCount).toBe(999)
  waiting.push(idempotency.join(flight))
  stored.resolve({ cycle, response })
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([response]))
  expect(idempotency.coalescedCount).toBe(0)
})

test('calls that wait to be compared are bounded and counted, and leave the queue when they are aborted', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  const client = new AbortController()
  const respelled = bytes(body, 1)
  const calls = Array.from({ length: 4 + 256 }, () => replay(idempotency, cycle, respelled, client.signal))
  const refused = replay(idempotency, cycle, respelled)
  refused.catch(() => undefined)
  // Their lengths are compared first.
  while (idempotency.comparingCount < 260) await Promise.resolve()
  client.abort(new Error('the client disconnected'))
  const settled = await Promise.allSettled(calls)
  await expect(refused).rejects.toMatchObject({ status: 503, retryAfterS: 1 })
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(256)
  expect(idempotency.comparingCount).toBe(0)
  expect(Buffer.from(await replay(idempotency, cycle, respelled))).toEqual(response)
})

test('a body of the same length is a conflict if a byte of it differs', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  const other = bytes({ ...body, more: 2 })
  expect(other).toHaveLength(bytes(body).length)
  const call = { kind: 'stored', cycle } as const
  expect(await idempotency.responseToSameBytes(call, new RequestBody(other))).toBeNull()
  await expect(replay(idempotency, cycle, other)).rejects.toMatchObject({ kind: 'conflict' })
})

test('a repeat does not read a response that is in memory', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  const first = await replay(idempotency, cycle, bytes(body))
  store.readResponse = () => {
    throw new Error('the response is read')
  }
  expect(await replay(idempotency, cycle, bytes(body))).toBe(first)
  expect(idempotency.response(cycleId)).toBe(first)
})

test('a cycle that expires while bodies are compared is a conflict', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  const calls = Array.from({ length: 5 }, () => replay(idempotency, cycle, bytes(body, 1)))
  store.readResponse = () => undefined
  Object.assign(store, { expiry: { ...store.expiry, isExpired: () => true } })
  for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    expect([status, reason]).toEqual(['rejected', expiredCycle(cycleId)])
})

test('a cycle that was known before has its response, unless another has taken its place', async () => {
  const { store, cycle } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  expect(idempotency.storedAsBefore(cycle)).toEqual({ cycle, response: new Uint8Array(response) })
  idempotency.forgetResponses()
  store.findCycle = () => ({ ...cycle, receivedAt: '2026-03-02T03:00:01Z' })
  expect(idempotency.storedAsBefore(cycle)).toBeUndefined()
  store.findCycle = () => undefined
  expect(idempotency.storedAsBefore(cycle)).toBeUndefined()
})

test('what is in memory is forgotten with the stored cycles', async () => {
  const { store } = await storeWithCycle()
  const idempotency = new Idempotency(store)
  idempotency.response(cycleId)
  store.findCycle = () => undefined
  expect(idempotency.lookup(cycleId).kind).toBe('stored')
  idempotency.forgetResponses()
  expect([idempotency.lookup(cycleId).kind, idempotency.responseInMemory(cycleId)]).toEqual([
    'unknown',
    undefined,
  ])
})
