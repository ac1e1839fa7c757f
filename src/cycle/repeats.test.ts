/** Calls that come more than once, as a crowd and at the wrong moment. */
import { expect, test } from 'vitest'
import { createMemoryStore, type Store } from '../store/index.js'
import { expired, Repeats } from './repeats.js'

const bytes = (value: unknown, indent = 0): Buffer => Buffer.from(JSON.stringify(value, null, indent))

const body = { more: 1, rows: [1, 2, 3] }
const cycleId = '20260302T1200'
const response = bytes({ cycle_id: cycleId })

async function stored(): Promise<Store> {
  const store = createMemoryStore()
  const json = bytes(body)
  await store.appendCycle({
    ...{ cycleId, cycleAtMs: 0, receivedAt: '2026-03-02T03:00:00Z', modelVersion: 'm', weightsVersion: 'w' },
    request: { encoding: 'identity', bytes: json, bodyBytes: json.length },
    ...{ response, entered: null, left: null, pool: new Uint8Array() },
  })
  return store
}

test('a crowd of calls that name a stored cycle has few copies of its body in memory', async () => {
  const store = await stored()
  let open = 0
  let openMost = 0
  const readRequest = store.readRequest.bind(store)
  store.readRequest = (position) => {
    openMost = Math.max(openMost, ++open)
    return readRequest(position)
  }
  const repeats = new Repeats(store)
  const calls = Array.from({ length: 100 }, (_, more) =>
    repeats.replay(cycleId, bytes({ ...body, more }, 1)).finally(() => open--),
  )
  const settled = await Promise.allSettled(calls)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(openMost).toBeLessThan(10)
})

test('who is told at a glance does not wait behind those who are not', async () => {
  const store = await stored()
  const repeats = new Repeats(store)
  const large = (more: number): Buffer => bytes({ ...body, more, text: 'x'.repeat(300_000) })
  const order: string[] = []
  const note = (who: string) => (): void => void order.push(who)
  const crowd = [2, 3, 4, 5, 6].map((more) => repeats.replay(cycleId, large(more)).catch(note('large')))
  const calls = [bytes(body), bytes(body, 1)].map((json) => repeats.replay(cycleId, json).then(note('small')))
  await Promise.all([...crowd, ...calls])
  expect(order.slice(0, 2)).toEqual(['small', 'small'])
})

test('who waits for a cycle in other bytes is answered by what they mean, whatever became of its memory', async () => {
  const store = await stored()
  const repeats = new Repeats(store)
  const json = bytes(body)
  let answer: (bytes: Uint8Array) => void = () => undefined
  repeats.lead(cycleId, json, new Promise((resolve) => (answer = resolve)))
  const leader = repeats.leader(cycleId)
  if (leader === undefined) throw new Error('nobody leads')
  const respelled = repeats.follow(leader, cycleId, bytes(body, 2))
  const other = repeats.follow(leader, cycleId, bytes({ ...body, more: 2 }))
  json.fill(0)
  answer(response)
  expect(Buffer.from(await respelled)).toEqual(response)
  await expect(other).rejects.toThrow('different body')
})

test('a cycle that expires while calls are compared with it, or wait for that, is a conflict', async () => {
  const store = await stored()
  const repeats = new Repeats(store)
  const calls = Array.from({ length: 5 }, () => repeats.replay(cycleId, bytes(body)))
  store.findCycle = () => undefined
  for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    expect([status, reason]).toEqual(['rejected', expired(cycleId)])
})
