/** The spool: what it keeps, in which order it sends, and when it removes a cycle. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cycleBody } from '../../test/helpers/bodies.js'
import { FaultyServer, type Step } from '../../test/helpers/faulty-server.js'
import { bodyExamples, type CycleRequest, type CycleResponse } from '../contract/index.js'
import { Client, type ApiError } from './index.js'
import { Spool, type SpoolOptions } from './spool.js'

const [first, second, third] = [0, 1, 2].map((index) => cycleBody(index)) as [
  CycleRequest,
  CycleRequest,
  CycleRequest,
]

let directory: string
let responses: string[]
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'understudy-spool-')), 'spool')
  responses = []
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const responseTo = ({ cycle_id }: CycleRequest): Step => ({
  body: { ...bodyExamples.CycleResponse, cycle_id },
})
const refusal = (status: number, code = 'c'): Step => ({ status, body: { error: { code, message: 'm' } } })

async function open(server: FaultyServer, more: Partial<SpoolOptions> = {}): Promise<Spool> {
  const client = new Client({ url: await server.listen(), apiKey: 'key', retryTimeoutMs: 0 })
  const onResponse = ({ cycle_id }: CycleResponse): void => void responses.push(cycle_id)
  return Spool.open({ client, directory, onResponse, ...more })
}

test('a cycle is on disk before its first attempt and until its response has been handled', async () => {
  let onDisk: string[] = []
  const server = new FaultyServer(responseTo(first))
  const spool = await open(server, { onResponse: () => void (onDisk = readdirSync(directory)) })
  await spool.add(first)
  expect([server.attemptCount, await spool.cycleIds()]).toEqual([0, [first.cycle_id]])
  expect(readFileSync(join(directory, `${first.cycle_id}.json`), 'utf8')).toBe(JSON.stringify(first))
  await spool.deliver()
  expect(onDisk).toEqual([`${first.cycle_id}.json`])
  expect(readdirSync(directory)).toEqual([])
})

test('a new spool sends the cycles that an earlier one left in the directory, the oldest first, with the same bodies', async () => {
  const lost = new FaultyServer('after')
  const spool = await open(lost)
  for (const cycle of [second, first]) await spool.add(cycle)
  await expect(spool.deliver()).rejects.toMatchObject({ name: 'ConnectionError' })
  expect(lost.attemptCount).toBe(1)

  const server = new FaultyServer(responseTo(first), responseTo(second), responseTo(third))
  const next = await open(server)
  await next.add(third)
  await next.deliver()
  expect(responses).toEqual([first, second, third].map((cycle) => cycle.cycle_id))
  expect(server.received[0]?.body).toEqual(lost.received[0]?.body)
  expect(server.received.map(({ body }) => body.toString())).toEqual(
    [first, second, third].map((cycle) => JSON.stringify(cycle)),
  )
})

test.each([400, 409, 413, 422])(
  'after %s a cycle is renamed to `.rejected`, and the next one is sent',
  async (status) => {
    const rejected: [string, ApiError][] = []
    const server = new FaultyServer(refusal(status), responseTo(second))
    const spool = await open(server, { onRejected: (...args) => void rejected.push(args) })
    for (const cycle of [first, second]) await spool.add(cycle)
    await spool.deliver()
    expect(rejected).toMatchObject([[first.cycle_id, { status }]])
    expect([responses, await spool.cycleIds()]).toEqual([[second.cycle_id], []])
    expect(readdirSync(directory)).toEqual([`${first.cycle_id}.json.rejected`])
  },
)

test.each<[string, Step]>([
  ['401', refusal(401)],
  ['415', refusal(415)],
  ['503', refusal(503)],
  ['an error page', { status: 404, headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
  ['a page with status 200', { headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
  ['the response to another cycle', responseTo(third)],
  ['no response', 'after'],
])('after %s all cycles stay, and no other is sent', async (_what, step) => {
  const server = new FaultyServer(step)
  const spool = await open(server)
  for (const cycle of [first, second]) await spool.add(cycle)
  await expect(spool.deliver()).rejects.toThrow()
  expect([server.attemptCount, responses, (await spool.cycleIds()).length]).toEqual([1, [], 2])
})

test('after a 500, which may concern one cycle only, the later ones are sent', async () => {
  const spool = await open(new FaultyServer(refusal(500), responseTo(second)))
  for (const cycle of [first, second]) await spool.add(cycle)
  await expect(spool.deliver()).rejects.toMatchObject({ status: 500 })
  expect([responses, await spool.cycleIds()]).toEqual([[second.cycle_id], [first.cycle_id]])
})

test('if the response cannot be stored, the cycle stays', async () => {
  const onResponse = (): Promise<void> => Promise.reject(new Error('disk full'))
  const spool = await open(new FaultyServer(responseTo(first)), { onResponse })
  await spool.add(first)
  await expect(spool.deliver()).rejects.toThrow('disk full')
  expect(await spool.cycleIds()).toEqual([first.cycle_id])
})

test('a cycle may be added again, and not with another body', async () => {
  const spool = await open(new FaultyServer(responseTo(first)))
  await spool.add(first)
  await spool.add(structuredClone(first))
  const other = { ...first, removals: [{ gall_id: 'g' }] } as CycleRequest
  await expect(spool.add(other)).rejects.toThrow(`the spool has cycle ${first.cycle_id} with another body`)
})

test('a cycle_id that is not an id cannot leave the directory', async () => {
  const spool = await open(new FaultyServer(responseTo(first)))
  await expect(spool.add({ ...first, cycle_id: '../x' })).rejects.toThrow(TypeError)
})

test('interrupted writes are removed when the spool is opened, and other files are left alone', async () => {
  await open(new FaultyServer(responseTo(first)))
  for (const name of [`${first.cycle_id}.json.partial`, `${second.cycle_id}.json.rejected`, 'notes.txt'])
    writeFileSync(join(directory, name), '{"half')
  const spool = await open(new FaultyServer(responseTo(first)))
  expect(readdirSync(directory)).toEqual([`${second.cycle_id}.json.rejected`, 'notes.txt'])
  expect(await spool.cycleIds()).toEqual([])
})

test('concurrent deliveries send each cycle once', async () => {
  const server = new FaultyServer(responseTo(first), responseTo(second))
  const spool = await open(server)
  await spool.add(first)
  const early = spool.deliver()
  await spool.add(second)
  await Promise.all([early, spool.deliver(), spool.deliver()])
  expect([server.attemptCount, responses]).toEqual([2, [first.cycle_id, second.cycle_id]])
})
