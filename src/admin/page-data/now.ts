/**
 * `/api/now`: the state of the service in one object.
 */
import { minuteMs } from '../../base/index.js'
import {
  cycleBoundaryMs,
  formatInstant,
  type FailedVersion,
  type NextCycle,
  type Now,
} from '../../contract/index.js'
import { lastCycleOf, type ServerSources } from '../../server/index.js'
import { localUrl, shellWord, type Settings } from '../../settings/index.js'
import { failedVersions, type HealthChecks } from '../checks.js'
import type { Observer } from '../observer.js'
import { modelCommands } from './models.js'

/** A cycle may take a moment to arrive after it is due. */
const graceMs = minuteMs
/** A cycle that arrives further from the time of the next one is of a simulated or repeated past. */
const delayMsMax = 30 * minuteMs

export interface NowParts {
  readonly sources: ServerSources
  readonly observer: Observer
  readonly checks: HealthChecks
  readonly version: string
}

export async function now({ sources, observer, checks, version }: NowParts): Promise<Now> {
  const checkLines = await checks.run()
  const { freeBytes: free_bytes, fileBytes: size_bytes } = await sources.disk.read()
  const { cycles, models, clock, settings } = sources
  const nowMs = clock()
  const versions = models.versions
  const serving = versions.find(({ state }) => state === 'serving')
  const failed = failedVersions(models)
  const loading = versions.find(
    ({ role, state }) => role === 'active' && ['wanted', 'loading'].includes(state),
  )
  const isFirstAttempt = failed.every(({ version }) => version !== loading?.version)
  const last = lastCycleOf(cycles)
  const { texts, images } = cycles.embeddingBacklog
  const { rss, heapUsed } = process.memoryUsage()
  const { newestCycleMs } = cycles.pool
  return {
    time: new Date(nowMs).toISOString(),
    started_at: new Date(performance.timeOrigin).toISOString(),
    version,
    status: cycles.problems().length === 0 ? 'ok' : 'degraded',
    checks: checkLines,
    model:
      serving === undefined
        ? null
        : { version: serving.version, kind: serving.kind ?? 'none', provider: serving.provider ?? 'none' },
    loading_version: loading !== undefined && isFirstAttempt ? loading.version : null,
    shadows: versions.filter(({ state }) => state === 'shadow').map((shadow) => shadow.version),
    failed_versions: failed.map((one) => ({
      ...one,
      commands: commandsAfter(one, serving?.version, settings()),
    })),
    weights_version: cycles.weights.inForceAt(nowMs).version,
    pending: cycles.pendingCount,
    last_cycle: observer.points.last ?? null,
    first_cycle_command: last === undefined ? simulateCommand(settings()) : null,
    last_cycle_id: last?.cycleId ?? null,
    last_cycle_received_at: last?.receivedAt ?? null,
    next_cycle: last === undefined ? null : nextCycle(newestCycleMs, Date.parse(last.receivedAt)),
    first_scores: observer.firstScores(nowMs),
    queue: { cycles: cycles.queuedCount, cycles_max: settings().cyclesWaitingMax + 1, texts, images },
    storage: { size_bytes, free_bytes },
    memory: { resident_bytes: rss, heap_used_bytes: heapUsed },
  }
}

/** `newestCycleMs`: -Infinity for none. */
export function nextCycle(newestCycleMs: number, lastReceivedMs: number): NextCycle | null {
  if (!Number.isFinite(newestCycleMs)) return null
  const dueMs = newestCycleMs + cycleBoundaryMs
  const isLive = Math.abs(lastReceivedMs - dueMs) < delayMsMax
  return { due_at: formatInstant(dueMs), overdue_from: isLive ? formatInstant(dueMs + graceMs) : null }
}

/** What shows every check of the version; and for the active one, what keeps the version that serves. */
function commandsAfter(
  { version, role }: FailedVersion,
  serving: string | undefined,
  directories: Settings,
): string[] {
  const { verify } = modelCommands(directories, version, [])
  if (role === 'shadow' || serving === undefined) return [verify]
  return [verify, modelCommands(directories, serving, []).activate]
}

/** The data directory has the key that the service has generated. */
export function simulateCommand({
  dataDir,
  host,
  port,
  tlsCertFile,
}: Pick<Settings, 'dataDir' | 'host' | 'port' | 'tlsCertFile'>): string {
  const url = localUrl(host, port, tlsCertFile !== undefined)
  return `understudy simulate --hours 1 --data-dir ${shellWord(dataDir)} --url ${url}`
}
