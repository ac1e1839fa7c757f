/**
 * Stored cycles planned again from their requests, which are decompressed ahead: at startup the cycles since the saved pool
 * of the pool, and for the history any others.
 */
import { decodeCycle } from '../../codec/index.js'
import type { CycleColumns } from '../../contract/index.js'
import type { CyclePlan, Pool } from '../../pool/index.js'
import { StoreError, type Position, type Store } from '../../store/index.js'
import { unpackRequest } from '../intake/index.js'

export interface PlannedAgain {
  /** The body of the request. */
  readonly json: Uint8Array
  readonly cycle: CycleColumns
  readonly plan: CyclePlan
}

/**
 * Plans the cycles at `positions`, which rise, on top of `pool`. A plan is published when the next one is requested.
 * Throws when the store does not have a request.
 */
export async function* planStored(
  pool: Pool,
  store: Store,
  positions: Iterable<Position>,
): AsyncGenerator<PlannedAgain> {
  for await (const { position, json } of readBodies(store, positions)) {
    const cycle = decodeCycle(json)
    const plan = pool.plan(cycle, position)
    yield { json, cycle, plan }
    pool.publish(plan)
  }
}

/** The body of the request at a position: JSON. Throws when it is missing or incomplete. */
export async function readBody(store: Store, position: Position): Promise<Uint8Array> {
  const request = store.readRequest(position)
  if (request === undefined)
    throw new StoreError('unusable', `the store has no request at position ${position}`)
  const json = await unpackRequest(request)
  if (json.length !== request.bodyBytes)
    throw new Error(`the request decompresses to ${json.length} bytes, expected ${request.bodyBytes}`)
  return json
}

/** Bodies that are decompressed ahead, in the thread pool. */
const bodiesAhead = 8

async function* readBodies(
  store: Store,
  positions: Iterable<Position>,
): AsyncGenerator<{ readonly position: Position; readonly json: Uint8Array }> {
  const ahead: { readonly position: Position; readonly json: Promise<Uint8Array> }[] = []
  for (const position of positions) {
    const json = readBody(store, position)
    // Until it is awaited, a failure is not unhandled.
    json.catch(() => undefined)
    ahead.push({ position, json })
    const oldest = ahead.length > bodiesAhead ? ahead.shift() : undefined
    if (oldest !== undefined) yield { position: oldest.position, json: await oldest.json }
  }
  for (const { position, json } of ahead) yield { position, json: await json }
}
