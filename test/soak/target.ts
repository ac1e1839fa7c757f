/**
 * The server of a soak: a real process with shipped models, on a clock that the soak test sets. Memory that it uses again is
 * overwritten if the test asks for it.
 */
import { cpSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDir, ServerProcess, type Preload } from '../harness/server.js'
import type { KeptDays } from './expected-records.js'

const configName = 'config.json'

export interface SoakServer {
  /** Serves from the start. */
  readonly model: string
  /** Models that serve or shadow later. */
  readonly otherModels?: readonly string[]
  readonly hasPoisonedMemory?: boolean
}

export class SoakTarget {
  readonly server: ServerProcess
  #model: string
  #timeMs: number
  readonly #env: Readonly<Record<string, string>>
  readonly #preloads: readonly Preload[]

  private constructor(
    startAtMs: number,
    keptDays: KeptDays,
    { model, otherModels = [], hasPoisonedMemory = false }: SoakServer,
  ) {
    this.#model = model
    this.#timeMs = startAtMs
    this.#preloads = ['loopDelay', 'clock', ...(hasPoisonedMemory ? (['poison'] as const) : [])]
    this.server = new ServerProcess({}, { preloads: this.#preloads })
    const modelsDir = this.#fileOf('models')
    for (const version of [model, ...otherModels])
      cpSync(join(projectDir, 'models', version), join(modelsDir, version), { recursive: true })
    writeFileSync(join(modelsDir, 'ACTIVE'), `${model}\n`)
    this.#env = {
      UNDERSTUDY_MODELS_DIR: modelsDir,
      UNDERSTUDY_CONFIG: this.#fileOf(configName),
      // On a busy machine the check of the latency would refuse the model.
      UNDERSTUDY_MODEL_LATENCY_MS_MAX: '60000',
    }
    this.setClock(startAtMs)
    this.#writeConfig(keptDays)
  }

  /** Starts the server at `startAtMs` of its own time. */
  static async start(startAtMs: number, keptDays: KeptDays, options: SoakServer): Promise<SoakTarget> {
    const target = new SoakTarget(startAtMs, keptDays, options)
    try {
      await target.server.restart(target.#env)
    } catch (error) {
      await target.dispose()
      throw error
    }
    return target
  }

  /** The model that serves. */
  get model(): string {
    return this.#model
  }

  /** Lets `model` serve, with or without a shadow. Resolves when both do. */
  async serve(model: string, shadow: string | null): Promise<void> {
    if (model !== this.#model) await this.#choose('ACTIVE', model, 'model now serving')
    this.#model = model
    await this.#choose('SHADOW', shadow, 'shadow model started')
  }

  /** Changes the retention while the server runs. Resolves when the server has logged it. */
  async keepFor(days: KeptDays): Promise<void> {
    this.#writeConfig(days)
    const from = this.server.log.length
    process.kill(this.server.pid!, 'SIGHUP')
    await this.server.logged('settings reloaded', from)
  }

  /** `logged`: what the log says once the version has its role. */
  async #choose(role: 'ACTIVE' | 'SHADOW', version: string | null, logged: string): Promise<void> {
    const file = join(this.#fileOf('models'), role)
    const from = this.server.log.length
    writeFileSync(`${file}.new`, version === null ? '' : `${version}\n`)
    renameSync(`${file}.new`, file)
    if (version === null) return
    await this.server.logged(new RegExp(`"model_version":"${version}".*${logged}`), from)
  }

  /** A server at the same time, with another data directory. */
  serverOn(dataDir: string): ServerProcess {
    const server = new ServerProcess(this.#env, { dataDir, preloads: this.#preloads })
    server.setClock(this.#timeMs)
    return server
  }

  #writeConfig({ cycles, images, outcomes }: KeptDays): void {
    const config = { retainCyclesDays: cycles, retainImagesDays: images, retainOutcomesDays: outcomes }
    writeFileSync(this.#fileOf(configName), JSON.stringify(config))
  }

  /** Sets the server's clock, in milliseconds since 1970. */
  setClock(ms: number): void {
    this.#timeMs = ms
    this.server.setClock(ms)
  }

  #fileOf(name: string): string {
    return join(this.server.scratchDir, name)
  }

  dispose(): Promise<void> {
    return this.server.dispose()
  }
}
