/**
 * Where in simulated time a rehearsal begins, given what the service already holds. Cycle ids are shared by all
 * clients of a service, so a new rehearsal needs a stretch of them that no one has used; a rehearsal that was
 * cut short is taken up from its first cycle, whose answers are then replays.
 */
import { cycleBoundaryMs, cycleIdOf, parseInstant, type Health } from '../contract/index.js'
import type { Api } from './api.js'
import { RehearsalError } from './breach.js'
import { startOf } from './galleries.js'
import type { Settings } from './options.js'

export interface Start {
  readonly atMs: number
  /** An earlier rehearsal of the same options was found and is gone through again. */
  readonly resumed: boolean
}

/** How far back a free stretch is looked for, in cycles: about two months. */
const searchedCycleCountMax = 20_000

/** `onSearch` is called before cycles are looked for on the service. */
export async function findStart(
  api: Api,
  settings: Settings,
  health: Health,
  onSearch: () => void = () => {},
): Promise<Start> {
  if (settings.expectAlone && health.last_cycle_id !== null) {
    throw new RehearsalError('occupied', `the service is not fresh: it holds cycle ${health.last_cycle_id}`)
  }
  if (settings.startAtMs !== null) return { atMs: settings.startAtMs, resumed: false }
  const nowMs = parseInstant(health.time)?.ms ?? Date.now()
  const lastBoundaryMs = Math.floor(nowMs / cycleBoundaryMs) * cycleBoundaryMs
  const atMs = lastBoundaryMs - settings.cycleCount * cycleBoundaryMs
  if (health.last_cycle_id === null) return { atMs, resumed: false }
  onSearch()
  if (settings.resume === 'auto') {
    const earlier = await findEarlier(api, settings, { lastCycleId: health.last_cycle_id, fromMs: atMs })
    if (earlier !== null) return { atMs: earlier, resumed: true }
  }
  return { atMs: await findFreeStretch(api, lastBoundaryMs, settings.cycleCount), resumed: false }
}

/**
 * The latest rehearsal of the same options that was cut short; without one, the latest whose time reaches past
 * `fromMs`. Only those are seen that still have posts in the last answer.
 */
async function findEarlier(
  api: Api,
  { identity, cycleCount }: Settings,
  { lastCycleId, fromMs }: { lastCycleId: string; fromMs: number },
): Promise<number | null> {
  const gallIds = await api.storedGalleries(lastCycleId)
  if (gallIds === null) {
    return api.fail({ method: 'GET', path: `/v1/scores/${lastCycleId}` }, 'status', 200, 404)
  }
  const starts = new Set([...gallIds].flatMap((gallId) => startOf(identity, gallId) ?? []))
  const latestFirst = [...starts].sort((a, b) => b - a)
  const endOf = (startAtMs: number): number => startAtMs + cycleCount * cycleBoundaryMs
  for (const startAtMs of latestFirst) {
    if (!(await api.isStored(cycleIdOf(endOf(startAtMs))))) return startAtMs
  }
  return latestFirst.find((startAtMs) => endOf(startAtMs) > fromMs) ?? null
}

/** The beginning of the latest `count` cycles up to `lastBoundaryMs` of which the service holds none. */
async function findFreeStretch(api: Api, lastBoundaryMs: number, count: number): Promise<number> {
  let free = 0
  for (let step = 0; step < searchedCycleCountMax; step++) {
    const cycleAtMs = lastBoundaryMs - step * cycleBoundaryMs
    free = (await api.isStored(cycleIdOf(cycleAtMs))) ? 0 : free + 1
    if (free === count) return cycleAtMs - cycleBoundaryMs
  }
  throw new RehearsalError('occupied', `the service leaves no ${count} free cycles in a row`)
}
