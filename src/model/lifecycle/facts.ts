/**
 * What the state of the machine means for those who ask for a model.
 */
import type { FallbackFacts, ModelAbsence, VersionFacts } from './lifecycle-parts.js'
import { isPartial } from '../sessions/placement.js'
import { fallbackInEffect, servingEntry, type Fallback, type Lifecycle } from './machine.js'
import type { LifecycleStatus, VersionFailure } from './status-file.js'

/** Why no version scores, if none does; null when none is named. */
export function absenceOf(
  machine: Lifecycle,
  failures: ReadonlyMap<string, VersionFailure>,
): ModelAbsence | null {
  const serving = servingEntry(machine)
  if (serving !== undefined) {
    const { version } = serving
    return { version, reason: `${version}: the process of the model restarts`, isRestarting: true }
  }
  const { active } = machine
  if (active === null) return null
  const problem = failures.get(active)?.problem
  const reason =
    problem === undefined ? `${active} is not loaded yet` : `${active} does not serve: ${problem}`
  return { version: active, reason, isRestarting: false }
}

/** null while no version serves in the place of another one. */
export function fallbackFacts(
  machine: Lifecycle,
  failures: ReadonlyMap<string, VersionFailure>,
): FallbackFacts | null {
  const fallback = fallbackInEffect(machine)
  if (fallback === null) return null
  const { version, failed, cause } = fallback
  const { problem: reason = 'it failed its cycles', atMs = 0 } = failures.get(failed) ?? {}
  return { version, failed, cause, reason, atMs }
}

/** Whether the failure of a version is over: it serves or is a shadow by now, or nothing names it any more. */
function isOver(version: string, versions: readonly VersionFacts[], fallback: Fallback | null): boolean {
  if (fallback?.failed === version) return false
  const states = versions.filter((one) => one.version === version).map(({ state }) => state)
  return states.every((state) => state === 'serving' || state === 'shadow')
}

/** What other processes are shown. */
export function statusOf(
  versions: readonly VersionFacts[],
  fallback: Fallback | null,
  failures: ReadonlyMap<string, VersionFailure>,
): LifecycleStatus {
  return {
    versions: versions.map(({ version, role, state, changed, placements }) => {
      const partial = placements.filter(isPartial)
      return {
        version,
        role,
        state,
        ...(changed !== null && { changed }),
        ...(partial.length > 0 && { placements: partial }),
      }
    }),
    ...(fallback && { fallback }),
    failures: [...failures.values()].filter(({ version }) => !isOver(version, versions, fallback)),
  }
}
