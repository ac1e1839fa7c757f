/**
 * The models that a command loads to score recorded cycles.
 */
import type { Codec } from '../../codec/index.js'
import { loadModel, ModelError, type LoadedModel } from '../../model/index.js'
import type { Settings } from '../../settings/index.js'
import type { Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf } from '../failure.js'
import { checkIdentity } from './activate.js'
import { loadOptions } from './common.js'

export interface ModelSource {
  readonly store: Store
  readonly codec: Codec
  readonly settings: Settings
  readonly context: CommandContext
}

export type LoadVersion = (version: string) => Promise<LoadedModel>

/**
 * Calls `use` with a function that loads versions, and closes the models afterwards. `load` rejects for a package with
 * other files than those that the server loaded, because stored scores belong to these. Errors that are neither a
 * `ModelError` nor a `CommandError` become a `CommandError` that begins with `failure`.
 */
export async function withModels<T>(
  { store, codec, settings, context }: ModelSource,
  failure: string,
  use: (load: LoadVersion) => Promise<T>,
): Promise<T> {
  const loaded: LoadedModel[] = []
  const load = async (version: string): Promise<LoadedModel> => {
    const model = await loadModel({ ...loadOptions(version, settings, context), codec })
    loaded.push(model)
    checkIdentity(store, model)
    return model
  }
  try {
    return await use(load)
  } catch (error) {
    if (error instanceof ModelError || error instanceof CommandError) throw error
    throw new CommandError(`${failure}: ${messageOf(error)}`, { cause: error })
  } finally {
    await Promise.all(loaded.map((model) => model.close()))
  }
}
