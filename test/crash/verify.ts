/**
 * Checks that everything acknowledged is still stored: over HTTP, and in the data directory.
 */
import { createHash } from 'node:crypto'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { CycleResponse, OutcomesResponse, WeightsState } from '../../src/contract/index.js'
import { openLmdbStore, type StoredRequest } from '../../src/store/index.js'
import { bytesOf } from '../helpers/bodies.js'
import type { Reply, Call, Sender } from '../harness/http.js'
import { Violation, imageGallery, type Load } from './load.js'

/** Number of records that `verifyOverHttp` has checked. */
export interface Verified {
  readonly cycles: number
  readonly images: number
}

/** Requests everything that `load` has recorded from a running server. Throws a Violation. */
export async function verifyOverHttp(load: Load, client: Sender): Promise<Verified> {
  const [newest] = [...load.cycles.keys()].slice(-1)
  const recent = new Set([...load.cycles.keys()].slice(-5))
  await all([...load.cycles], async ([cycleId, { request, body, response }]) => {
    expectBytes(await send(client, { method: 'GET', path: `/v1/scores/${cycleId}` }), response, cycleId)
    if (!recent.has(cycleId)) return
    expectBytes(await send(client, { method: 'POST', path: '/v1/cycles', body }), response, cycleId)
    if (cycleId !== newest) return
    const other = bytesOf({ ...request, removals: [...request.removals, ...otherRemovals] })
    expectStatus(await send(client, { method: 'POST', path: '/v1/cycles', body: other }), 409, cycleId)
  })
  await all([...load.images], async ([path, body], index) => {
    expectStatus(await send(client, { method: 'PUT', path, body }), 200, path)
    if (index % 10 !== 0) return
    const other = [...load.images.values()].find((image) => !image.equals(body))
    if (other !== undefined) expectStatus(await send(client, { method: 'PUT', path, body: other }), 409, path)
  })
  await verifyRecords(load, client)
  return { cycles: load.cycles.size, images: load.images.size }
}

const otherRemovals = [
  { gall_id: 'elsewhere', post_no: 1, reason: 'hidden', decided_at: '2024-03-01T00:00:00Z' },
]

async function verifyRecords(load: Load, client: Sender): Promise<void> {
  const outcomes = [...load.outcomes.values()].map(({ record }) => record)
  const reply = await send(client, { method: 'POST', path: '/v1/outcomes', body: bytesOf({ outcomes }) })
  const { created, updated } = jsonOf(reply) as OutcomesResponse
  if (created !== 0 || updated !== outcomes.length)
    throw new Violation(`${created} of ${outcomes.length} outcomes were lost`)
  const state = jsonOf(await send(client, { method: 'GET', path: '/v1/weights' })) as WeightsState
  // Weights without a response may be stored after the last acknowledged ones.
  const versions = load.weights.slice(-1)
  for (const version of versions)
    if (state.current.version !== version && state.previous?.version !== version)
      throw new Violation(`weights ${version} were lost: ${JSON.stringify(state)}`)
}

/** Checks the same in a data directory without a server, and that the store accepts a write. Throws a Violation. */
export async function verifyOnDisk(load: Load, dataDir: string): Promise<void> {
  const store = await openLmdbStore({ dataDir })
  try {
    const stored = [...store.tail(1)]
    const ids = [...load.cycles.keys()]
    if (stored.map((cycle) => cycle.cycleId).join() !== ids.join())
      throw new Violation(`the store has ${stored.length} cycles, ${ids.length} were acknowledged`)
    for (const { cycleId, position } of stored) {
      const { body, response } = load.cycles.get(cycleId) ?? { body: null, response: null }
      const request = store.readRequest(position)
      if (body === null || request === undefined || !body.equals(plain(request)))
        throw new Violation(`the request of ${cycleId} differs from what was sent`)
      if (!response.equals(store.readResponse(cycleId) ?? new Uint8Array()))
        throw new Violation(`the stored response of ${cycleId} differs from the one sent`)
    }
    for (const [path, body] of load.images) {
      const [postNo, position] = path.split('/').slice(-2).map(Number) as [number, number]
      const image = store.findImage({ gallId: imageGallery, postNo, position })
      if (
        !createHash('sha256')
          .update(body)
          .digest()
          .equals(image?.sha256 ?? new Uint8Array())
      )
        throw new Violation(`${path} differs from what was sent`)
    }
    for (const [placementId, { record }] of load.outcomes)
      if (String(Buffer.from(store.readOutcome(placementId) ?? [])) !== JSON.stringify(record))
        throw new Violation(`${placementId} differs from what was sent`)
    const versions = Array.from(store.listWeights(), (entry) => entry.version)
    if (versions.join() !== ['initial', ...load.weights].join())
      throw new Violation(`weights ${versions.join()} and not ${load.weights.join()}`)
  } finally {
    await store.close()
  }
}

/**
 * Sends the same cycles to a server that is never killed: the predictions must be equal, and so must the readings and
 * snapshots in the pool. Posts with images are excluded, since their predictions depend on when an image arrived.
 */
export async function verifyAgainstUnkilled(load: Load, client: Sender): Promise<number> {
  for (const [cycleId, { body, response }] of load.cycles) {
    const reply = await send(client, { method: 'POST', path: '/v1/cycles', body })
    if (predictions(reply.body) !== predictions(response))
      throw new Violation(`${cycleId} has different predictions without the crashes`)
  }
  return load.cycles.size
}

function predictions(body: Buffer): string {
  const { results } = JSON.parse(body.toString()) as CycleResponse
  return JSON.stringify(results.filter((row) => row.gall_id !== imageGallery))
}

function plain({ encoding, bytes }: StoredRequest): Uint8Array {
  if (encoding === 'identity') return bytes
  return encoding === 'gzip' ? gunzipSync(bytes) : zstdDecompressSync(bytes)
}

/** Runs `work` for eight items at a time. */
async function all<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  let next = 0
  const run = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++
      await work(items[index] as T, index)
    }
  }
  await Promise.all(Array.from({ length: 8 }, run))
}

async function send(client: Sender, call: Call): Promise<Reply> {
  const reply = await client.send(call)
  if (reply === null) throw new Violation(`${call.method} ${call.path} got no response`)
  return reply
}

function jsonOf(reply: Reply): unknown {
  expectStatus(reply, 200, 'a request')
  return JSON.parse(reply.body.toString())
}

function expectStatus({ status, body }: Reply, expected: number, what: string): void {
  if (status !== expected) throw new Violation(`${what} got ${status}, not ${expected}: ${body.toString()}`)
}

function expectBytes(reply: Reply, expected: Buffer, what: string): void {
  expectStatus(reply, 200, what)
  if (!reply.body.equals(expected)) throw new Violation(`${what} has a different response than before`)
}
