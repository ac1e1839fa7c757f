/**
 * From a version to a model that may score: loaded, and its checks passed. A service that starts runs the checks in its
 * own process, since nothing serves yet. For a candidate model another process runs them first: trial rows, features and
 * comparisons would block the event loop for tens of milliseconds at a time. A claim then ties the version to its files.
 */
import { constants, getPriority, setPriority } from 'node:os'
import { gibibyte, ignoringErrors, inBackground, type Log, silentLog } from '../../base/index.js'
import { loadModel, type LoadedModel } from '../loaded-model.js'
import { loadCodec } from '../../codec/index.js'
import type { LoadOptions } from '../sessions/plans.js'
import { ModelError } from '../model.js'
import { removeCopies } from '../package/package-files.js'
import { readPackage } from '../package/read-package.js'
import { queryProcess, startMsMax } from '../sessions/session-process.js'
import type { VerificationPlan } from '../sessions/protocol.js'
import { assertChecksPass } from './run-checks.js'

/** Start and checks together. An upper limit, not an estimate. */
const verificationMsMax = 2 * startMsMax
/** Of the process that verifies a version, in bytes; it holds no session itself. */
const verificationBytesMax = 4 * gibibyte

/**
 * Rejects with a `ModelError` that names the problem, or soon after `signal` aborts; then nothing is left running.
 * `inChildProcess`: another process runs the checks, so that they do not block this one's event loop; they take longer that way.
 */
export type LoadVersion = (
  version: string,
  options: { readonly inChildProcess: boolean; readonly signal: AbortSignal },
) => Promise<LoadedModel>

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
  return async (version, { inChildProcess, signal }) => {
    if (copiesDir !== undefined) await (clearing ??= removeCopies(copiesDir, log))
    const load = inChildProcess ? loadCandidateModel : loadVerifiedModel
    const model = await load({ ...options, version, signal })
    try {
      if ((await claimVersion(version, model.identity)) === model.identity) return model
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
  const model = await loadModel(options)
  const cancel = (): void => inBackground('model process', model.close())
  options.signal?.addEventListener('abort', cancel)
  try {
    await assertChecksPass(model, await readPackage(options.modelsDir, options.version), options)
    return model
  } catch (error) {
    await ignoringErrors(() => model.close())
    throw error
  } finally {
    options.signal?.removeEventListener('abort', cancel)
  }
}

/** Like `loadVerifiedModel`, while another model serves: a separate process runs the checks, and has exited then. */
export async function loadCandidateModel(options: LoadOptions): Promise<LoadedModel> {
  const identity = await verifyInProcess(options)
  const model = await loadModel(options)
  if (model.identity === identity) return model
  await ignoringErrors(() => model.close())
  throw new ModelError(`model ${options.version} was changed while it was verified`)
}

/** The identity of a version that passes its checks. Logs the warnings of the process only when it fails. */
async function verifyInProcess({ codec, log, signal, ...options }: LoadOptions): Promise<string> {
  // That process reads the package itself.
  delete options.copiesDir
  const lines: (() => void)[] = []
  const buffer: Log = {
    ...silentLog,
    warn: (fields, message) => {
      lines.push(() => log.warn(fields, message))
    },
    error: (fields, message) => {
      lines.push(() => log.error(fields, message))
    },
  }
  try {
    const { report } = await queryProcess(
      {
        name: `the verification of model ${options.version}`,
        plan: { role: 'verification', options, codec: codec?.name ?? 'reference' },
        bytesMax: verificationBytesMax,
        startMsMax: verificationMsMax,
        log: buffer,
      },
      signal,
    )
    return (report as { identity: string }).identity
  } catch (error) {
    for (const write of lines) write()
    throw error
  }
}

/** The program of a process that verifies a version. */
export async function verifyVersion(
  { options, codec }: VerificationPlan,
  log: Log,
): Promise<{ readonly provider: string; readonly report: { readonly identity: string } }> {
  // The sessions of the checks inherit it, and yield the cores to the service.
  setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL))
  const model = await loadVerifiedModel({ ...options, codec: loadCodec(codec).codec, log })
  await model.close()
  return { provider: model.provider, report: { identity: model.identity } }
}
