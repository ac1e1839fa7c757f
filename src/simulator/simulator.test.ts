/**
 * Whole simulations against a small service in memory: a correct service passes despite all client faults, and each
 * kind of contract violation is detected.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { SmallService, type Violation } from '../../test/helpers/small-service.js'
import { parseInstant, type CycleRequest } from '../contract/index.js'
import { simulate, type Outage, type SimulationOptions } from './index.js'

const services: SmallService[] = []

/** Busy hours, so that a short simulation has posts of all kinds at any time of day. */
const noon = { startAt: '2026-01-05T12:00:00+09:00' }

afterEach(() => {
  for (const service of services.splice(0)) service.close()
})

async function open(): Promise<{ service: SmallService; options: SimulationOptions }> {
  const service = new SmallService()
  services.push(service)
  const url = await service.listen()
  return { service, options: { url, apiKey: 'secret', hours: 3, postsPerDay: 2200 } }
}

test('a correct service passes despite all faults, and the report counts them', async () => {
  const { service, options } = await open()
  const cycleIndexes: number[] = []
  const report = await simulate({
    ...options,
    ...noon,
    exclusive: true,
    onProgress: (progress) => cycleIndexes.push(progress.cycleIndex),
  })
  expect(cycleIndexes).toEqual(Array.from({ length: 36 }, (_, index) => index + 1))
  // The 37th removes the posts.
  expect(service.responses.size).toBe(37)
  const { totals } = report
  expect(totals).toMatchObject({ cycles: 36, cyclesStoredBefore: 0, retries: 0 })
  for (const name of ['candidates', 'removals', 'imagesCreated', 'outcomes', 'faults'] as const) {
    expect(totals[name], name).toBeGreaterThan(0)
  }
  expect(totals.responsesReread).toBeGreaterThanOrEqual(36)
  expect(report).toMatchObject({ modelVersion: 'm1', weightsVersion: 'w1' })
  expect(report.top).toHaveLength(10)
  expect(report.top.map((post) => post.score)).toEqual(
    report.top.map((post) => post.score).sort((a, b) => b - a),
  )
  expect(report.top.every((post) => post.title !== '')).toBe(true)
})

test('a repeated simulation finds all its cycles stored, and every response unchanged', async () => {
  const { options } = await open()
  const first = await simulate({ ...options, ...noon })
  const second = await simulate({ ...options, ...noon })
  expect(second.totals).toMatchObject({ cycles: 36, cyclesStoredBefore: 36, imagesCreated: 0 })
  expect(second.top).toEqual(first.top)
})

test('after an interrupted simulation, one of the same options begins anew in free cycles', async () => {
  const { service, options } = await open()
  const stop = new AbortController()
  const cut = simulate({
    ...options,
    signal: stop.signal,
    onProgress: (progress) => progress.cycleIndex === 20 && stop.abort(new Error('cut')),
  })
  await expect(cut).rejects.toThrow('cut')
  const report = await simulate(options)
  expect(report.totals).toMatchObject({ cycles: 36, cyclesStoredBefore: 0 })
  expect(service.responses.size).toBe(20 + 37)
})

test('another simulation uses free cycles and treats posts of the first as those of another client', async () => {
  const { service, options } = await open()
  const first = await simulate({ ...options, keepPosts: true })
  const second = await simulate({ ...options, seed: 2 })
  expect(second.endAtMs).toBeLessThanOrEqual(first.startAtMs)
  expect(service.responses.size).toBe(73)
  expect(second.totals.waiting).toBeGreaterThan(first.totals.waiting)
})

test('cycle ids that another client uses are an error of kind occupied', async () => {
  const { options } = await open()
  await simulate({ ...options, ...noon })
  const other = simulate({ ...options, ...noon, seed: 2 })
  await expect(other).rejects.toMatchObject({ name: 'SimulationError', kind: 'occupied' })
  await expect(simulate({ ...options, exclusive: true })).rejects.toMatchObject({ kind: 'occupied' })
})

test('a simulation survives outages and reports their start and end', async () => {
  const { service, options } = await open()
  const reported: (Outage | null)[] = []
  const report = await simulate({
    ...options,
    ...noon,
    onProgress: (progress) => {
      if (progress.cycleIndex % 12 === 0 && progress.cycleIndex < 36) service.outage = 2
    },
    onOutage: (outage) => reported.push(outage),
  })
  expect(reported.at(-1)).toBeNull()
  const outages = reported.filter((outage) => outage !== null)
  expect(outages).toHaveLength(report.totals.retries)
  for (const { outageMs, reason } of outages)
    expect([outageMs >= 0, reason]).toEqual([true, 'other side closed'])
  expect(report.totals.retries).toBeGreaterThanOrEqual(2)
  expect(report.totals.cycles).toBe(36)
})

test('the last cycle removes the posts of the simulation, and none of them remain pending', async () => {
  const { service, options } = await open()
  const report = await simulate({ ...options, ...noon })
  expect(report.postsRemoved).toBeGreaterThan(0)
  expect(service.pendingCount).toBe(0)
  const { service: other, options: otherOptions } = await open()
  const kept = await simulate({ ...otherOptions, ...noon, keepPosts: true })
  expect(kept.postsRemoved).toBe(0)
  expect(other.pendingCount).toBe(report.postsRemoved)
})

describe('a server with data of other clients', () => {
  const cycle = (candidates: unknown[]): object => ({
    cycle_id: '20260105T1105',
    cycle_time: '2026-01-05T11:05:00+09:00',
    candidates,
    engagement: [],
    candidate_scores: [],
    removals: [],
  })
  const candidate = { gall_id: 'dcbest', post_no: 1, title: 't', created_at: null, extracted_at: null }

  test.each([
    ['posts', [candidate], /the service holds posts of gallery dcbest/],
    ['a cycle without posts', [], /the service holds cycle 20260105T1105/],
  ])('is refused when it holds %s, and nothing is sent to it', async (_what, candidates, message) => {
    const { service, options } = await open()
    service.cycle(cycle(candidates) as CycleRequest)
    const refused = simulate({ ...options, ...noon })
    await expect(refused).rejects.toMatchObject({
      kind: 'used',
      message: expect.stringMatching(message) as string,
    })
    expect(service.cyclesPosted).toBe(1)
  })

  test('is used with the option, and keeps the posts of the others', async () => {
    const { service, options } = await open()
    service.cycle(cycle([candidate]) as CycleRequest)
    const report = await simulate({ ...options, ...noon, intoUsedServer: true })
    expect(report.totals.cycles).toBe(36)
    expect(service.pendingCount).toBe(1)
  })
})

test('without faults each cycle is posted once', async () => {
  const { service, options } = await open()
  const report = await simulate({ ...options, ...noon, faults: false })
  expect(service.cyclesPosted).toBe(37)
  expect(report.totals).toMatchObject({ faults: 0, restarts: 0 })
})

test('a start is rounded down to a cycle boundary', async () => {
  const { service, options } = await open()
  const report = await simulate({ ...options, hours: 0.5, startAt: '2026-01-05T09:02:00+09:00' })
  expect(report.startAtMs).toBe(parseInstant('2026-01-05T09:00:00+09:00')?.ms)
  expect([...service.responses.keys()].slice(0, 2)).toEqual(['20260105T0905', '20260105T0910'])
})

test.each<[Violation, RegExp]>([
  ['replays differ', /SHA-256/],
  ['loses a cycle', /GET \/v1\/scores\/.*: status/],
  ['changes a stored response', /SHA-256/],
  ['loses a post', /^results/],
  ['keeps a removed post', /^results/],
  ['loses images', /^PUT of image/],
  ['refuses its own cycle', /POST \/v1\/cycles: status/],
  ['miscounts outcomes', /POST \/v1\/outcomes: received/],
  ['changes its model version', /^model_version$/],
  ['503 without Retry-After', /POST \/v1\/cycles: Retry-After/],
])('a service with a violation (%s) is detected', async (violation, path) => {
  const { service, options } = await open()
  service.violation = violation
  await expect(simulate({ ...options, ...noon })).rejects.toMatchObject({
    name: 'ContractViolation',
    path: expect.stringMatching(path) as string,
    cycleId: expect.stringMatching(/^\d{8}T\d{4}$/) as string,
  })
})

test('a rejected key is an error of kind unauthorized', async () => {
  const { options } = await open()
  await expect(simulate({ ...options, apiKey: 'wrong' })).rejects.toMatchObject({ kind: 'unauthorized' })
})

test.each<[string, Partial<SimulationOptions>]>([
  ['no hours', { hours: 0 }],
  ['an invalid URL', { url: 'localhost' }],
  ['an empty key', { apiKey: '' }],
  ['a key that is not valid in a header', { apiKey: '열쇠' }],
  ['hours that are not a multiple of five minutes', { hours: 0.1 }],
  ['more posts than fit into a call', { postsPerDay: 5000 }],
  ['a negative speed', { speed: -1 }],
  ['a start without an offset', { startAt: '2026-01-05T09:00:00' }],
  ['hours that are not a number', { hours: NaN }],
])('%s is refused before anything is sent', async (_what, over) => {
  const { options } = await open()
  await expect(simulate({ ...options, ...over })).rejects.toMatchObject({
    kind: 'options',
    option: Object.keys(over)[0],
  })
})
