/**
 * The recorded cycles and the models with which a command scores them.
 */
import { withRelease } from '../../base/index.js'
import { loadCodec, type Codec } from '../../codec/index.js'
import { loadModel, ModelError, type LoadedModel } from '../../model/index.js'
import type { Settings } from '../../settings/index.js'
import type { Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf } from '../failure.js'
import { settingsOf, type Flags } from '../read-settings.js'
import { checkIdentity } from './activate.js'
import { loadOptions, withStore } from './common.js'

export interface ScoringParts {
  readonly settings: Settings
  readonly store: Store
  readonly codec: Codec
  /**
   * Loads a version. Rejects for a package with different files from those that the server loaded, because stored scores belong
   * to these.
   */
  readonly load: LoadVersion
}

export type LoadVersion = (version: string) => Promise<LoadedModel>

/**
 * Calls `use` with the store of the settings, and closes the models afterwards. Errors that are neither a `ModelError` nor a
 * `CommandError` become a `CommandError` that begins with `failure`.
 */
export async function withModels(
  flags: Flags,
  context: CommandContext,
  failure: string,
  use: (parts: ScoringParts) => Promise<void>,
): Promise<void> {
  const settings = settingsOf(flags, context)
  const { codec } = loadCodec(settings.codec)
  await withStore(settings.dataDir, async (store) => {
    const loaded: LoadedModel[] = []
    const load = async (version: string): Promise<LoadedModel> => {
      const model = await loadModel({ ...loadOptions(version, settings, context), codec })
      loaded.push(model)
      checkIdentity(model, store.models.readIdentity(version))
      return model
    }
    const used = async (): Promise<void> => {
      try {
        await use({ settings, store, codec, load })
      } catch (error) {
        if (error instanceof ModelError || error instanceof CommandError) throw error
        throw new CommandError(`${failure}: ${messageOf(error)}`, { cause: error })
      }
    }
    await withRelease(used, () => Promise.all(loaded.map((model) => model.close())))
  })
}
