/**
 * The place of the model in use. A model that does not load leaves the seat empty: the server runs degraded, answers
 * cycles with 503, and tries again with back-off until the files are right.
 */
import { loadModel, ModelError, type LoadedModel, type Model } from '../model/index.js'
import type { Settings } from './settings.js'

const retryMsMin = 1000
const retryMsMax = 30_000

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export class ModelSeat {
  readonly #settings: Settings
  readonly #log: Log
  #model: LoadedModel | null = null
  #retry: NodeJS.Timeout | null = null
  #retryMs = retryMsMin
  #closed = false

  constructor(settings: Settings, log: Log) {
    this.#settings = settings
    this.#log = log
  }

  /** The model, or null while none can serve. */
  current(): Model | null {
    return this.#model?.available === true ? this.#model : null
  }

  /** Loads the active model. Resolves either way; a failure is logged and tried again. */
  async load(): Promise<void> {
    this.#retry = null
    const { modelsDir, executionProviders, intraOpThreads, predictMsMax } = this.#settings
    try {
      const model = await loadModel({
        modelsDir,
        executionProviders,
        ...(intraOpThreads === undefined ? {} : { intraOpThreads }),
        timeLimitMs: predictMsMax,
        log: this.#log,
      })
      if (this.#closed) {
        await model.close()
        return
      }
      this.#model = model
      const { version, kind, provider } = model
      this.#log.info(
        { model_version: version, kind, provider },
        kind === 'trained' ? 'model loaded' : transportTest,
      )
    } catch (error) {
      // A wrong package is expected trouble: where in this program it was found out helps nobody.
      this.#log.error(
        {
          ...(error instanceof ModelError ? { problem: error.message } : { err: error }),
          retry_ms: this.#retryMs,
        },
        'the model does not load; cycles get 503 until it does',
      )
      if (this.#closed) return
      this.#retry = setTimeout(() => void this.load(), this.#retryMs)
      this.#retry.unref()
      this.#retryMs = Math.min(this.#retryMs * 2, retryMsMax)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    await this.#model?.close()
  }
}

const transportTest = 'model loaded; it is a transport test, not a trained model'
