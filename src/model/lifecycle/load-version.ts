/**
 * Loads one version: package, processes, checks, and the claim that ties its name to its files.
 */
import type { LoadOptions } from '../load-options.js'
import type { LoadedModel } from '../loaded-model.js'
import { ModelError } from '../model.js'
import { loadCandidateModel, loadVerifiedModel } from '../verification/index.js'

/**
 * Rejects with a `ModelError` that tells what is wrong, or soon after `signal` aborts; then nothing is left running.
 * `apart`: another process runs the checks, so that they do not block this one's event loop; they take longer that way.
 */
export type LoadVersion = (
  version: string,
  options: { readonly apart: boolean; readonly signal: AbortSignal },
) => Promise<LoadedModel>

export interface VersionLoaderOptions extends Omit<LoadOptions, 'version' | 'signal'> {
  /**
   * Ties a version to an identity, durably, unless it is tied already; resolves with the identity that it is tied to.
   * The claim comes before the first score: scores stored under a version always come from one set of files.
   */
  readonly claimVersion: (version: string, identity: string) => Promise<string>
}

export function versionLoader({ claimVersion, ...options }: VersionLoaderOptions): LoadVersion {
  return async (version, { apart, signal }) => {
    const load = apart ? loadCandidateModel : loadVerifiedModel
    const model = await load({ ...options, version, signal })
    try {
      if ((await claimVersion(version, model.identity)) === model.identity) return model
      throw new ModelError(
        `model_version ${version} was loaded with other files before; deliver these under another version`,
      )
    } catch (error) {
      await model.close()
      throw error
    }
  }
}
