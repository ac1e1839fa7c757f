/**
 * Reports changed or missing files of the serving version: a restart of the server, or of a process of the model, would
 * fail.
 */
import type { LoadedModel } from '../loaded-model.js'
import { ModelError, type ModelLog } from '../model.js'
import { modelIdentity } from '../package/identity.js'
import { readManifest } from '../package/read-package.js'

export class ServedFiles {
  readonly #modelsDir: string
  readonly #log: ModelLog
  /** Found by the last call, and logged last. */
  #found = ''
  #logged = ''

  constructor(modelsDir: string, log: ModelLog) {
    this.#modelsDir = modelsDir
    this.#log = log
  }

  /** Logs a problem once, when two calls in a row find it: a manifest may be half written. */
  async check({ version, identity }: LoadedModel): Promise<void> {
    const problem = await readManifest(this.#modelsDir, version).then(
      ({ manifest }) => (modelIdentity(manifest) === identity ? null : otherFiles),
      problemOf,
    )
    const found = `${version}: ${problem ?? 'no problem'}`
    const isNew = found === this.#found && found !== this.#logged
    this.#found = found
    if (!isNew) return
    this.#logged = found
    const message = problem === otherFiles ? filesChanged : filesUnreadable
    if (problem !== null) this.#log.error({ model_version: version, problem }, message)
  }
}

/** Of a `ModelError`; throws any other error. */
export function problemOf(error: unknown): string {
  if (error instanceof ModelError) return error.message
  throw error
}

const otherFiles = 'its files have another identity'
const filesChanged =
  'the files of the serving model have changed; it serves from the old ones until one of its processes or the server ' +
  'restarts, which refuses the new ones: deliver them under another version'
const filesUnreadable =
  'the files of the serving model can no longer be read; it serves until one of its processes or the server restarts'
