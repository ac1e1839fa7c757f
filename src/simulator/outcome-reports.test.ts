/**
 * Outcome records: they are repeated whole when a new reading is due, and counts of a response that contradict what was
 * sent are violations.
 */
import { expect, test } from 'vitest'
import { hourMs } from '../base/index.js'
import type { Outcome, OutcomesResponse } from '../contract/index.js'
import { Api } from './api.js'
import { OutcomeReports } from './outcome-reports.js'
import { drawGrowth, type QueuedPost } from './posts.js'
import { Rng } from './rng.js'

const rng = new Rng('outcomes')
const savedAtMs = Date.UTC(2026, 0, 5)

function savedPost(postNo: number): QueuedPost {
  return {
    gallId: 'dcbest',
    postNo,
    growth: drawGrowth(rng, savedAtMs - hourMs),
    departure: { reason: 'saved', atMs: savedAtMs, tier: 'main' },
    mappedFromMs: 0,
    missingFromMs: Infinity,
  }
}

/** Reports on posts 1 and 2, and a service whose next response has the counts of `response` after `retryCount` retries. */
function openReports({ exclusive = true } = {}) {
  const state = { sent: [] as Outcome[], response: {} as OutcomesResponse, retryCount: 0 }
  const postOutcomes = (outcomes: readonly Outcome[]) => {
    state.sent = [...outcomes]
    return Promise.resolve({ ...state.response, retryCount: state.retryCount })
  }
  const api = Object.assign(new Api({ url: 'http://localhost', apiKey: 'key', retryTimeoutMs: 0 }), {
    postOutcomes,
  })
  const reports = new OutcomeReports(api, exclusive)
  reports.add([savedPost(1), savedPost(2)], null)
  const sendAt = async (hours: number, response: OutcomesResponse, retryCount = 0): Promise<Outcome[]> => {
    Object.assign(state, { sent: [], response, retryCount })
    await reports.send(savedAtMs + hours * hourMs, rng)
    return state.sent
  }
  return { reports, sendAt }
}

const bothCreated = { received: 2, created: 2, updated: 0 }
const bothUpdated = { received: 2, created: 0, updated: 2 }

test('a record is sent when it is new and at each age of a reading, with all readings up to then', async () => {
  const { reports, sendAt } = openReports()
  const readingAges = (sent: Outcome[]): number[][] =>
    sent.map(({ readings = [] }) => readings.map((reading) => reading.age_h))
  expect(readingAges(await sendAt(0, bothCreated))).toEqual([[], []])
  expect(await sendAt(0.9, bothUpdated)).toEqual([])
  expect(readingAges(await sendAt(1, bothUpdated))).toEqual([[1], [1]])
  expect(readingAges(await sendAt(30, bothUpdated))).toEqual([
    [1, 6, 24],
    [1, 6, 24],
  ])
  expect(readingAges(await sendAt(48, bothUpdated))).toEqual([
    [1, 6, 24, 48],
    [1, 6, 24, 48],
  ])
  expect(await sendAt(1000, bothUpdated)).toEqual([])
  expect(reports.sentCount).toBe(8)
})

test('a reading is of its age on the board, and stays the same when its record is sent again', async () => {
  const { sendAt } = openReports()
  await sendAt(0, bothCreated)
  const [{ readings: before = [] } = {}] = await sendAt(7, bothUpdated)
  const [{ readings: after = [] } = {}] = await sendAt(30, bothUpdated)
  expect(after.slice(0, 2)).toEqual(before)
  expect(after.map(({ observed_at }) => (Date.parse(observed_at) - savedAtMs) / hourMs)).toEqual([1, 6, 24])
})

test.each([
  ['more received than sent', 'received', { received: 3, created: 3, updated: 0 }],
  ['fewer received than sent', 'received', { received: 1, created: 1, updated: 0 }],
  ['more created and updated than received', 'created + updated', { received: 2, created: 2, updated: 1 }],
  ['fewer created and updated than received', 'created + updated', { received: 2, created: 1, updated: 0 }],
  ['new records as updated', 'updated', { received: 2, created: 1, updated: 1 }],
])('a response that counts %s is a violation', async (_what, name, response) => {
  const { sendAt } = openReports()
  await expect(sendAt(0, response)).rejects.toMatchObject({
    name: 'ContractViolation',
    path: `POST /v1/outcomes: ${name}`,
  })
})

test('a response that counts acknowledged records as new is a violation', async () => {
  const { sendAt } = openReports()
  await sendAt(0, bothCreated)
  await expect(sendAt(1, { received: 2, created: 1, updated: 1 })).rejects.toMatchObject({
    path: 'POST /v1/outcomes: updated',
  })
})

test('new records may count as updated after a retry, and on a service with other clients', async () => {
  const retried = openReports()
  expect(await retried.sendAt(0, bothUpdated, 1)).toHaveLength(2)
  const shared = openReports({ exclusive: false })
  expect(await shared.sendAt(0, bothUpdated)).toHaveLength(2)
})
