/**
 * Runs the state machine of model versions: polls `ACTIVE` and `SHADOW`, executes the machine's commands, reports their
 * results to it, and logs what happens. A version that fails leaves the other one serving; a change of `ACTIVE` or
 * `SHADOW` immediately cancels a load that is no longer needed.
 */
import { inBackground, messageOf } from '../../base/index.js'
import { assert, type HealthReason, type VersionRole } from '../../contract/index.js'
import type { LoadedModel } from '../loaded-model.js'
import { ModelError, type Model } from '../model.js'
import { activeStamp, activeVersion, shadowVersions } from '../package/selection.js'
import { absenceOf, fallbackFacts, statusOf } from './facts.js'
import type { StoredFallback } from './fallback-file.js'
import { FileChanges } from './file-changes.js'
import type {
  FailedCycles,
  FallbackFacts,
  LifecycleParts,
  ModelAbsence,
  ModelUsers,
  Run,
  VersionFacts,
} from './lifecycle-parts.js'
import {
  fallbackInEffect,
  initialLifecycle,
  servingEntry,
  transition,
  type Command,
  type Entry,
  type Event,
} from './machine.js'
import type { LifecycleStatus, VersionFailure } from './status-file.js'

const pollMs = 1000

export class ModelLifecycle {
  readonly #parts: LifecycleParts
  #machine = initialLifecycle
  readonly #runs = new Map<number, Run>()
  /** The last one of each version. */
  readonly #failures = new Map<string, VersionFailure>()
  /** Loads that have failed since the start. */
  readonly loadFailureCounts: Record<VersionRole, number> = { active: 0, shadow: 0 }
  #publishing = Promise.resolve()
  /** Work that `close` waits for. */
  readonly #work = new Set<Promise<void>>()
  #users: ModelUsers | null = null
  /** The version that served before the one that serves. */
  #servedBefore: string | null = null
  /** Versions that could not be loaded since one served last, or since `ACTIVE` named another one. */
  readonly #unloadable = new Set<string>()
  /** What `ACTIVE` is taken to name when it cannot be read at the start: the version of the last cycle. */
  #assumed: string | null = null
  /** Versions for which it was logged that no other one can take over. */
  readonly #withoutFallback = new Set<string>()
  readonly #changes: FileChanges
  /** Logged problems of `ACTIVE` and `SHADOW`, by file: each is logged once. */
  readonly #problems = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | null = null
  /** Resolves when a version serves, has failed, or none is named. */
  readonly #firstResult = Promise.withResolvers<undefined>()

  constructor(parts: LifecycleParts) {
    this.#parts = parts
    this.#changes = new FileChanges(parts.log)
  }

  /** The model that scores, or null while there is none. */
  current(): Model | null {
    const model = this.#serving()
    return model?.available === true ? model : null
  }

  get status(): LifecycleStatus {
    return statusOf(this.versions, fallbackInEffect(this.#machine), this.#failures)
  }

  /** Why `current` returns null; null while a model scores, and when no version is named. */
  get absence(): ModelAbsence | null {
    return this.current() === null ? absenceOf(this.#machine, this.#failures) : null
  }

  /** null while no version serves in the place of another one. */
  get fallback(): FallbackFacts | null {
    return fallbackFacts(this.#machine, this.#failures)
  }

  /** Why health is `degraded` although a model serves. */
  get warnings(): HealthReason[] {
    const reasons: HealthReason[] = []
    const { fallback } = this
    if (fallback !== null) {
      const { version, failed, reason: problem, cause } = fallback
      const code = cause === 'cycles' ? 'model_replaced' : 'model_stands_in'
      reasons.push({ code, version, failed, problem })
    }
    const problem = this.#problems.get('ACTIVE')
    if (problem !== undefined) reasons.push({ code: 'active_unreadable', problem })
    return reasons
  }

  /**
   * The version that served before takes over from `version`, until `ACTIVE` names another one. Without one, or if it cannot be
   * loaded, `version` continues to serve. Call it for each further cycle that fails.
   */
  async fallBack({ version: failed, cycleCount, problem }: FailedCycles): Promise<void> {
    const hasFallback = (): boolean => this.#machine.fallback !== null
    if (hasFallback()) return
    const version = (await this.#parts.scoredBefore(new Set([failed]))) ?? this.#servedBefore
    const fields = { model_version: failed, failed_cycles: cycleCount, problem }
    if (version === null || version === failed) {
      if (!this.#withoutFallback.has(failed))
        this.#parts.log.error(fields, 'model failed its cycles; no earlier version can take over')
      this.#withoutFallback.add(failed)
      return
    }
    if (hasFallback()) return
    this.#dispatch({ kind: 'abandoned', failed, version })
    if (!hasFallback()) return
    const atMs = this.#parts.clock()
    this.#failures.set(failed, { version: failed, role: 'active', kind: 'cycles', problem, atMs })
    this.#parts.log.error(
      { ...fields, fallback: version },
      'model failed its cycles; loading the version before it',
    )
  }

  /** Ends the failures of `version`: it has scored a cycle. */
  scored(version: string): void {
    this.#withoutFallback.delete(version)
    if (this.#machine.fallback?.failed === version) this.#dispatch({ kind: 'scored', version })
  }

  get versions(): VersionFacts[] {
    return this.#machine.entries.map(({ id, version, role, state }) => {
      const model = this.#runs.get(id)?.model ?? null
      return {
        version,
        role,
        state,
        changed: model?.files?.changed ?? null,
        kind: model?.kind ?? null,
        provider: model?.provider ?? null,
        placements: model?.placements ?? [],
        processes: model?.processes ?? [],
      }
    })
  }

  /** Follows `ACTIVE` and `SHADOW` from now on. Resolves when a version serves, has failed, or none is named. */
  async open(users: ModelUsers): Promise<void> {
    this.#users = users
    const fallback = await this.#parts.fallbackFile.read()
    if (fallback !== null) this.#restore(fallback)
    await this.poll()
    await this.#firstResult.promise
  }

  /** Reads the files now, and from then on once a second. */
  async poll(): Promise<void> {
    try {
      await (this.#polling ??= this.#readOnce())
      for (const { model } of this.#runs.values()) if (model !== null) this.#track(this.#checkFiles(model))
    } finally {
      // Also after a failure, such as an I/O error of the disk: the files may be readable later.
      clearTimeout(this.#timer)
      if (!this.#machine.closed)
        this.#timer = setTimeout(() => inBackground('model files', this.poll()), pollMs).unref()
    }
  }

  async #checkFiles(model: LoadedModel): Promise<void> {
    if (await this.#changes.check(model)) this.#publishing = this.#publishing.then(() => this.#publish())
  }

  /** Cancels what is loading and ends all models. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#dispatch({ kind: 'closed' })
    this.#firstResult.resolve(undefined)
    await Promise.allSettled([this.#polling])
    while (this.#work.size > 0) await Promise.allSettled(this.#work)
    await this.#publishing
    await this.#parts.statusFile.remove().catch(() => undefined)
  }

  /** The fallback of an earlier process of this data directory: it ends if `ACTIVE` was written since. */
  #restore({ problem, atMs, ...fallback }: StoredFallback): void {
    const { failed } = fallback
    this.#machine = { ...this.#machine, fallback }
    this.#failures.set(failed, { version: failed, role: 'active', kind: 'cycles', problem, atMs })
    this.#parts.log.warn(
      { model_version: failed, fallback: fallback.version, problem },
      'model failed its cycles before the restart; loading the version before it',
    )
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
    // The stamp is read before the content: what is written in between is noticed at the next poll.
    const stamp = await activeStamp(modelsDir)
    const [named, shadows] = await Promise.all([
      this.#readFile('ACTIVE', activeVersion(modelsDir)),
      this.#readFile('SHADOW', shadowVersions(modelsDir)),
    ])
    const active = named ?? (await this.#assume())
    if (active !== this.#machine.active) this.#unloadable.clear()
    this.#dispatch({ kind: 'selected', active, stamp, shadows })
    if (active === null) this.#firstResult.resolve(undefined)
  }

  /** What an `ACTIVE` that cannot be read names: nothing new while a version serves or is known, else the version of the last cycle. */
  async #assume(): Promise<string | null> {
    if (this.#serving() === null && this.#machine.active === null)
      this.#assumed = await this.#parts.scoredBefore(new Set())
    return this.#serving() === null ? this.#assumed : null
  }

  /** The last other version that scored and that has not failed to load stands in for `failed` while none serves. */
  async #findStandIn(failed: string): Promise<void> {
    try {
      const version = await this.#parts.scoredBefore(new Set([...this.#unloadable, failed]))
      const { active } = this.#machine
      if (version !== null && active === failed && this.#serving() === null) {
        this.#parts.log.error(
          { model_version: failed, fallback: version },
          'loading the last other version that scored',
        )
        this.#dispatch({ kind: 'unloadable', failed, version })
        if (this.#machine.fallback?.version === version) return
      }
    } catch (error) {
      this.#parts.log.error({ err: error }, 'the stored cycles do not show which version scored before')
    }
    this.#firstResult.resolve(undefined)
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
    const before = this.#machine
    const { next, commands } = transition(before, event, performance.now())
    this.#machine = next
    for (const command of commands) this.#track(this.#execute(command))
    // The problem is known in the next turn.
    if (next.fallback !== before.fallback)
      this.#publishing = this.#publishing.then(() => this.#saveFallback())
    this.#publishing = this.#publishing.then(() => this.#publish())
  }

  /** A file that cannot be written costs the memory of the fallback at a restart. */
  async #saveFallback(): Promise<void> {
    const { fallback } = this.#machine
    const { problem = '', atMs = 0 } = (fallback && this.#failures.get(fallback.failed)) ?? {}
    // A version that could not be loaded is tried first after a restart.
    await this.#parts.fallbackFile
      .save(fallback?.cause === 'cycles' ? { ...fallback, problem, atMs } : null)
      .catch((error: unknown) => {
        this.#parts.log.warn({ err: error }, 'cannot write models-fallback.json')
      })
  }

  /** Writes the current state. Only a command that waits depends on the file, so a failure is not an error. */
  async #publish(): Promise<void> {
    try {
      await this.#parts.statusFile.write(this.status)
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
      run.model = await this.#parts.load(entry.version, signal)
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
    if (before !== null) this.#servedBefore = before.version
    const { kind, provider } = model
    const fields = { model_version: version, kind, provider, ...(before && { before: before.version }) }
    this.#parts.log.info(fields, kind === 'trained' ? 'model now serving' : transportTest)
    this.#unloadable.clear()
    const { fallback } = this
    if (fallback?.version === version)
      this.#parts.log.error(
        { model_version: version, failed: fallback.failed, problem: fallback.reason },
        fallback.cause === 'cycles'
          ? 'model serves instead of the version that failed its cycles, until ACTIVE names another one'
          : 'model serves instead of the version that cannot be loaded, until that one loads',
      )
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
    const problem = messageOf(error)
    this.loadFailureCounts[role]++
    this.#failures.set(version, { version, role, problem, atMs: this.#parts.clock() })
    this.#dispatch({ kind: 'failed', id })
    const retryMs = this.#machine.entries.find((entry) => entry.id === id)?.failure?.retryMs
    const fields = {
      model_version: version,
      // The stack is of no use for an invalid package.
      ...(error instanceof ModelError ? { problem } : { err: error }),
      role,
      ...this.#servingField(),
      retry_ms: retryMs,
    }
    this.#parts.log.error(fields, this.#failureMessage(role))
    if (role !== 'active') return
    this.#unloadable.add(version)
    const { active, fallback } = this.#machine
    if (active === null || this.#serving() !== null || fallback?.cause === 'cycles')
      this.#firstResult.resolve(undefined)
    // Once: what stands in is tried again with its own pauses, as the version of `ACTIVE` is.
    else if (fallback === null || version === fallback.version) this.#track(this.#findStandIn(active))
  }

  #failureMessage(role: VersionRole): string {
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
