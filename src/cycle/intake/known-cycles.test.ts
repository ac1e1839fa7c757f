/** Repeated calls: many at the same time, and at moments when the stored cycle changes state. */
import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createMemoryStore, type Store, type StoredCycle } from '../../store/index.js'
import { RequestBody } from './request-body.js'
import { expiredCycle, KnownCycles, type Flight } from './known-cycles.js'
import type { AnsweredCycle } from './stored-responses.js'

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
    record: new Uint8Array(),
    texts: null,
    response,
  })
  const cycle = store.findCycle(cycleId)
  if (cycle === undefined) throw new Error('the cycle is not stored')
  return { store, cycle }
}

/** The response to a body with the id of a stored cycle. */
function replay(
  cycles: KnownCycles,
  cycle: StoredCycle,
  json: Buffer,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  return cycles.repeat({ kind: 'stored', cycle }, cycleId, new RequestBody(json), signal)
}

function flightOf(cycles: KnownCycles): Flight {
  const known = cycles.lookup(cycleId)
  if (known.kind !== 'in progress') throw new Error('the cycle is not in progress')
  return known.flight
}

test('one lookup distinguishes an unknown cycle, one in progress, a stored one and an expired one', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  expect(cycles.lookup(cycleId)).toEqual({ kind: 'stored', cycle })
  expect(cycles.lookup('20260302T1205')).toEqual({ kind: 'unknown' })
  const never = new Promise<AnsweredCycle>(() => undefined)
  cycles.begin({ cycleId: '20260302T1205', json: new Uint8Array(), stored: never })
  expect(cycles.lookup('20260302T1205').kind).toBe('in progress')
  const expiring = { ...store.expiry, isExpired: (id: string) => id === '20260302T1210' } as Store['expiry']
  Object.assign(store, { expiry: expiring })
  expect(cycles.lookup('20260302T1210')).toEqual({ kind: 'expired' })
})

test('the newest response is in memory when its cycle is stored, and no other is', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  expect(cycles.responseInMemory(cycleId)).toBeNull()
  cycles.begin({ cycleId, json: bytes(body), stored: Promise.resolve({ cycle, response }) })
  await flightOf(cycles).stored
  expect(cycles.responseInMemory(cycleId)).toBe(response)
  expect(cycles.lookup(cycleId)).toEqual({ kind: 'stored', cycle })
  expect(cycles.responseInMemory('20260302T1205')).toBeUndefined()
})

test('a cycle that fails is unknown again, and the same call may begin it once more', async () => {
  const cycles = new KnownCycles(createMemoryStore())
  for (let attempt = 0; attempt < 2; attempt++) {
    const stored = Promise.reject(new Error('the model failed'))
    cycles.begin({ cycleId, json: bytes(body), stored })
    const joined = cycles.join(flightOf(cycles))
    await expect(joined).rejects.toThrow('the model failed')
    expect(cycles.lookup(cycleId)).toEqual({ kind: 'unknown' })
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
  const cycles = new KnownCycles(store)
  const calls = Array.from({ length: 100 }, (_, more) =>
    replay(cycles, cycle, bytes({ ...body, more }, 1)).finally(() => open--),
  )
  const settled = await Promise.allSettled(calls)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(openMost).toBeLessThan(10)
})

test('a repeat with the same bytes does not wait for comparisons of values', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  const large = (more: number): Buffer => bytes({ ...body, more, text: 'x'.repeat(300_000) })
  const order: string[] = []
  const note = (call: string) => (): void => void order.push(call)
  const others = [2, 3, 4, 5, 6].map((more) => replay(cycles, cycle, large(more)).catch(note('other')))
  const same = replay(cycles, cycle, bytes(body)).then(note('same'))
  await Promise.all([...others, same])
  expect(order[0]).toBe('same')
})

test('a call that waits for a cycle gets its response by the value of its body, even when the first body is overwritten', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  const json = bytes(body)
  const stored = Promise.withResolvers<AnsweredCycle>()
  cycles.begin({ cycleId, json, stored: stored.promise })
  const known = { kind: 'in progress', flight: flightOf(cycles) } as const
  const respelled = cycles.repeat(known, cycleId, new RequestBody(bytes(body, 2)))
  const other = cycles.repeat(known, cycleId, new RequestBody(bytes({ ...body, more: 2 })))
  json.fill(0)
  stored.resolve({ cycle, response })
  expect(Buffer.from(await respelled)).toEqual(response)
  await expect(other).rejects.toMatchObject({
    kind: 'conflict',
    fields: [{ path: 'more', problem: 'was 1, is 2' }],
  })
})

test('a thousand calls wait for a cycle in progress, and one that is aborted no longer does', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  const stored = Promise.withResolvers<AnsweredCycle>()
  cycles.begin({ cycleId, json: bytes(body), stored: stored.promise })
  const flight = flightOf(cycles)
  const waiting = Array.from({ length: 1000 }, () => cycles.join(flight))
  const client = new AbortController()
  const left = cycles.join(flight, client.signal)
  client.abort(new Error('the client disconnected'))
  await expect(left).rejects.toThrow('the client disconnected')
  expect(cycles.inProgressCount).toBe(1)
  stored.resolve({ cycle, response })
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([response]))
  expect(cycles.inProgressCount).toBe(0)
})

test('a call that is aborted while it waits to be compared leaves the queue to the others', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  const client = new AbortController()
  const respelled = bytes(body, 1)
  const calls = Array.from({ length: 20 }, () => replay(cycles, cycle, respelled, client.signal))
  const settled = Promise.allSettled(calls)
  const last = replay(cycles, cycle, respelled)
  client.abort(new Error('the client disconnected'))
  expect((await settled).filter(({ status }) => status === 'rejected').length).toBeGreaterThan(15)
  expect(Buffer.from(await last)).toEqual(response)
})

test('a body of the same length is a conflict if a byte of it differs', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  const other = bytes({ ...body, more: 2 })
  expect(other).toHaveLength(bytes(body).length)
  const call = { kind: 'stored', cycle } as const
  expect(await cycles.responseToSameBytes(call, new RequestBody(other))).toBeNull()
  await expect(replay(cycles, cycle, other)).rejects.toMatchObject({ kind: 'conflict' })
})

test('a repeat does not read a response that is in memory', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  const first = await replay(cycles, cycle, bytes(body))
  store.readResponse = () => {
    throw new Error('the response is read')
  }
  expect(await replay(cycles, cycle, bytes(body))).toBe(first)
  expect(cycles.response(cycleId)).toBe(first)
})

test('a cycle that expires while bodies are compared is a conflict', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  const calls = Array.from({ length: 5 }, () => replay(cycles, cycle, bytes(body, 1)))
  store.readResponse = () => undefined
  Object.assign(store, { expiry: { ...store.expiry, isExpired: () => true } })
  for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    expect([status, reason]).toEqual(['rejected', expiredCycle(cycleId)])
})

test('a cycle that was known before has its response, unless another has taken its place', async () => {
  const { store, cycle } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  expect(cycles.storedAsBefore(cycle)).toEqual({ cycle, response: new Uint8Array(response) })
  cycles.forgetResponses()
  store.findCycle = () => ({ ...cycle, receivedAt: '2026-03-02T03:00:01Z' })
  expect(cycles.storedAsBefore(cycle)).toBeUndefined()
  store.findCycle = () => undefined
  expect(cycles.storedAsBefore(cycle)).toBeUndefined()
})

test('what is in memory is forgotten with the stored cycles', async () => {
  const { store } = await storeWithCycle()
  const cycles = new KnownCycles(store)
  cycles.response(cycleId)
  store.findCycle = () => undefined
  expect(cycles.lookup(cycleId).kind).toBe('stored')
  cycles.forgetResponses()
  expect([cycles.lookup(cycleId).kind, cycles.responseInMemory(cycleId)]).toEqual(['unknown', undefined])
})
