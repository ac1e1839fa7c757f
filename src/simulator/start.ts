/**
 * Where in simulated time a simulation starts, given what the service already holds. All clients of a service share
 * the cycle ids, so a new simulation needs a period without cycles. One that was interrupted is not resumed: its posts are
 * those of another client.
 */
import { cycleBoundaryMs, cycleIdOf, parseInstant, type Health, type PostKey } from '../contract/index.js'
import type { Api } from './api.js'
import { SimulationError } from './errors.js'
import { isSimulated } from './entries.js'
import type { Settings } from './options.js'

/** How far back the search for a free period goes, in cycles: about two months. */
const searchedCycleCountMax = 20_000

/**
 * The time before the first cycle, milliseconds since 1970. Rejects with a `SimulationError` of kind `used` when the service holds posts or cycles that no simulation has sent,
 * unless the settings allow it.
 */
export async function findStart(api: Api, settings: Settings, health: Health): Promise<number> {
  const lastCycleId = health.last_cycle_id
  if (settings.exclusive && lastCycleId !== null)
    throw new SimulationError('occupied', `the service is not new: it holds cycle ${lastCycleId}`)
  const posts = lastCycleId === null ? [] : await lastPosts(api, lastCycleId)
  const foreign = posts.find((post) => !isSimulated(post))
  if (!settings.intoUsedServer && lastCycleId !== null && (foreign !== undefined || posts.length === 0)) {
    const held = foreign === undefined ? `cycle ${lastCycleId}` : `posts of gallery ${foreign.gall_id}`
    throw new SimulationError('used', `the service holds ${held}, which no simulation has sent`)
  }
  if (settings.startAtMs !== null) return settings.startAtMs

  const nowMs = parseInstant(health.time)?.ms ?? Date.now()
  const lastBoundaryMs = Math.floor(nowMs / cycleBoundaryMs) * cycleBoundaryMs
  const neededCount = settings.cycleCount + (settings.keepPosts ? 0 : 1)
  if (lastCycleId === null) return lastBoundaryMs - neededCount * cycleBoundaryMs
  return findFreePeriod(api, lastBoundaryMs, neededCount)
}

/**
 * The posts in the last response. A finished simulation has removed its posts with its last cycle, so
 * if that response has no posts, the cycle five minutes earlier is read.
 */
async function lastPosts(api: Api, lastCycleId: string): Promise<readonly PostKey[]> {
  const last = await api.storedResult(lastCycleId)
  if (last === null) return api.fail({ method: 'GET', path: `/v1/scores/${lastCycleId}` }, 'status', 200, 404)
  if (last.posts.length > 0) return last.posts
  const earlier = await api.storedResult(cycleIdOf(last.cycleAtMs - cycleBoundaryMs))
  return earlier?.posts ?? []
}

/** Start of the latest `count` consecutive cycles, up to `lastBoundaryMs`, of which the service holds none. */
async function findFreePeriod(api: Api, lastBoundaryMs: number, count: number): Promise<number> {
  let free = 0
  for (let step = 0; step < searchedCycleCountMax; step++) {
    const cycleAtMs = lastBoundaryMs - step * cycleBoundaryMs
    free = (await api.isStored(cycleIdOf(cycleAtMs))) ? 0 : free + 1
    if (free === count) return cycleAtMs - cycleBoundaryMs
  }
  throw new SimulationError('occupied', `the service has no ${count} free cycles in a row`)
}
