/**
 * From a version to a model that may score. Apart from the report: the process that checks a version beside a service
 * starts in half the time without it.
 */
import { loadModel, type LoadedModel, type LoadOptions } from '../loaded-model.js'
import { readPackage } from '../package/index.js'
import { assertSound } from './run-checks.js'

/**
 * A model that may score: loaded, and its checks passed. Rejects with a `ModelError` that says what is wrong; then
 * nothing is left running. `loadModel` alone is for whoever makes the checks by himself.
 */
export async function loadSoundModel(
  options: LoadOptions & { readonly version: string },
): Promise<LoadedModel> {
  const model = await loadModel(options)
  try {
    await assertSound(model, await readPackage(options.modelsDir, options.version))
    return model
  } catch (error) {
    await model.close()
    throw error
  }
}
