/**
 * Which model scores. The file `ACTIVE` in the models' directory names it; when that changes, the version it names is
 * loaded and checked beside the one that serves, gets the embeddings of the pending posts, and takes over between two
 * cycles. A version that fails leaves the other one serving, and the log says why.
 */
import type { CycleService } from '../cycle/index.js'
import {
  activeVersion,
  manifestStamp,
  modelIdentity,
  ModelError,
  readManifest,
  type LoadedModel,
  type Model,
  type ModelLog,
} from '../model/index.js'
import type { ModelLoader } from './model-loader.js'
import { ShadowDesk } from './shadow-desk.js'

const retryMsMin = 1000
const retryMsMax = 30_000
/** Between two looks at the file. */
const lookMs = 1000

export interface ModelDeskParts {
  readonly modelsDir: string
  readonly loader: ModelLoader
  readonly log: ModelLog
}

export class ModelDesk {
  readonly #parts: ModelDeskParts
  #serving: LoadedModel | null = null
  #cycles: CycleService | null = null
  #shadows: ShadowDesk | null = null
  /** What was tried last and failed, and when it is worth another try. */
  #failed: { version: string; retryAtMs: number; retryMs: number } | null = null
  /** The manifest of the version that serves, at the last look, and when it was last compared with what serves. */
  #seenStamp = ''
  #comparedStamp = ''
  #timer: NodeJS.Timeout | null = null
  #looking: Promise<void> | null = null
  #closed = false

  constructor(parts: ModelDeskParts) {
    this.#parts = parts
  }

  /** The model that scores, or null while none can. */
  current(): Model | null {
    return this.#serving?.available === true ? this.#serving : null
  }

  /** Loads the active model and from then on follows `ACTIVE`. Resolves after the first try, either way. */
  async open(cycles: CycleService): Promise<void> {
    this.#cycles = cycles
    this.#shadows = new ShadowDesk({ ...this.#parts, cycles })
    await this.look()
  }

  /** Looks at `ACTIVE` now, and again after a while. */
  async look(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await (this.#looking ??= this.#follow().finally(() => (this.#looking = null)))
    if (this.#closed) return
    this.#shadows?.look(this.#serving?.version ?? null)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.look(), lookMs)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#parts.loader.close()
    await Promise.all([this.#looking, this.#shadows?.close()])
    await this.#serving?.close()
  }

  async #follow(): Promise<void> {
    let version = ''
    try {
      version = await activeVersion(this.#parts.modelsDir)
      if (version === this.#serving?.version) {
        this.#failed = null
        await this.#compare(this.#serving)
        return
      }
      if (this.#isTooEarly(version)) return
      await this.#swap(version)
      this.#failed = null
    } catch (error) {
      // Without a version there is nothing to load; the file is looked at all the same, but not complained about.
      if (!this.#closed && !(version === '' && this.#isTooEarly(version))) this.#fail(version, error)
    }
  }

  /**
   * Tells once that another manifest has come under the name that serves, or none that can be read: neither a restart nor
   * a process of the model that has to be started again would find what it needs. While the manifest stays as it was,
   * this costs a look at its date; one that is new is read at the next look, when it is no longer being written.
   */
  async #compare({ version, identity }: LoadedModel): Promise<void> {
    const { modelsDir, log } = this.#parts
    const stamp = await manifestStamp(modelsDir, version).catch(problemOf)
    const isSettled = stamp === this.#seenStamp
    this.#seenStamp = stamp
    if (!isSettled || stamp === this.#comparedStamp) return
    this.#comparedStamp = stamp
    try {
      const { manifest } = await readManifest(modelsDir, version)
      if (modelIdentity(manifest) !== identity) log.error({ model_version: version }, filesChanged)
    } catch (error) {
      log.error({ model_version: version, problem: problemOf(error) }, filesUnreadable)
    }
  }

  #isTooEarly(version: string): boolean {
    return this.#failed?.version === version && performance.now() < this.#failed.retryAtMs
  }

  async #swap(version: string): Promise<void> {
    const { loader, log } = this.#parts
    const before = this.#serving
    if (before !== null)
      log.info({ model_version: version, serving: before.version }, 'a model is loaded beside')
    const model = await loader.load(version, { beside: before !== null })
    try {
      await this.#cycles?.adopt(model, before, () => {
        if (this.#closed) throw new ModelError('the service ends')
        this.#serving = model
      })
    } catch (error) {
      await model.close()
      throw error
    }
    const { kind, provider } = model
    log.info(
      { model_version: version, kind, provider, ...(before === null ? {} : { before: before.version }) },
      kind === 'trained' ? 'model serves' : transportTest,
    )
    await before?.close()
  }

  /** A wrong package is expected trouble: where in this program it was found out helps nobody. */
  #fail(version: string, error: unknown): void {
    const again = this.#failed?.version === version ? this.#failed.retryMs * 2 : retryMsMin
    const retryMs = Math.min(again, retryMsMax)
    this.#failed = { version, retryMs, retryAtMs: performance.now() + retryMs }
    const serving = this.#serving?.version
    this.#parts.log.error(
      {
        model_version: version,
        ...(error instanceof ModelError ? { problem: error.message } : { err: error }),
        ...(serving === undefined ? {} : { serving }),
        retry_ms: retryMs,
      },
      serving === undefined
        ? 'the model does not load; cycles get 503 until it does'
        : 'the model does not load; the one before goes on serving',
    )
  }
}

/** Of a `ModelError`; throws any other one. */
function problemOf(error: unknown): string {
  if (error instanceof ModelError) return error.message
  throw error
}

const filesChanged =
  'the files of the model that serves have changed; the old ones serve until one of its processes or the service has to ' +
  'start again, which will refuse these: deliver them under another version'
const filesUnreadable =
  'the files of the model that serves can no longer be read; it serves until one of its processes or the service has to ' +
  'start again'
const transportTest = 'model serves; it is a transport test, not a trained model'
