/**
 * `/api/models`: every package of the models directory and every version in use, with state, failure, provenance, cost, and
 * the commands that change them; the checks of a version; its comparison with the serving one. The admin listener itself
 * changes nothing.
 */
import { messageOf } from '../../base/index.js'
import { ServiceError, type CyclePoint, type ModelFacts, type Models } from '../../contract/index.js'
import { scoredBefore } from '../../cycle/index.js'
import type { HistoryRequest } from '../../history/index.js'
import { featureNames, headsOf, listModels, readManifest, residentBytes } from '../../model/index.js'
import type { ServerSources } from '../../server/index.js'
import { shellWord, type Settings } from '../../settings/index.js'
import { failedVersions } from '../checks.js'
import type { Observer } from '../observer.js'

/** A day. */
const comparedCycleCount = 288

interface ModelParts {
  readonly sources: ServerSources
  readonly observer: Observer
}

export async function models({ sources, observer }: ModelParts): Promise<Models> {
  const { models: lifecycle, cycles, settings } = sources
  const directories = settings()
  const { modelsDir } = directories
  const { packages, problem } = await packagesIn(modelsDir)
  const inUse = lifecycle.versions
  const shadows = inUse.filter(({ role }) => role === 'shadow').map(({ version }) => version)
  const failures = failedVersions(lifecycle)
  const serving = servingVersion(sources)
  const previous = serving === null ? null : await previousVersion(sources, serving).catch(() => null)
  const versions = [...new Set([...inUse.map(({ version }) => version), ...packages])]
  return {
    models_dir: modelsDir,
    problem,
    shadow_cycles_skipped: cycles.models.shadows.skippedCount,
    serving,
    fallback: fallbackOf(sources),
    previous: previous !== null && packages.includes(previous) ? previous : null,
    models: await Promise.all(
      versions.map(async (version) => {
        const uses = inUse.filter((one) => one.version === version)
        return {
          version,
          uses: uses.map(({ role, state, provider }) => ({ role, state, provider })),
          changed: uses.find(({ changed }) => changed !== null)?.changed ?? null,
          failure: failures.find((one) => one.version === version) ?? null,
          ...(await manifestFacts(modelsDir, version)),
          memory_bytes: await memoryOf(uses.flatMap(({ processes }) => processes)),
          predict_ms: predictMs(observer.points.items, version),
          commands: modelCommands(directories, version, shadows),
        }
      }),
    ),
  }
}

/**
 * Command lines for the operator, which the page shows to be copied. The shell of the operator has different settings from the service: each command names the directories. Both are absolute.
 * `shadows`: the versions that shadow now. `models shadow` replaces them all, so the command for a further one names them too,
 * and the command for one of them names the others.
 */
export function modelCommands(
  { dataDir, modelsDir }: Pick<Settings, 'dataDir' | 'modelsDir'>,
  version: string,
  shadows: readonly string[],
): ModelFacts['commands'] {
  const models = `--models-dir ${shellWord(modelsDir)}`
  const others = shadows.filter((shadow) => shadow !== version)
  const wanted = shadows.includes(version) ? others : [...others, version]
  const both = `${models} --data-dir ${shellWord(dataDir)}`
  return {
    verify: `understudy models verify ${version} ${models}`,
    inspect: `understudy models inspect ${version} ${models}`,
    shadow: `understudy models shadow ${wanted.join(' ') || '--none'} ${both}`,
    activate: `understudy models activate ${version} ${both}`,
  }
}

async function packagesIn(
  modelsDir: string,
): Promise<{ readonly packages: readonly string[]; readonly problem: string | null }> {
  try {
    return { packages: await listModels(modelsDir), problem: null }
  } catch (error) {
    return { packages: [], problem: messageOf(error) }
  }
}

/** `/api/models/{version}/checks`. Throws `not_found` if the version is not a package. */
export async function verifyRequest(sources: ServerSources, version: string): Promise<HistoryRequest> {
  await requirePackage(sources, version)
  return { kind: 'verify', version }
}

/** `/api/models/{version}/comparison`: how much it agrees with the serving version, and how good it is. */
export async function compareRequest(sources: ServerSources, version: string): Promise<HistoryRequest> {
  await requirePackage(sources, version)
  const serving = servingVersion(sources)
  if (serving === null || serving === version) throw new ServiceError({ code: 'no_other_version' })
  return { kind: 'compare', versions: [serving, version], cycleCount: comparedCycleCount }
}

async function requirePackage({ settings }: ServerSources, version: string): Promise<void> {
  const { packages, problem } = await packagesIn(settings().modelsDir)
  if (problem !== null) throw new ServiceError({ code: 'history_failed', problem })
  if (!packages.includes(version)) throw new ServiceError({ code: 'no_package' })
}

function servingVersion({ models }: ServerSources): string | null {
  return models.versions.find(({ state }) => state === 'serving')?.version ?? null
}

function fallbackOf({ models }: ServerSources): Models['fallback'] {
  const { fallback } = models
  if (fallback === null) return null
  const { version, failed, cause, reason, atMs } = fallback
  return { version, failed, cause, problem: reason, at: new Date(atMs).toISOString() }
}

interface Previous {
  readonly serving: string
  readonly previous: string | null
  /** Position of the last cycle that was read for it. */
  readonly position: number
}

const lastPrevious = new WeakMap<ServerSources, Previous>()

/** Another version may have served, and this one again, since the last request: the cycles since then are read. */
async function previousVersion(sources: ServerSources, serving: string): Promise<string | null> {
  const { store } = sources
  const position = store.lastCycle()?.position ?? 0
  const last = lastPrevious.get(sources)
  const known = last?.serving === serving ? last : { previous: null, position: 0 }
  const previous = (await scoredBefore(store, new Set([serving]), known.position)) ?? known.previous
  lastPrevious.set(sources, { serving, previous, position })
  return previous
}

type ManifestFacts = Pick<
  ModelFacts,
  'problem' | 'kind' | 'provenance' | 'note' | 'heads' | 'features' | 'reads'
>

async function manifestFacts(modelsDir: string, version: string): Promise<ManifestFacts> {
  try {
    const { manifest } = await readManifest(modelsDir, version)
    const { kind, provenance = null, note = null, text, image } = manifest
    return {
      problem: null,
      kind,
      provenance: provenance && { ...provenance },
      note,
      heads: headsOf(manifest),
      features: featureNames(manifest),
      reads: [...(text === undefined ? [] : ['text']), ...(image === undefined ? [] : ['images'])],
    }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

async function memoryOf(processes: readonly { readonly pid: number }[]): Promise<number | null> {
  const sizes = await Promise.all(processes.map(({ pid }) => residentBytes(pid, 'VmRSS')))
  const known = sizes.filter((bytes) => bytes !== null)
  return known.length === 0 ? null : known.reduce((sum, bytes) => sum + bytes, 0)
}

function predictMs(points: readonly CyclePoint[], version: string): ModelFacts['predict_ms'] {
  const times = points
    .filter((point) => point.model_version === version)
    .map(({ stages_ms }) => (stages_ms['features'] ?? 0) + (stages_ms['infer'] ?? 0))
    .sort((a, b) => a - b)
  if (times.length === 0) return null
  const at = (share: number): number => times[Math.round(share * (times.length - 1))]!
  return { cycles: times.length, p50: at(0.5), p99: at(0.99) }
}
