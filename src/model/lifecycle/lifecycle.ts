/**
 * Runs the state machine of model versions: polls `ACTIVE` and `SHADOW`, executes the machine's commands, reports their
 * results to it, and logs what happens. A version that fails leaves the other one serving; a change of `ACTIVE` or
 * `SHADOW` immediately cancels a load that is no longer needed.
 */
import { inBackground } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import type { LoadedModel } from '../loaded-model.js'
import { ModelError, type Model, type ModelLog } from '../model.js'
import { activeVersion, shadowVersions } from '../package/selection.js'
import type { LoadVersion } from '../verification/verified-model.js'
import {
  initialLifecycle,
  servingEntry,
  transition,
  type Command,
  type Entry,
  type Event,
  type Role,
} from './machine.js'
import type { LifecycleStatus, StatusFile, VersionFailure } from './status-file.js'

const pollMs = 1000

/** The users of models: implemented by `src/cycle`. */
export interface ModelUsers {
  /**
   * Prepares `model` and calls `takeOver` between two cycles; from then on `before` is not used. Rejects if a step
   * fails or `takeOver` throws; then nothing has changed. An aborted `signal` ends the preparation.
   */
  adopt(model: Model, before: Model | null, takeOver: () => void, signal: AbortSignal): Promise<void>
  /** Once it has resolved, `model` scores every cycle after its response. */
  addShadow(model: Model, signal: AbortSignal): Promise<void>
  /** Resolves when the model is no longer used. */
  removeShadow(model: Model): Promise<void>
}

export interface LifecycleParts {
  readonly modelsDir: string
  readonly load: LoadVersion
  readonly log: ModelLog
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Shows the states of the versions to other processes. Default: they are not shown. */
  readonly statusFile?: Pick<StatusFile, 'write' | 'remove'>
}

/** A version that is named or in use. The members of its model are null while none is loaded. */
export interface VersionFacts extends Pick<Entry, 'version' | 'role' | 'state'> {
  readonly kind: Model['kind'] | null
  readonly provider: string | null
  readonly processes: LoadedModel['processes']
}

/** The model of an entry, from its load until it is closed. */
interface Run {
  readonly cancel: AbortController
  model: LoadedModel | null
  /** Resolves when the load and the adoption have succeeded or failed. */
  done: Promise<void>
}

export class ModelLifecycle {
  readonly #parts: LifecycleParts
  #machine = initialLifecycle
  readonly #runs = new Map<number, Run>()
  /** The last one of each version. */
  readonly #failures = new Map<string, VersionFailure>()
  /** Loads that have failed since the start. */
  readonly loadFailureCounts: Record<Role, number> = { active: 0, shadow: 0 }
  #publishing = Promise.resolve()
  /** Work that `close` waits for. */
  readonly #work = new Set<Promise<void>>()
  #users: ModelUsers | null = null
  /** Logged problems of `ACTIVE` and `SHADOW`, by file: each is logged once. */
  readonly #problems = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | null = null
  /** Resolves when a version serves, has failed, or none is named. */
  readonly #firstResult = Promise.withResolvers<undefined>()

  constructor(parts: LifecycleParts) {
    this.#parts = parts
  }

  /** The model that scores, or null while there is none. */
  current(): Model | null {
    const model = this.#serving()
    return model?.available === true ? model : null
  }

  get status(): LifecycleStatus {
    const versions = this.#machine.entries.map(({ version, role, state }) => ({ version, role, state }))
    return { versions, failures: [...this.#failures.values()] }
  }

  get versions(): VersionFacts[] {
    return this.#machine.entries.map(({ id, version, role, state }) => {
      const model = this.#runs.get(id)?.model ?? null
      return {
        ...{ version, role, state, kind: model?.kind ?? null, provider: model?.provider ?? null },
        processes: model?.processes ?? [],
      }
    })
  }

  /** Follows `ACTIVE` and `SHADOW` from now on. Resolves when a version serves, has failed, or none is named. */
  async open(users: ModelUsers): Promise<void> {
    this.#users = users
    await this.poll()
    await this.#firstResult.promise
  }

  /** Reads the files now, and from then on once a second. */
  async poll(): Promise<void> {
    try {
      await (this.#polling ??= this.#readOnce())
    } finally {
      // Also after a failure, such as an I/O error of the disk: the files may be readable later.
      clearTimeout(this.#timer)
      if (!this.#machine.closed)
        this.#timer = setTimeout(() => inBackground('model files', this.poll()), pollMs).unref()
    }
  }

  /** Cancels what is loading and ends all models. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#dispatch({ kind: 'closed' })
    this.#firstResult.resolve(undefined)
    await Promise.allSettled([this.#polling])
    while (this.#work.size > 0) await Promise.allSettled(this.#work)
    await this.#publishing
    await this.#parts.statusFile?.remove().catch(() => undefined)
  }

  async #readOnce(): Promise<void> {
    try {
      await this.#read()
    } finally {
      this.#polling = null
    }
  }

  async #read(): Promise<void> {
    const { modelsDir } = this.#parts
    const [active, shadows] = await Promise.all([
      this.#readFile('ACTIVE', activeVersion(modelsDir)),
      this.#readFile('SHADOW', shadowVersions(modelsDir)),
    ])
    this.#dispatch({ kind: 'selected', active, shadows })
    if (active === null) this.#firstResult.resolve(undefined)
  }

  /** null, and logged when the problem is new: the file cannot be read. */
  async #readFile<T>(file: string, reading: Promise<T>): Promise<T | null> {
    try {
      const value = await reading
      this.#problems.delete(file)
      return value
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      const problem = error.message
      if (this.#problems.get(file) !== problem)
        this.#parts.log.error(
          { problem, ...this.#servingField() },
          `${file} cannot be read; the loaded versions do not change`,
        )
      this.#problems.set(file, problem)
      return null
    }
  }

  #dispatch(event: Event): void {
    const { next, commands } = transition(this.#machine, event, performance.now())
    this.#machine = next
    for (const command of commands) this.#track(this.#execute(command))
    this.#publishing = this.#publishing.then(() => this.#publish())
  }

  /** Writes the current state. Only a command that waits depends on the file, so a failure is not an error. */
  async #publish(): Promise<void> {
    try {
      await this.#parts.statusFile?.write(this.status)
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'cannot write models-status.json')
    }
  }

  #track(work: Promise<void>): void {
    this.#work.add(work)
    const track = async (): Promise<void> => {
      try {
        await work
      } catch (error) {
        this.#parts.log.error({ err: error }, 'model change failed')
      } finally {
        this.#work.delete(work)
      }
    }
    inBackground('model files', track())
  }

  #execute(command: Command): Promise<void> {
    const { kind, entry } = command
    if (kind !== 'load') return this.#end(command)
    const { version, role } = entry
    this.#parts.log.info({ model_version: version, role, ...this.#servingField() }, 'model loading')
    const run: Run = { cancel: new AbortController(), model: null, done: Promise.resolve() }
    this.#runs.set(entry.id, run)
    run.done = this.#loadAndAdopt(entry, run)
    return run.done
  }

  async #loadAndAdopt(entry: Entry, run: Run): Promise<void> {
    const { signal } = run.cancel
    try {
      run.model = await this.#parts.load(entry.version, { inChildProcess: this.#serving() !== null, signal })
      signal.throwIfAborted()
      if (entry.role === 'active') await this.#adopt(entry, run.model, signal)
      else await this.#addShadow(entry, run.model, signal)
    } catch (error) {
      this.#runs.delete(entry.id)
      await run.model?.close()
      if (!signal.aborted) this.#fail(entry, error)
    }
  }

  async #adopt({ id, version }: Entry, model: LoadedModel, signal: AbortSignal): Promise<void> {
    const before = this.#serving()
    const takeOver = (): void => {
      signal.throwIfAborted()
      this.#dispatch({ kind: 'adopted', id })
    }
    await this.#usersOf().adopt(model, before, takeOver, signal)
    const { kind, provider } = model
    const fields = { model_version: version, kind, provider, ...(before && { before: before.version }) }
    this.#parts.log.info(fields, kind === 'trained' ? 'model now serving' : transportTest)
    this.#firstResult.resolve(undefined)
  }

  async #addShadow({ id, version }: Entry, model: LoadedModel, signal: AbortSignal): Promise<void> {
    await this.#usersOf().addShadow(model, signal)
    if (signal.aborted) await this.#usersOf().removeShadow(model)
    signal.throwIfAborted()
    const { kind, provider } = model
    this.#dispatch({ kind: 'adopted', id })
    this.#parts.log.info({ model_version: version, kind, provider }, 'shadow model started')
  }

  #fail({ id, version, role }: Entry, error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error)
    this.loadFailureCounts[role]++
    this.#failures.set(version, { version, role, problem, atMs: this.#parts.clock() })
    this.#dispatch({ kind: 'failed', id })
    const retryMs = this.#machine.entries.find((entry) => entry.id === id)?.failure?.retryMs
    const fields = {
      model_version: version,
      // For an invalid package the stack is of no use.
      ...(error instanceof ModelError ? { problem } : { err: error }),
      role,
      ...this.#servingField(),
      retry_ms: retryMs,
    }
    this.#parts.log.error(fields, this.#failureMessage(role))
    if (role === 'active') this.#firstResult.resolve(undefined)
  }

  #failureMessage(role: Role): string {
    if (role === 'shadow') return 'shadow failed to load'
    return this.#serving() === null
      ? 'model failed to load; cycles get 503 until one serves'
      : 'model failed to load; the previous version keeps serving'
  }

  /** `cancel`: the load rejects, and what uses the model's processes fails immediately. */
  async #end({ kind, entry }: Command): Promise<void> {
    const { model, cancel } = this.#runOf(entry)
    this.#runs.delete(entry.id)
    if (kind === 'cancel') {
      this.#parts.log.info({ model_version: entry.version, role: entry.role }, 'model load cancelled')
      cancel.abort(new ModelError('the load was cancelled'))
    }
    if (kind === 'release' && model !== null) await this.#waitUntilUnused(entry, model)
    await model?.close()
  }

  /** Resolves when nothing uses a model. */
  async #waitUntilUnused({ role, version }: Entry, model: LoadedModel): Promise<void> {
    if (role === 'shadow') {
      await this.#usersOf().removeShadow(model)
      this.#parts.log.info({ model_version: version }, 'shadow stopped')
      return
    }
    // Its successor is being adopted: until that has ended, the users may read from both.
    const successor = servingEntry(this.#machine)
    if (successor !== undefined) await this.#runOf(successor).done
  }

  #serving(): LoadedModel | null {
    const entry = servingEntry(this.#machine)
    return entry === undefined ? null : this.#runOf(entry).model
  }

  #servingField(): { serving?: string } {
    const entry = servingEntry(this.#machine)
    return entry === undefined ? {} : { serving: entry.version }
  }

  #runOf({ id }: Entry): Run {
    const run = this.#runs.get(id)
    assert(run !== undefined, 'an entry in progress or in use has a run')
    return run
  }

  #usersOf(): ModelUsers {
    assert(this.#users !== null, 'models load after `open`')
    return this.#users
  }
}

const transportTest = 'model now serving; it is a transport test, not a trained model'
