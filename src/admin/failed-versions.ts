/**
 * Versions that `ACTIVE` or `SHADOW` names and that could not be loaded, or that failed their cycles: another version serves, so
 * nothing else of the service shows it.
 */
import type { FailedVersion } from '../contract/index.js'
import type { ModelLifecycle } from '../model/index.js'

/** Includes those that are tried again. */
export function failedVersions({ versions, status }: ModelLifecycle): FailedVersion[] {
  return versions.flatMap(({ version, role, state }) => {
    const failure = status.failures.find((one) => one.version === version && one.role === role)
    if (failure === undefined || state === 'serving' || state === 'shadow') return []
    const { kind = 'load', problem, atMs } = failure
    return { version, kind, role, problem, at: new Date(atMs).toISOString() }
  })
}
