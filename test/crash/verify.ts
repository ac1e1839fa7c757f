/**
 * Is all that was promised still there? Once as a client sees it, once as it lies in the data directory.
 */
import { createHash } from 'node:crypto'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { CycleResponse, OutcomesResponse, WeightsState } from '../../src/contract/index.js'
import { openLmdbStore, type StoredRequest } from '../../src/store/index.js'
import { bytesOf } from '../helpers/bodies.js'
import type { Answer, Call, Client } from './client.js'
import { Breach, picturedGallery, type Load } from './load.js'

/** What `verifyOverHttp` asked, for the figures. */
export interface Verified {
  readonly cycles: number
  readonly images: number
}

/** Everything in the memory of `load`, asked of a server that runs. Throws a Breach. */
export async function verifyOverHttp(load: Load, client: Client): Promise<Verified> {
  const [newest] = [...load.cycles.keys()].slice(-1)
  const recent = new Set([...load.cycles.keys()].slice(-5))
  await all([...load.cycles], async ([cycleId, { request, body, response }]) => {
    expectBytes(await ask(client, { method: 'GET', path: `/v1/scores/${cycleId}` }), response, cycleId)
    if (!recent.has(cycleId)) return
    expectBytes(await ask(client, { method: 'POST', path: '/v1/cycles', body }), response, cycleId)
    if (cycleId !== newest) return
    const other = bytesOf({ ...request, removals: [...request.removals, ...otherRemovals] })
    expectStatus(await ask(client, { method: 'POST', path: '/v1/cycles', body: other }), 409, cycleId)
  })
  await all([...load.images], async ([path, body], index) => {
    expectStatus(await ask(client, { method: 'PUT', path, body }), 200, path)
    if (index % 10 !== 0) return
    const other = [...load.images.values()].find((image) => !image.equals(body))
    if (other !== undefined) expectStatus(await ask(client, { method: 'PUT', path, body: other }), 409, path)
  })
  await verifyRecords(load, client)
  return { cycles: load.cycles.size, images: load.images.size }
}

const otherRemovals = [
  { gall_id: 'elsewhere', post_no: 1, reason: 'hidden', decided_at: '2024-03-01T00:00:00Z' },
]

async function verifyRecords(load: Load, client: Client): Promise<void> {
  const outcomes = [...load.outcomes.values()].map(({ record }) => record)
  const answer = await ask(client, { method: 'POST', path: '/v1/outcomes', body: bytesOf({ outcomes }) })
  const { created, updated } = jsonOf(answer) as OutcomesResponse
  if (created !== 0 || updated !== outcomes.length)
    throw new Breach(`${created} of ${outcomes.length} outcomes were gone`)
  const state = jsonOf(await ask(client, { method: 'GET', path: '/v1/weights' })) as WeightsState
  // One that got no answer may have come after the last that did.
  const versions = load.weights.slice(-1)
  for (const version of versions)
    if (state.current.version !== version && state.previous?.version !== version)
      throw new Breach(`weights ${version} are gone: ${JSON.stringify(state)}`)
}

/** The same of the data directory, which no server holds; and the store takes a write. Throws a Breach. */
export async function verifyOnDisk(load: Load, dataDir: string): Promise<void> {
  const store = await openLmdbStore({ dataDir })
  try {
    const stored = [...store.tail(1)]
    const ids = [...load.cycles.keys()]
    if (stored.map((cycle) => cycle.cycleId).join() !== ids.join())
      throw new Breach(`the disk holds ${stored.length} cycles, ${ids.length} were answered`)
    for (const { cycleId, position } of stored) {
      const { body, response } = load.cycles.get(cycleId) ?? { body: null, response: null }
      const request = store.readRequest(position)
      if (body === null || request === undefined || !body.equals(plain(request)))
        throw new Breach(`the request of ${cycleId} is not what was sent`)
      if (!response.equals(store.readResponse(cycleId) ?? new Uint8Array()))
        throw new Breach(`the response of ${cycleId} is not what was answered`)
    }
    for (const [path, body] of load.images) {
      const [postNo, position] = path.split('/').slice(-2).map(Number) as [number, number]
      const image = store.findImage({ gallId: picturedGallery, postNo, position })
      if (
        !createHash('sha256')
          .update(body)
          .digest()
          .equals(image?.sha256 ?? new Uint8Array())
      )
        throw new Breach(`${path} is not what was sent`)
    }
    for (const [placementId, { record }] of load.outcomes)
      if (String(Buffer.from(store.readOutcome(placementId) ?? [])) !== JSON.stringify(record))
        throw new Breach(`${placementId} is not what was sent`)
    const versions = store.listWeights().map((entry) => entry.version)
    if (versions.join() !== ['initial', ...load.weights].join())
      throw new Breach(`weights ${versions.join()} and not ${load.weights.join()}`)
  } finally {
    await store.close()
  }
}

/**
 * The same cycles on a server that was never killed give the same predictions: readings and snapshots that the pool
 * keeps are the same too. Posts with images are left out, since theirs depend on when an image came.
 */
export async function verifyAgainstUnkilled(load: Load, client: Client): Promise<number> {
  for (const [cycleId, { body, response }] of load.cycles) {
    const answer = await ask(client, { method: 'POST', path: '/v1/cycles', body })
    if (predictions(answer.body) !== predictions(response))
      throw new Breach(`${cycleId} has other predictions without the crashes`)
  }
  return load.cycles.size
}

function predictions(body: Buffer): string {
  const { results } = JSON.parse(body.toString()) as CycleResponse
  return JSON.stringify(results.filter((row) => row.gall_id !== picturedGallery))
}

function plain({ encoding, bytes }: StoredRequest): Uint8Array {
  if (encoding === 'identity') return bytes
  return encoding === 'gzip' ? gunzipSync(bytes) : zstdDecompressSync(bytes)
}

/** Eight at a time. */
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

async function ask(client: Client, call: Call): Promise<Answer> {
  const answer = await client.send(call)
  if (answer === null) throw new Breach(`${call.method} ${call.path} got no answer`)
  return answer
}

function jsonOf(answer: Answer): unknown {
  expectStatus(answer, 200, 'a request')
  return JSON.parse(answer.body.toString())
}

function expectStatus({ status, body }: Answer, wanted: number, what: string): void {
  if (status !== wanted) throw new Breach(`${what} got ${status}, not ${wanted}: ${body.toString()}`)
}

function expectBytes(answer: Answer, wanted: Buffer, what: string): void {
  expectStatus(answer, 200, what)
  if (!answer.body.equals(wanted)) throw new Breach(`${what} has another answer than before`)
}
