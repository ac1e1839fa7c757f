/**
 * The server of a soak: a real process with shipped models, on a clock that the soak test sets. Memory that it uses again is
 * overwritten if the test asks for it.
 */
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { projectDir, ServerProcess } from '../helpers/server-process.js'
import { Target } from '../hostile/target.js'
import type { KeptDays } from './expected-records.js'

const configName = 'config.json'
const reloaded = 'settings reloaded'

export interface SoakServer {
  /** Serves from the start. */
  readonly model: string
  /** Models that serve or shadow later. */
  readonly otherModels?: readonly string[]
  readonly hasPoisonedMemory?: boolean
}

export class SoakTarget extends Target {
  #model: string
  readonly #directory: string
  readonly #clock: number
  readonly #env: Record<string, string>

  private constructor(model: string, directory: string, clock: number, env: Record<string, string>) {
    super(env)
    this.#model = model
    this.#directory = directory
    this.#clock = clock
    this.#env = env
  }

  /** Starts the server at `startAtMs` of its own time. */
  static async start(
    startAtMs: number,
    keptDays: KeptDays,
    { model, otherModels = [], hasPoisonedMemory = false }: SoakServer,
  ): Promise<SoakTarget> {
    const directory = mkdtempSync(join(tmpdir(), 'understudy-soak-'))
    const clockFile = join(directory, 'clock')
    const modelsDir = join(directory, 'models')
    for (const version of [model, ...otherModels])
      cpSync(join(projectDir, 'models', version), join(modelsDir, version), { recursive: true })
    writeFileSync(join(modelsDir, 'ACTIVE'), `${model}\n`)
    const poison = hasPoisonedMemory ? [join('helpers', 'poisoned-server.ts')] : []
    const preloads = [join('hostile', 'loop-delay.ts'), join('soak', 'server-clock.ts'), ...poison]
      .map((name) => `--import ${pathToFileURL(join(projectDir, 'test', name)).href}`)
      .join(' ')
    const target = new SoakTarget(model, directory, openSync(clockFile, 'w'), {
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} ${preloads}`,
      SOAK_CLOCK_FILE: clockFile,
      UNDERSTUDY_MODELS_DIR: modelsDir,
      UNDERSTUDY_CONFIG: join(directory, configName),
      // On a busy machine the check of the latency would refuse the model.
      UNDERSTUDY_MODEL_LATENCY_MS_MAX: '60000',
    })
    target.setClock(startAtMs)
    target.#writeConfig(keptDays)
    try {
      await target.start()
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
    const countBefore = this.server.log.split(reloaded).length
    process.kill(this.server.pid!, 'SIGHUP')
    while (this.server.log.split(reloaded).length === countBefore) await delay(10)
  }

  /** `logged`: what the log says once the version has its role. */
  async #choose(role: 'ACTIVE' | 'SHADOW', version: string | null, logged: string): Promise<void> {
    const file = join(this.#directory, 'models', role)
    const isIn = (line: string): boolean =>
      line.includes(`"model_version":"${version}"`) && line.includes(logged)
    const count = (): number => this.server.log.split('\n').filter(isIn).length
    const countBefore = count()
    writeFileSync(`${file}.new`, version === null ? '' : `${version}\n`)
    renameSync(`${file}.new`, file)
    while (version !== null && count() === countBefore) await delay(20)
  }

  /** A server on the same clock, with another data directory. */
  serverOn(dataDir: string): ServerProcess {
    return new ServerProcess(this.#env, dataDir)
  }

  #writeConfig({ cycles, images, outcomes }: KeptDays): void {
    const config = { retainCyclesDays: cycles, retainImagesDays: images, retainOutcomesDays: outcomes }
    writeFileSync(join(this.#directory, configName), JSON.stringify(config))
  }

  /** Sets the server's clock, in milliseconds since 1970. */
  setClock(ms: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(ms)
    writeSync(this.#clock, bytes, 0, bytes.length, 0)
  }

  override async dispose(): Promise<void> {
    await super.dispose()
    closeSync(this.#clock)
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
