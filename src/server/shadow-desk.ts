/**
 * Which models score in the shadow. The file `SHADOW` in the models' directory names them; a change is followed while
 * the service runs. A shadow that fails costs nothing but its own scores.
 */
import type { CycleService } from '../cycle/index.js'
import { ModelError, shadowVersions, type LoadedModel } from '../model/index.js'
import type { ModelLoader } from './model-loader.js'

/** Between two tries of a version that does not load. */
const retryMs = 30_000

export interface ShadowDeskParts {
  readonly modelsDir: string
  readonly loader: ModelLoader
  readonly cycles: CycleService
  readonly log: {
    info(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

export class ShadowDesk {
  readonly #parts: ShadowDeskParts
  readonly #models = new Map<string, LoadedModel>()
  readonly #retryAtMs = new Map<string, number>()
  #problem = ''
  #following: Promise<void> | null = null
  #closed = false

  constructor(parts: ShadowDeskParts) {
    this.#parts = parts
  }

  /** Follows the file, in the background, unless it is doing so. The version that serves is nobody's shadow. */
  look(serving: string | null): void {
    this.#following ??= this.#follow(serving)
      .catch((error: unknown) => this.#complain(error))
      .finally(() => (this.#following = null))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#following
    await Promise.all([...this.#models.values()].map((model) => model.close()))
  }

  async #follow(serving: string | null): Promise<void> {
    const versions = await shadowVersions(this.#parts.modelsDir)
    const wanted = versions.filter((version) => version !== serving)
    this.#problem = ''
    for (const [version, model] of this.#models)
      if (!wanted.includes(version)) {
        this.#models.delete(version)
        await this.#parts.cycles.removeShadow(model)
        await model.close()
        this.#parts.log.info({ model_version: version }, 'a shadow has ended')
      }
    for (const version of this.#retryAtMs.keys())
      if (!wanted.includes(version)) this.#retryAtMs.delete(version)
    for (const version of wanted) {
      const isDue = performance.now() >= (this.#retryAtMs.get(version) ?? 0)
      if (!this.#closed && !this.#models.has(version) && isDue) await this.#begin(version)
    }
  }

  async #begin(version: string): Promise<void> {
    const { loader, cycles, log } = this.#parts
    try {
      const model = await loader.load(version, { beside: true })
      try {
        await cycles.addShadow(model)
      } catch (error) {
        await model.close()
        throw error
      }
      this.#models.set(version, model)
      this.#retryAtMs.delete(version)
      log.info({ model_version: version, kind: model.kind, provider: model.provider }, 'a shadow scores too')
    } catch (error) {
      if (this.#closed) return
      this.#retryAtMs.set(version, performance.now() + retryMs)
      log.error({ model_version: version, ...reasonOf(error), retry_ms: retryMs }, 'a shadow does not load')
    }
  }

  /** Once for each problem, not every second. */
  #complain(error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error)
    if (problem !== this.#problem) this.#parts.log.error(reasonOf(error), 'the shadows cannot be followed')
    this.#problem = problem
  }
}

function reasonOf(error: unknown): object {
  return error instanceof ModelError ? { problem: error.message } : { err: error }
}
