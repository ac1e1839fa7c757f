/**
 * Versions that `ACTIVE` or `SHADOW` names and that could not be loaded: an activation that has failed leaves the previous
 * version serving, so nothing else of the service shows it.
 */
import type { FailedVersion } from '../contract/index.js'
import type { ModelLifecycle } from '../model/index.js'

/** Also while they are tried again. */
export function failedVersions({ versions, status }: ModelLifecycle): FailedVersion[] {
  return versions.flatMap(({ version, role, state }) => {
    const failure = status.failures.find((one) => one.version === version && one.role === role)
    if (failure === undefined || state === 'serving' || state === 'shadow') return []
    return { version, role, problem: failure.problem, at: new Date(failure.atMs).toISOString() }
  })
}
