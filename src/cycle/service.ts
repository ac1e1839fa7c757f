/**
 * The service of cycles: assembles intake, pipeline, weights, embeddings, models and retention, and is what the server
 * calls. Read the constructor first: it is a parts list.
 */
import { inBackground, type Log } from '../base/index.js'
import { ServiceError, type HealthReason } from '../contract/index.js'
import { ModelError, type Model, type ModelAbsence } from '../model/index.js'
import type { PoolState, WeightsSetting, WeightsToSet } from '../pool/index.js'
import type { FollowedChanges, ImageKey, Store, StoredCycle } from '../store/index.js'
import { ClockDifference } from './clock-difference.js'
import { Embeddings, type EmbeddingBacklog } from './embeddings/index.js'
import { ImageCounts } from './image-counts.js'
import { Intake, SerialQueue, type CycleLimits, type NewCycle, type AnsweredCycle } from './intake/index.js'
import { ModelFailures } from './model-failures.js'
import { CyclePipeline, type CycleStored } from './pipeline.js'
import { Retention, type RetentionLimits } from './retention.js'
import { ScoringModels } from './scoring-models.js'
import { loadPool, PoolSaver, type LoadedPool } from './stored-pool/index.js'
import { StoredWeights, type InitialWeights } from './stored-weights.js'

export interface CycleServiceParts {
  readonly store: Store
  /** The serving model, or null while none is loaded. */
  readonly model: () => Model | null
  /** Why `model` returns null; null if no version is named. Default: null. */
  readonly modelAbsence?: () => ModelAbsence | null
  /** Why health is `degraded` although a model serves. Default: for no reason. */
  readonly modelWarnings?: () => readonly HealthReason[]
  /** Why the disk has no room for cycles; null if it has. Default: null. */
  readonly diskProblem?: () => HealthReason | null
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Read for each call: they may change. */
  readonly limits: () => CycleLimits
  readonly initialWeights: InitialWeights
  /** Shared by the texts of the posts that enter with one cycle. */
  readonly textEncodeMsMax: number
  /** Read for each step: they may change. Absent: nothing expires. */
  readonly retention?: () => RetentionLimits
  readonly log: Log
}

/** Why the service is degraded. */
export interface ServiceProblem {
  readonly check: 'model' | 'storage' | 'service' | 'disk'
  /**
   * `warn`: the service is ready all the same. A model that fails is one: only a cycle that it scores shows that it works
   * again, and a load balancer must not keep that cycle away.
   */
  readonly severity: 'warn' | 'fail'
  readonly reason: HealthReason
}

const nothingExpires: RetentionLimits = { retainCyclesDays: 0, retainImagesDays: 0, retainOutcomesDays: 0 }
export class CycleService {
  readonly #parts: CycleServiceParts
  /** Receives the bodies of cycles, and has their responses. */
  readonly intake: Intake
  readonly weights: StoredWeights
  readonly images: ImageCounts
  readonly #poolSaver: PoolSaver
  readonly retention: Retention
  /** `ModelLifecycle` calls it. */
  readonly models: ScoringModels
  readonly clocks: ClockDifference
  readonly #queue = new SerialQueue()
  readonly failures: ModelFailures
  readonly #embeddings: Embeddings
  readonly #pipeline: CyclePipeline
  #last: StoredCycle | undefined
  #closing = false

  private constructor(parts: CycleServiceParts, weights: StoredWeights, { pool, saved }: LoadedPool) {
    const { store, clock, textEncodeMsMax, log } = parts
    const queue = this.#queue
    const images = new ImageCounts(store)
    const embeddings = new Embeddings(parts)
    const ended = (): boolean => this.#closing
    const failures = new ModelFailures({ model: parts.model })
    const pipeline = new CyclePipeline(
      { store, clock, limits: parts.limits, weights, images, embeddings, failures, log },
      pool,
    )
    const state = (): CyclePipeline['state'] => pipeline.state
    const models = new ScoringModels({ store, embeddings, images, queue, state, ended, textEncodeMsMax, log })
    const isIdle = (): boolean => queue.isEmpty && !this.#closing
    const poolSaver = new PoolSaver({ store, loaded: saved, state, isIdle, log })
    const retention = new Retention({
      store,
      limits: parts.retention ?? (() => nothingExpires),
      state,
      isRecent: (gallId, postNo) => pipeline.isRecent(gallId, postNo),
      coverBySavedPool: (position) => poolSaver.cover(position),
      isIdle,
      onCyclesExpire: (position) => this.intake.cyclesExpire(position),
      onImagesRemoved: (keys) => this.imagesRemoved(keys),
      log,
    })
    store.onFollowed((changes) => this.#followed(changes))
    pipeline.onStored(() => poolSaver.wake())
    pipeline.onStored(({ call }) => retention.wake(call.receivedAtMs))
    pipeline.onStored(({ plan }) => embeddings.cycleStored(plan.next))
    pipeline.onStored((event) => models.cycleStored(event))
    this.#parts = parts
    this.weights = weights
    this.images = images
    this.#poolSaver = poolSaver
    this.retention = retention
    this.models = models
    this.failures = failures
    this.#embeddings = embeddings
    this.#pipeline = pipeline
    this.clocks = new ClockDifference(log)
    this.intake = new Intake({
      store,
      limits: parts.limits,
      onTimes: (cycle, nowMs, skewMs) => this.clocks.observe(cycle, nowMs, skewMs),
      score: (call) => this.#score(call),
    })
  }

  /** Opens the service in the state that its store holds. */
  static async open(parts: CycleServiceParts): Promise<CycleService> {
    const weights = await StoredWeights.open(parts.store, parts.initialWeights, parts.clock(), parts.log)
    const service = new CycleService(parts, weights, await loadPool(parts))
    // Others may have set weights before the service followed them.
    await weights.reload()
    inBackground('image counts', service.images.load())
    service.#poolSaver.wake()
    return service
  }

  // ---- cycles

  /** True once a body of a cycle has arrived, or the service is closing. */
  get isUsed(): boolean {
    return this.intake.isUsed || this.#closing
  }

  /** The cycle that arrived last. Read once, since health calls ask for it. */
  lastCycle(): StoredCycle | undefined {
    const { store } = this.#parts
    const { position } = this.#pipeline.state
    // A write that failed late may have stored a cycle that the pool lacks until the next one.
    if (this.#last?.position !== position || store.hasCycle(position + 1)) this.#last = store.lastCycle()
    return this.#last
  }

  get pendingCount(): number {
    return this.#pipeline.state.count
  }

  /** The pool after the newest cycle. A state never changes. */
  get pool(): PoolState {
    return this.#pipeline.state
  }

  /** Calls `listener` for each stored cycle: see `CyclePipeline.onStored`. */
  onStored(listener: (event: CycleStored) => void): void {
    this.#pipeline.onStored(listener)
  }

  /** Cycles that are in progress and that wait. */
  get queuedCount(): number {
    return this.#queue.count('cycle')
  }

  get embeddingBacklog(): EmbeddingBacklog {
    return this.#embeddings.backlog
  }

  /** Why health is `degraded`; empty if it is `ok`. `isStandbyOk`: to be a standby is not a problem. */
  problems(isStandbyOk = false): ServiceProblem[] {
    const { store } = this.#parts
    const problems = this.#modelProblems()
    const fail = (check: ServiceProblem['check'], reason: HealthReason) =>
      problems.push({ check, severity: 'fail', reason })
    if (store.role === 'standby' && !isStandbyOk) fail('service', { code: 'standby' })
    if (!store.healthy) fail('storage', { code: 'storage_refuses' })
    if (this.#closing) fail('service', { code: 'shutting_down' })
    const diskProblem = this.#parts.diskProblem?.() ?? null
    if (diskProblem !== null) fail('disk', diskProblem)
    return problems
  }

  #modelProblems(): ServiceProblem[] {
    const { model, modelAbsence, modelWarnings } = this.#parts
    const problems: ServiceProblem[] = []
    const failure = this.failures.current
    const isLoaded = model() !== null || (failure !== null && modelAbsence?.()?.isRestarting === true)
    if (failure !== null) {
      const { reason: problem, cycleCount: cycles } = failure
      const severity = isLoaded ? 'warn' : 'fail'
      problems.push({ check: 'model', severity, reason: { code: 'model_fails', problem, cycles } })
    } else if (!isLoaded) problems.push({ check: 'model', severity: 'fail', reason: { code: 'no_model' } })
    for (const reason of modelWarnings?.() ?? []) problems.push({ check: 'model', severity: 'warn', reason })
    return problems
  }

  async #score(call: NewCycle): Promise<AnsweredCycle> {
    this.#requireModel(call)
    return unavailableWhenModelFails(() =>
      this.#queue.run('cycle', () => this.#pipeline.process(call, this.#requireModel(call))),
    )
  }

  /** The model for a cycle that would begin now. Throws `unavailable`. */
  #requireModel({ cycle }: NewCycle): Model {
    this.#throwIfClosing()
    const model = this.#parts.model()
    if (model !== null) return model
    const absence = this.#parts.modelAbsence?.() ?? null
    if (absence !== null) this.failures.absent(cycle.cycleId, absence)
    throw new ServiceError({ code: 'no_model' })
  }

  #throwIfClosing(): void {
    if (this.#closing) throw new ServiceError({ code: 'shutting_down' })
  }

  // ---- images

  /** The image is durable. */
  imageStored(key: ImageKey): void {
    this.images.add(key)
    // The image is durable, whatever the records of its post look like.
    inBackground('image encoding', () => this.#embeddings.imageStored(key))
  }

  /** The store has removed the images. */
  imagesRemoved(keys: readonly ImageKey[]): void {
    for (const key of keys) {
      this.images.remove(key)
      this.#embeddings.imageRemoved(key)
    }
  }

  // ---- other processes of the environment

  /** Brings memory up to date with the store, between two cycles. */
  async #followed({ isComplete, imagesStored, imagesRemoved }: FollowedChanges): Promise<void> {
    const { store, textEncodeMsMax } = this.#parts
    this.intake.forgetResponses()
    this.#last = undefined
    await this.#queue.run('model', async () => {
      await this.weights.reload()
      await this.#pipeline.follow(isComplete)
      if (isComplete) {
        await this.#countImages()
        this.#embeddings.clear()
      } else {
        this.imagesRemoved(imagesRemoved)
        for (const key of imagesStored) this.imageStored(key)
      }
      const untilMs = performance.now() + textEncodeMsMax
      const late = (): boolean => this.#closing || performance.now() > untilMs
      await this.#embeddings.followed(() => this.#pipeline.state, late)
    })
    if (store.mayWrite) this.#embeddings.completeImages(() => this.#pipeline.state)
  }

  /** A record that cannot be read must not keep this process from serving: each cycle then reads the store instead. */
  async #countImages(): Promise<void> {
    try {
      await this.images.reload()
    } catch (err) {
      this.#parts.log.error({ err }, 'images could not be counted; each cycle reads the store instead')
    }
  }

  // ---- weights

  /**
   * Sets weights after the cycles in the queue, so that none of them is overtaken. A request for the current weights gets
   * its response at once, unless other weights are in the queue: those would become current first.
   */
  async setWeights(request: WeightsToSet, signal?: AbortSignal): Promise<WeightsSetting> {
    const current = this.weights.currentIfEqual(request)
    if (current !== null && this.#queue.count('weights') === 0) return current
    this.#throwIfClosing()
    const set = (): Promise<WeightsSetting> =>
      this.weights.set(request, this.#parts.clock(), this.#pipeline.state.newestCycleMs)
    return this.#queue.run('weights', set, signal)
  }

  // ---- end

  /** Refuses cycles that have not begun, and waits for the one in progress. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#queue.drained()
    await this.retention.done()
    await this.#poolSaver.close()
  }
}

/** Turns a `ModelError` into 503. */
async function unavailableWhenModelFails<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    throw new ServiceError({ code: 'model_failed' }, { cause: error })
  }
}
