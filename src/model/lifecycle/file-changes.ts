/**
 * Notices when the files of a loaded version change on disk. The copy of the files remains in use.
 */
import type { Log } from '../../base/index.js'
import type { LoadedModel } from '../loaded-model.js'

export class FileChanges {
  readonly #log: Pick<Log, 'info' | 'warn'>
  /** Logged differences. */
  readonly #logged = new WeakMap<LoadedModel, string | null>()

  constructor(log: Pick<Log, 'info' | 'warn'>) {
    this.#log = log
  }

  /** Logs a change once. Resolves to whether there was one since the last call. */
  async check(model: LoadedModel): Promise<boolean> {
    const { version, files } = model
    await files?.check()
    const changed = files?.changed ?? null
    if ((this.#logged.get(model) ?? null) === changed) return false
    this.#logged.set(model, changed)
    if (changed === null)
      this.#log.info({ model_version: version }, 'model files are again those that were loaded')
    else
      this.#log.warn(
        { model_version: version, problem: changed },
        'model files have changed on disk; the server keeps those that it has loaded, and a restart refuses the changed ones',
      )
    return true
  }
}
