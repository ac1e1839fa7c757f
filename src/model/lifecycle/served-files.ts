/**
 * Reports that the files under the version that serves have changed or are gone: neither a restart of the server nor of a
 * process of the model would find what it needs.
 */
import type { LoadedModel } from '../loaded-model.js'
import { ModelError, type ModelLog } from '../model.js'
import { manifestStamp, modelIdentity, readManifest } from '../package/index.js'

export class ServedFiles {
  readonly #modelsDir: string
  readonly #log: ModelLog
  /** Of the manifest at the last call, and of the one that was last compared. */
  #seen = ''
  #compared = ''

  constructor(modelsDir: string, log: ModelLog) {
    this.#modelsDir = modelsDir
    this.#log = log
  }

  /** A manifest is compared once for each content, when two calls in a row find it unchanged: it is written by then. */
  async check({ version, identity }: LoadedModel): Promise<void> {
    const stamp = `${identity} ${await manifestStamp(this.#modelsDir, version).catch(problemOf)}`
    const isNew = stamp === this.#seen && stamp !== this.#compared
    this.#seen = stamp
    if (!isNew) return
    this.#compared = stamp
    try {
      const { manifest } = await readManifest(this.#modelsDir, version)
      if (modelIdentity(manifest) !== identity) this.#log.error({ model_version: version }, filesChanged)
    } catch (error) {
      this.#log.error({ model_version: version, problem: problemOf(error) }, filesUnreadable)
    }
  }
}

/** Of a `ModelError`; throws any other error. */
export function problemOf(error: unknown): string {
  if (error instanceof ModelError) return error.message
  throw error
}

const filesChanged =
  'the files of the serving model have changed; it serves from the old ones until one of its processes or the server ' +
  'restarts, which refuses the new ones: deliver them under another version'
const filesUnreadable =
  'the files of the serving model can no longer be read; it serves until one of its processes or the server restarts'
