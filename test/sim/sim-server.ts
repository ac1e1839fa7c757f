/**
 * The simulated server process: its incarnations, from boot to crash or shutdown, and its models. The seed decides the
 * outcome of writes and the failures of models.
 */
import { silentLog } from '../../src/base/index.js'
import { CycleService } from '../../src/cycle/index.js'
import type { RetentionLimits } from '../../src/cycle/retention.js'
import { StoreError } from '../../src/store/index.js'
import type { Random } from '../harness/rng.js'
import { fail } from './oracle.js'
import { clientIncarnation, type Scheduler } from './scheduler.js'
import type { SimDisk } from './sim-disk.js'
import { SimModel } from './sim-model.js'
import { SimStore, type StoredWrite, type WriteFate } from './sim-store.js'
import { weightsSets } from './workload.js'

export const cyclesWaitingMax = 2
export const clockSkewMs = 2000

export interface SimServerParts {
  readonly scheduler: Scheduler
  /** It outlives every incarnation. */
  readonly disk: SimDisk
  readonly retention: RetentionLimits
  readonly nowMs: () => number
  /** True once faults have ended. */
  readonly faultsEnded: () => boolean
  /** True while half of the removals of expired records fail. */
  readonly removalsFail: () => boolean
  /** Calls in progress. */
  readonly callCount: () => number
  readonly onStored: (write: StoredWrite) => void
  readonly onFault: () => void
  readonly onCrash: () => void
  readonly onSavedPoolDamaged: () => void
  /** Called when an incarnation has ended: its calls get no response. */
  readonly onDown: () => void
  readonly onFailure: (error: unknown) => void
  /** Runs work and reports what it throws as a failure of the run. */
  readonly guard: (work: () => void) => void
  /** Runs an event of the clients after a random delay. */
  readonly later: (label: string, run: () => void) => void
}

export class SimServer {
  readonly #parts: SimServerParts
  readonly #random: Random
  /** Probabilities of faults in this run. */
  readonly faultRate: number
  readonly #modelFailing: number

  incarnation = clientIncarnation
  store: SimStore | null = null
  service: CycleService | null = null
  closing = false
  /** The model that serves. */
  serving: SimModel | null = null
  /** True while the service has no model, although one is loaded. */
  absent = false
  /** Index of the version that should serve. */
  active: number
  swapping = false
  readonly #shadows = new Map<string, SimModel>()
  #shadowsChanging = false

  constructor(parts: SimServerParts) {
    this.#parts = parts
    this.#random = parts.scheduler.random
    this.faultRate = this.#random.pick([0, 0.05, 0.15, 0.3])
    this.#modelFailing = this.#random.pick([0, 0, 0.1, 0.3])
    this.active = this.#random.below(versions.length)
  }

  /** Chooses the version that should serve. */
  activate(): void {
    this.active = this.#random.below(versions.length)
    this.swap()
  }

  boot(): void {
    if (this.store !== null) return
    const incarnation = ++this.incarnation
    this.closing = false
    if (this.#random.chance(poolDamageRate) && this.#parts.disk.damageSavedPool())
      this.#parts.onSavedPoolDamaged()
    const store = new SimStore({
      disk: this.#parts.disk,
      scheduler: this.#parts.scheduler,
      incarnation,
      fate: (isRemoval) => this.#fate(isRemoval),
      crash: () => this.crash(),
      onFault: () => this.#parts.onFault(),
      stored: (write) => this.#parts.guard(() => this.#parts.onStored(write)),
    })
    this.store = store
    const log =
      (level: string) =>
      (fields: object, message: string): void => {
        this.#parts.scheduler.note(`${level} ${message}`)
        this.#parts.guard(() => checkLogLine(fields, message))
      }
    CycleService.open({
      store,
      model: () => (this.absent ? null : this.serving),
      clock: () => this.#parts.nowMs(),
      limits: () => ({ clockSkewMs, cyclesWaitingMax }),
      textEncodeMsMax: 1000,
      retention: () => this.#parts.retention,
      initialWeights: { version: 'initial', weights: weightsSets[0] },
      log: { ...silentLog, warn: log('warn'), error: log('error') },
    }).then(
      (service) => {
        this.service = service
        this.swap()
      },
      (error: unknown) => {
        if (!(error instanceof StoreError)) this.#parts.onFailure(error)
        // The process ends, with the calls that it has.
        this.#end()
        this.#parts.later('boot', () => this.boot())
      },
    )
  }

  /** SIGKILL: drops all events of the service. Its clients get no response. */
  crash(): void {
    if (this.store === null) return
    this.#parts.onCrash()
    this.#end()
    if (!this.#parts.faultsEnded()) this.#parts.later('boot', () => this.boot())
  }

  #end(): void {
    this.#parts.scheduler.end(this.incarnation)
    this.#parts.onFault()
    this.service = null
    this.store = null
    this.serving = null
    this.swapping = false
    this.#shadows.clear()
    this.#shadowsChanging = false
    this.#parts.onDown()
  }

  /** SIGTERM: the service finishes what has begun. */
  async shutDown(service: CycleService): Promise<void> {
    const incarnation = this.incarnation
    this.closing = true
    await service.close()
    while (this.#parts.callCount() > 0)
      await this.#parts.scheduler.after({ label: 'wait for calls', incarnation, delaySteps: 5 })
    await this.store?.close()
    this.#end()
    this.#parts.later('boot', () => this.boot())
  }

  #model(version: string): SimModel {
    const encoder = version.includes('text') ? `encoder-${version.at(-1)}` : null
    const incarnation = this.incarnation
    return new SimModel({
      version,
      encoder,
      scheduler: this.#parts.scheduler,
      incarnation: () => incarnation,
      failing: () =>
        this.#parts.faultsEnded() ? 0 : version.startsWith('failing') ? 0.5 : this.#modelFailing,
      onFault: () => this.#parts.onFault(),
      delayStepsMax: version.startsWith('slow') ? 60 : 10,
    })
  }

  /** Makes the active model serve, between two cycles. */
  swap(): void {
    const service = this.service
    if (service === null || this.swapping) return
    const before = this.serving
    const version = versions[this.active] as string
    if (before?.version === version) return
    const model = this.#model(version)
    this.swapping = true
    const end = (): void => {
      this.swapping = false
    }
    service.models
      .adopt(model, before, () => {
        this.#parts.scheduler.note(`${version} takes over`)
        this.serving = model
        this.#parts.onFault()
      })
      .then(end, end)
  }

  changeShadow(): void {
    const service = this.service
    if (service === null || this.#shadowsChanging) return
    const version = this.#random.pick(shadowVersions)
    const existing = this.#shadows.get(version)
    const model = existing ?? this.#model(version)
    this.#shadowsChanging = true
    const changed =
      existing === undefined ? service.models.addShadow(model) : service.models.removeShadow(model)
    changed
      .then(
        () => {
          if (existing === undefined) this.#shadows.set(version, model)
          else this.#shadows.delete(version)
        },
        () => undefined,
      )
      .finally(() => (this.#shadowsChanging = false))
  }

  #fate(isRemoval: boolean): WriteFate {
    const rate =
      isRemoval && this.#parts.removalsFail() ? 0.5 : this.#parts.faultsEnded() ? 0 : this.faultRate
    if (!this.#random.chance(rate)) return this.#random.chance(0.1) ? 'slow' : 'done'
    return this.#random.pick(['refused', 'late failure', 'late failure', 'crash before', 'crash after'])
  }
}

/** Share of the starts that find the newest saved pool damaged. */
const poolDamageRate = 0.5

/** Reasons for which a shadow may skip a cycle. Any other reason is a failure. */
const expectedReasons = /still scoring an earlier cycle|simulated failure|failed after it was stored/

function checkLogLine(fields: object, message: string): void {
  const { reason, err } = fields as { reason?: string; err?: unknown }
  if (message.startsWith('expired records') && !(err instanceof StoreError)) throw err
  if (reason !== undefined && !expectedReasons.test(reason)) fail(`${message}: ${reason}`)
}

/** A model with `text` in its name has a text encoder, named by the last letter. */
const versions = ['plain-1', 'plain-2', 'text-a', 'other-text-a', 'text-b'] as const
const shadowVersions = ['slow-plain', 'slow-text-a', 'failing-text-b', 'quick-text-c'] as const
