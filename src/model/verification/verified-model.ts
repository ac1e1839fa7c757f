/**
 * From a version to a model that may score: loaded, and its checks passed. The package is read once, and the processes that
 * the checks have used are those that serve. A claim then ties the version to its files.
 */
import { abortable, ignoringErrors, inBackground } from '../../base/index.js'
import { loadPackage, type LoadedModel } from '../loaded-model.js'
import { ModelError } from '../model.js'
import { removeCopies } from '../package/package-files.js'
import { readPackage } from '../package/read-package.js'
import type { LoadOptions, Role } from '../sessions/plans.js'
import { cancelled } from '../sessions/session-process.js'
import { assertChecksPass } from './run-checks.js'

/** Rejects with a `ModelError` that names the problem, or soon after `signal` aborts; then nothing is left running. */
export type LoadVersion = (version: string, signal: AbortSignal) => Promise<LoadedModel>

export interface VersionLoaderOptions extends Omit<LoadOptions, 'version' | 'signal'> {
  /**
   * Ties a version to an identity, durably, unless it is already tied; resolves with the identity that it is tied to.
   * The claim comes before the first score: scores stored under a version always come from one set of files.
   */
  readonly claimVersion: (version: string, identity: string) => Promise<string>
}

export function versionLoader({ claimVersion, ...options }: VersionLoaderOptions): LoadVersion {
  const { copiesDir, log } = options
  // What a server that was killed has left.
  let clearing: Promise<void> | null = null
  return async (version, signal) => {
    if (copiesDir !== undefined) await (clearing ??= removeCopies(copiesDir, log))
    const model = await loadVerifiedModel({ ...options, version, signal })
    try {
      // During startup, a claim waits for the store.
      const claimed = await abortable(claimVersion(version, model.identity), signal)
      if (claimed === model.identity) return model
      throw new ModelError(
        `model_version ${version} has already been loaded with different files; give these files a new model_version`,
      )
    } catch (error) {
      await ignoringErrors(() => model.close())
      throw error
    }
  }
}

/**
 * Loads a version and runs its checks. Rejects with a `ModelError` that names the problem; then nothing is left
 * running. `loadModel` is for callers that run the checks themselves.
 */
export async function loadVerifiedModel(options: LoadOptions): Promise<LoadedModel> {
  const modelPackage = await readPackage(options.modelsDir, options.version)
  let mayServe = false
  const onProcessLost = (role: Role): void => {
    if (mayServe) options.onProcessLost?.(role)
  }
  const model = await loadPackage(modelPackage, { ...options, onProcessLost })
  const cancel = (): void => inBackground('model process', model.close())
  options.signal?.addEventListener('abort', cancel)
  try {
    await assertChecksPass(model, modelPackage, options)
    options.signal?.throwIfAborted()
    mayServe = true
    return model
  } catch (error) {
    await ignoringErrors(() => model.close())
    throw options.signal?.aborted === true ? cancelled() : error
  } finally {
    options.signal?.removeEventListener('abort', cancel)
  }
}
