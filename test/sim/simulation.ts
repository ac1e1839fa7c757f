/**
 * One simulated run: clients, a service, a disk and a model, all driven by one seed. Read `run` first: faults and calls
 * in random order, then a phase without faults, then a crash, after which every response ever sent is requested again.
 */
import { virtualise } from './virtual-node.js'
import type { RetentionLimits } from '../../src/cycle/retention.js'
import { Random } from '../harness/rng.js'
import { cycleMs } from '../helpers/bodies.js'
import '../helpers/poisoned-memory.js'
import { fail, Oracle, same } from './oracle.js'
import { clientIncarnation, Scheduler } from './scheduler.js'
import { SimClients } from './sim-clients.js'
import { SimServer } from './sim-server.js'
import { SimDisk } from './sim-disk.js'
import type { StoredWrite } from './sim-store.js'
import { dayMs, messageOf } from '../../src/base/index.js'
import { galleries, imagePostNoMax } from './workload.js'

const startMs = cycleMs(0) + 5000
/** Far more steps than any run takes: a run that exceeds it does not terminate. */
const stepsMax = 20_000
/** Cycles after which everything old is deleted: one may continue a search of records that another has begun. */
const idleCycles = 3
/** Days between probes: records expire with some of them. */
const probeDays = [0, 1, 3, 9, 15] as const

/** Event counts of a run, which show that it exercised the service. */
export interface RunFigures {
  steps: number
  calls: number
  acknowledged: number
  stored: number
  crashes: number
  faults: number
  shadowScores: number
  /** Saved pools, and those that were damaged before a start. */
  savedPools: number
  savedPoolsDamaged: number
  /** Cycles, images and outcomes that expired. */
  expired: number
  traceSum: number
}

export class SimulationFailure extends Error {
  readonly seed: number
  readonly step: number

  constructor(seed: number, scheduler: Scheduler, cause: unknown) {
    const reason = messageOf(cause)
    super(
      `seed ${seed}, step ${scheduler.step}: ${reason}\n` +
        scheduler.lastSteps.map((line) => `    ${line}`).join('\n') +
        `\n  replay: SIM_SEED=${seed} npm run test:sim`,
      { cause },
    )
    this.seed = seed
    this.step = scheduler.step
  }
}

/** Runs one seed. Throws a `SimulationFailure` when a guarantee does not hold. */
export async function simulate(seed: number): Promise<RunFigures> {
  const simulation = new Simulation(seed)
  try {
    return await simulation.run()
  } catch (error) {
    throw new SimulationFailure(seed, simulation.scheduler, error)
  } finally {
    simulation.end()
  }
}

class Simulation {
  readonly scheduler: Scheduler
  readonly #random: Random
  readonly #disk = new SimDisk()
  readonly #oracle: Oracle
  readonly #figures: RunFigures = {
    steps: 0,
    calls: 0,
    acknowledged: 0,
    stored: 0,
    crashes: 0,
    faults: 0,
    shadowScores: 0,
    savedPools: 0,
    savedPoolsDamaged: 0,
    expired: 0,
    traceSum: 0,
  }

  readonly #clock = { nowMs: startMs }
  readonly #server: SimServer
  readonly #clients: SimClients

  #opsLeft: number
  #faultsEnded = false
  #removalsFail = false
  #faultCount = 0
  #failure: unknown = null
  /** True while the clock of the server is days ahead. */
  #isClockAhead = false

  constructor(seed: number) {
    this.#random = new Random(seed)
    this.scheduler = new Scheduler(this.#random)
    this.#opsLeft = 15 + this.#random.below(30)
    const retention: RetentionLimits = {
      retainCyclesDays: this.#random.pick([0, 3, 8, 8, 10]),
      retainImagesDays: this.#random.pick([0, 1, 2, 7]),
      retainOutcomesDays: this.#random.pick([0, 1, 3, 9]),
    }
    this.#oracle = new Oracle(this.#disk, retention)
    this.#server = new SimServer({
      scheduler: this.scheduler,
      disk: this.#disk,
      retention,
      nowMs: () => this.#clock.nowMs,
      faultsEnded: () => this.#faultsEnded,
      removalsFail: () => this.#removalsFail,
      callCount: () => this.#clients.calls.size,
      onStored: (write) => this.#stored(write),
      onFault: () => this.#fault(),
      onCrash: () => this.#figures.crashes++,
      onSavedPoolDamaged: () => this.#figures.savedPoolsDamaged++,
      onDown: () => this.#clients.calls.clear(),
      onFailure: (error) => (this.#failure ??= error),
      guard: (work) => this.#guard(work),
      later: (label, run) => this.#later(label, run),
    })
    this.#clients = new SimClients({
      scheduler: this.scheduler,
      random: this.#random,
      server: this.#server,
      oracle: this.#oracle,
      disk: this.#disk,
      clock: this.#clock,
      figures: this.#figures,
      faultsEnded: () => this.#faultsEnded,
      faultCount: () => this.#faultCount,
      guard: (work) => this.#guard(work),
      later: (label, run) => this.#later(label, run),
    })
    virtualise({
      scheduler: this.scheduler,
      incarnation: () => this.#server.incarnation,
      compressionFails: () => !this.#faultsEnded && this.#random.chance(this.#server.faultRate / 10),
    })
    process.on('unhandledRejection', this.#unhandled)
  }

  end(): void {
    virtualise(null)
    process.off('unhandledRejection', this.#unhandled)
  }

  readonly #unhandled = (reason: unknown): void => {
    this.#failure ??= new Error('an unhandled rejection ends the process', { cause: reason })
  }

  async run(): Promise<RunFigures> {
    this.#server.boot()
    this.#nextOperation()
    await this.#drain()
    await this.#runUntilIdle()
    this.#clients.probe()
    await this.#drain()
    await this.#expire()
    this.#server.crash()
    this.#server.boot()
    await this.#runUntilIdle()
    this.#oracle.checkDisk()
    this.#clients.requestAgain()
    await this.#drain()
    await this.#probeDaysLater()
    await this.#probeDaysLater()
    for (let probe = 0; probe < idleCycles; probe++) {
      this.#clients.probe()
      await this.#drain()
    }
    this.#oracle.checkDisk()
    this.#oracle.retention.checkGone()
    const { step, traceSum } = this.scheduler
    return { ...this.#figures, steps: step, traceSum, stored: this.#disk.lastPosition }
  }

  /** Days pass, and only removals of what has expired fail. At the end, one is in progress. */
  async #expire(): Promise<void> {
    this.#removalsFail = true
    for (let round = 0; round < 2; round++) {
      this.#clients.putOutcome()
      this.#clients.putImage()
      await this.#drain()
      await this.#probeDaysLater()
      await this.#runUntilIdle()
    }
    this.#clients.probe(this.#random.pick(probeDays))
    // What the call has begun belongs to the service before the crash.
    await this.scheduler.settle()
    const stepCount = this.#random.below(60)
    for (let step = 0; step < stepCount; step++) await this.scheduler.next()
    this.#removalsFail = false
  }

  async #probeDaysLater(): Promise<void> {
    this.#clients.probe(this.#random.pick(probeDays), this.#random.pick([0, 0.2, 0.5]))
    await this.#drain()
  }

  async #drain(): Promise<void> {
    await this.scheduler.settle()
    while (await this.scheduler.next()) {
      this.#clock.nowMs += this.#random.below(20)
      if (this.#failure !== null) throw this.#failure as Error
      if (this.#clients.calls.size === 0) this.#checkIdle()
      if (this.scheduler.step > stepsMax) fail('the run does not terminate')
    }
    for (const { what } of this.#clients.calls) fail(`${what} gets no response`)
  }

  /** Ends the faults and waits until the service runs and has its model. */
  async #runUntilIdle(): Promise<void> {
    this.#faultsEnded = true
    await this.#drain()
    this.#server.absent = false
    this.#server.boot()
    await this.#drain()
    if (this.#server.serving === null) this.#server.swap()
    await this.#drain()
    if (this.#server.serving === null) fail('no model serves although nothing fails')
  }

  // ---- faults

  #fault(): void {
    this.#faultCount++
    this.#figures.faults++
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#failure ??= error
    }
  }

  // ---- operations of the driver

  #later(label: string, run: () => void): void {
    this.scheduler.add({ label, incarnation: clientIncarnation, delaySteps: this.#random.below(20) }, run)
  }

  #nextOperation(): void {
    if (this.#opsLeft-- === 0) return
    const delaySteps = this.#random.chance(0.5) ? 0 : this.#random.below(15)
    this.scheduler.add({ label: 'driver', incarnation: clientIncarnation, delaySteps }, () => {
      this.#guard(() => this.#operate())
      this.#nextOperation()
    })
  }

  #operate(): void {
    const choice = this.#random.below(100)
    if (choice < 37) this.#clients.post(this.#clients.newBody())
    else if (choice < 59) this.#clients.post(this.#clients.knownBody())
    else if (choice < 65) this.#clients.get()
    else if (choice < 70) this.#clients.setWeights()
    else if (choice < 78) this.#clients.putImage()
    else if (choice < 81) this.#clients.putOutcome()
    else if (choice < 83) this.#moveClock()
    else if (choice < 86) {
      this.#server.activate()
    } else if (choice < 92) this.#server.changeShadow()
    else if (choice < 94) {
      this.#server.absent = !this.#server.absent
      this.#fault()
    } else if (choice < 95) {
      if (this.#server.service !== null && !this.#server.closing)
        void this.#server.shutDown(this.#server.service)
    } else if (choice < 95 + 10 * this.#server.faultRate) this.#server.crash()
    else if (this.#server.serving === null) this.#server.swap()
  }

  /** The server's clock jumps ahead by days, or back to the right time: then no work in progress may have read it. */
  #moveClock(): void {
    const { service, store } = this.#server
    if (!this.#isClockAhead) this.#clock.nowMs += this.#random.pick([9, 20, 400]) * dayMs
    else if (this.#clients.calls.size > 0 || service === null || store?.writing !== 0) return
    else this.#clock.nowMs = Math.max(startMs, this.#oracle.newestMs)
    this.#isClockAhead = !this.#isClockAhead
  }

  // ---- checks

  #stored(write: StoredWrite): void {
    switch (write.kind) {
      case 'cycle': {
        this.#cycleStored(write.position)
        return
      }
      case 'weights': {
        this.#oracle.weightsStored(write.entry, this.#clock.nowMs)
        return
      }
      case 'shadow':
        this.#figures.shadowScores++
        {
          this.#oracle.shadowStored(write.position, write.modelVersion, write.scores)
          return
        }
      case 'cycles removed': {
        this.#figures.expired += write.cycles.length
        this.#oracle.retention.cyclesRemoved(write.cycles)
        return
      }
      case 'entries removed': {
        this.#oracle.retention.entriesRemoved(write.positions)
        return
      }
      case 'records removed': {
        this.#figures.expired += write.positions.length
        return
      }
      case 'images removed': {
        this.#figures.expired += write.images.length
        this.#oracle.retention.imagesRemoved(write.images)
        this.#clients.imagesRemoved(write.images.map(({ key }) => key))
        return
      }
      case 'outcomes removed': {
        this.#figures.expired += write.outcomes.length
        this.#oracle.retention.outcomesRemoved(write.outcomes)
        return
      }
      case 'saved pool':
        this.#figures.savedPools++
        return
      case 'other':
    }
  }

  #cycleStored(position: number): void {
    const cycleId = this.#disk.cycleAt(position).cycleId
    const calls = [...this.#clients.calls].filter((call) => call.cycleId === cycleId)
    const acknowledged = this.#clients.images.slice(0, Math.min(...calls.map((call) => call.imagesBefore)))
    const onDisk = this.#disk.images()
    // An image can leave the disk after a cycle has counted it.
    const removed = this.#clients.removedImages.slice(Math.min(...calls.map((call) => call.removedBefore)))
    this.#oracle.cycleStored(position, {
      model: this.#server.serving && {
        version: this.#server.serving.version,
        readsTexts: this.#server.serving.text !== null,
      },
      arrivedMs: calls.map((call) => call.arrivedMs),
      images: (post) => ({
        min: new Set(
          acknowledged.filter((image) => image.post === post && !image.isRemoved).map(({ name }) => name),
        ).size,
        max:
          onDisk.filter(({ key }) => `${key.gallId}/${key.postNo}` === post).length +
          removed.filter((removedPost) => removedPost === post).length,
      }),
    })
  }

  /** No call is in progress: the state in memory equals the state on disk. */
  #checkIdle(): void {
    const [service, store] = [this.#server.service, this.#server.store]
    if (
      service === null ||
      store === null ||
      store.writing > 0 ||
      this.#server.swapping ||
      this.#server.closing
    )
      return
    same(service.pendingCount, this.#oracle.pendingCount, 'pending posts')
    const { current, previous } = service.weights.state()
    const newest = this.#disk.weights().slice(-2)
    const versions = newest.map(({ version }) => version).join()
    same([previous, current].flatMap((one) => one?.version ?? []).join(), versions, 'weights in memory')
    const posts = galleries.flatMap((_, code) =>
      Array.from({ length: imagePostNoMax }, (_none, i) => ({ code, postNo: i + 1 })),
    )
    const counts = service.images.column(
      galleries,
      Uint32Array.from(posts, ({ code }) => code),
      Float64Array.from(posts, ({ postNo }) => postNo),
    )
    const images = this.#disk.images()
    posts.forEach(({ code, postNo }, i) => {
      const gallId = galleries[code] as string
      const stored = images.filter(({ key }) => key.gallId === gallId && key.postNo === postNo)
      same(counts[i], stored.length, `images of ${gallId}/${postNo} in memory`)
    })
  }
}
