/**
 * From a version to a model that may score: package, processes, checks; and the store's word that this version has
 * never named other files.
 */
import type { Codec } from '../codec/index.js'
import {
  loadSoundModel,
  loadSoundModelBeside,
  ModelError,
  type LoadedModel,
  type ModelLog,
} from '../model/index.js'
import type { Store } from '../store/index.js'
import type { Settings } from './settings.js'

export interface ModelLoaderParts {
  readonly settings: Settings
  readonly codec: Codec
  readonly store: Store
  readonly log: ModelLog
}

export class ModelLoader {
  readonly #parts: ModelLoaderParts
  readonly #ending = new AbortController()

  constructor(parts: ModelLoaderParts) {
    this.#parts = parts
  }

  /**
   * Rejects with a `ModelError` that says what is wrong; then nothing is left running. `beside` a model that serves, the
   * checks take no time of this process; where nothing serves yet, the model is ready sooner without.
   */
  async load(version: string, { beside }: { readonly beside: boolean }): Promise<LoadedModel> {
    const { settings, codec, store, log } = this.#parts
    const { modelsDir, executionProviders, intraOpThreads, predictMsMax } = settings
    const options = {
      ...{ modelsDir, version, executionProviders, codec, log },
      ...(intraOpThreads === undefined ? {} : { intraOpThreads }),
      timeLimitMs: predictMsMax,
      processBytesMax: settings.modelProcessBytesMax,
    }
    const model = beside
      ? await loadSoundModelBeside(options, this.#ending.signal)
      : await loadSoundModel(options)
    try {
      // Scores stored under a version could not be told apart, were it to name other files one day. Claimed before the
      // first of them, so that none is stored of a version whose files nobody noted.
      if ((await store.models.claimVersion(version, model.identity)) === model.identity) return model
      throw new ModelError(
        `model_version ${version} was loaded with other files before; deliver these under another version`,
      )
    } catch (error) {
      await model.close()
      throw error
    }
  }
  /** Gives up checks that are under way: their loads reject. */
  close(): void {
    this.#ending.abort()
  }
}
