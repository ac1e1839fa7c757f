/**
 * `/api/now`: the state of the service in one object, and the points of its charts.
 */
import { cycleBoundaryMs, firstScoreTarget } from '../../contract/index.js'
import type { Settings } from '../../settings/index.js'
import type { Check, HealthChecks } from '../checks.js'
import { failedVersions, type FailedVersion } from '../failed-versions.js'
import { modelCommands } from '../model-commands.js'
import type { CyclePoint, Observer } from '../observer.js'
import { lastCycleOf, type AdminSources } from '../sources.js'

export interface Now {
  readonly time: string
  readonly started_at: string
  readonly version: string
  readonly status: 'ok' | 'degraded'
  readonly checks: readonly Check[]
  readonly model: { readonly version: string; readonly kind: string; readonly provider: string } | null
  readonly shadows: readonly string[]
  readonly failed_versions: readonly (FailedVersion & { readonly commands: readonly string[] })[]
  readonly weights_version: string
  readonly pending: number
  /** Null before the first cycle after the start. */
  readonly last_cycle: CyclePoint | null
  readonly last_cycle_id: string | null
  readonly last_cycle_received_at: string | null
  /** When the cycle after the newest one is due. */
  readonly next_cycle_due_at: string | null
  readonly first_scores: ReturnType<Observer['firstScores']> & { readonly target: number }
  readonly queue: {
    readonly cycles: number
    readonly cycles_max: number
    readonly texts: number
    readonly images: number
  }
  readonly storage: { readonly size_bytes: number | null; readonly free_bytes: number | null }
  readonly memory: { readonly resident_bytes: number; readonly heap_used_bytes: number }
}

export interface NowParts {
  readonly sources: AdminSources
  readonly observer: Observer
  readonly checks: HealthChecks
  readonly version: string
}

export async function now({ sources, observer, checks, version }: NowParts): Promise<Now> {
  const found = await checks.run()
  const { freeBytes: free_bytes, fileBytes: size_bytes } = await checks.disk.read()
  const { cycles, models, clock, settings } = sources
  const nowMs = clock()
  const versions = models.versions
  const serving = versions.find(({ state }) => state === 'serving')
  const last = lastCycleOf(sources)
  const { texts, images } = cycles.embeddingBacklog
  const { rss, heapUsed } = process.memoryUsage()
  const { newestCycleMs } = cycles.pool
  return {
    time: new Date(nowMs).toISOString(),
    started_at: new Date(performance.timeOrigin).toISOString(),
    version,
    status: cycles.problems().length === 0 ? 'ok' : 'degraded',
    checks: found,
    model:
      serving === undefined
        ? null
        : { version: serving.version, kind: serving.kind ?? 'none', provider: serving.provider ?? 'none' },
    shadows: versions.filter(({ state }) => state === 'shadow').map((shadow) => shadow.version),
    failed_versions: failedVersions(models).map((failed) => ({
      ...failed,
      commands: commandsAfter(failed, serving?.version, settings()),
    })),
    weights_version: cycles.weights.versionAt(nowMs),
    pending: cycles.pendingCount,
    last_cycle: observer.points.last ?? null,
    last_cycle_id: last?.cycleId ?? null,
    last_cycle_received_at: last?.receivedAt ?? null,
    next_cycle_due_at: Number.isFinite(newestCycleMs)
      ? new Date(newestCycleMs + cycleBoundaryMs).toISOString()
      : null,
    first_scores: { ...observer.firstScores(nowMs), target: firstScoreTarget },
    queue: { cycles: cycles.queuedCount, cycles_max: settings().cyclesWaitingMax + 1, texts, images },
    storage: { size_bytes, free_bytes },
    memory: { resident_bytes: rss, heap_used_bytes: heapUsed },
  }
}

/** What shows every check of the version; and for the active one, what keeps the version that serves. */
function commandsAfter(
  { version, role }: FailedVersion,
  serving: string | undefined,
  directories: Settings,
): string[] {
  const { verify } = modelCommands(directories, version)
  if (role === 'shadow' || serving === undefined) return [verify]
  return [verify, modelCommands(directories, serving).activate]
}

/** The cycles since the start, at most a day of them: the points of the charts, oldest first. */
export function series({ points }: Observer): { readonly points: readonly CyclePoint[] } {
  return { points: points.items }
}
