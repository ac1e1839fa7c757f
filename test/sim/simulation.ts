/**
 * One simulated run: clients, a service, a disk and a model, all driven by one seed. Read `run` first: faults and calls
 * in random order, then a phase without faults, then a crash, after which every response ever sent is requested again.
 */
import { virtualise } from './virtual-node.js'
import type { Codec } from '../../src/codec/index.js'
import { createMemoryContents } from '../../src/store/index.js'
import { Random } from '../fuzz/random.js'
import { cycleMs } from '../helpers/bodies.js'
import { fail, Oracle, same } from './oracle.js'
import { clientIncarnation, Scheduler } from './scheduler.js'
import { SimClients } from './sim-clients.js'
import { SimServer } from './sim-server.js'
import type { StoredWrite } from './sim-store.js'
import { galleries, postNoMax } from './workload.js'

/** Far more steps than any run takes: a run that exceeds it does not terminate. */
const stepsMax = 20_000

/** Event counts of a run, which show that it exercised the service. */
export interface RunFigures {
  steps: number
  calls: number
  acknowledged: number
  stored: number
  crashes: number
  faults: number
  shadowScores: number
  traceSum: number
}

export class SimulationFailure extends Error {
  readonly seed: number
  readonly step: number

  constructor(seed: number, scheduler: Scheduler, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
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
export async function simulate(seed: number, codec: Codec): Promise<RunFigures> {
  const simulation = new Simulation(seed, codec)
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
  readonly #contents = createMemoryContents()
  readonly #oracle = new Oracle(this.#contents)
  readonly #figures: RunFigures = {
    ...{ steps: 0, calls: 0, acknowledged: 0, stored: 0, crashes: 0, faults: 0 },
    ...{ shadowScores: 0, traceSum: 0 },
  }

  readonly #clock = { nowMs: cycleMs(0) + 5000 }
  readonly #server: SimServer
  readonly #clients: SimClients

  #opsLeft: number
  #calm = false
  #faultCount = 0
  #failure: unknown = null

  constructor(seed: number, codec: Codec) {
    this.#random = new Random(seed)
    this.scheduler = new Scheduler(this.#random)
    this.#opsLeft = 15 + this.#random.below(30)
    this.#server = new SimServer({
      ...{ scheduler: this.scheduler, codec, contents: this.#contents },
      nowMs: () => this.#clock.nowMs,
      calm: () => this.#calm,
      callCount: () => this.#clients.calls.size,
      onStored: (write) => this.#stored(write),
      onFault: () => this.#fault(),
      onCrash: () => this.#figures.crashes++,
      onDown: () => this.#clients.calls.clear(),
      onFailure: (error) => (this.#failure ??= error),
      guard: (work) => this.#guard(work),
      later: (label, run) => this.#later(label, run),
    })
    this.#clients = new SimClients({
      ...{ scheduler: this.scheduler, random: this.#random, server: this.#server, oracle: this.#oracle },
      ...{ contents: this.#contents, clock: this.#clock, figures: this.#figures },
      calm: () => this.#calm,
      faultCount: () => this.#faultCount,
      guard: (work) => this.#guard(work),
      later: (label, run) => this.#later(label, run),
    })
    virtualise({
      scheduler: this.scheduler,
      incarnation: () => this.#server.incarnation,
      compressionFails: () => !this.#calm && this.#random.chance(this.#server.faultRate / 10),
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
    await this.#calmDown()
    this.#clients.probe()
    await this.#drain()
    this.#server.crash()
    this.#server.boot()
    await this.#calmDown()
    this.#oracle.checkDisk()
    this.#clients.requestAgain()
    await this.#drain()
    this.#clients.probe()
    await this.#drain()
    this.#oracle.checkDisk()
    const { step, traceSum } = this.scheduler
    return { ...this.#figures, steps: step, traceSum, stored: this.#contents.cycles.length }
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
  async #calmDown(): Promise<void> {
    this.#calm = true
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
    const dice = this.#random.below(100)
    if (dice < 38) this.#clients.post(this.#clients.newBody())
    else if (dice < 62) this.#clients.post(this.#clients.knownBody())
    else if (dice < 68) this.#clients.get()
    else if (dice < 74) this.#clients.setWeights()
    else if (dice < 82) this.#clients.putImage()
    else if (dice < 86) {
      this.#server.activate()
    } else if (dice < 92) this.#server.changeShadow()
    else if (dice < 94) {
      this.#server.absent = !this.#server.absent
      this.#fault()
    } else if (dice < 95) {
      if (this.#server.service !== null && !this.#server.closing)
        void this.#server.shutDown(this.#server.service)
    } else if (dice < 95 + 10 * this.#server.faultRate) this.#server.crash()
    else if (this.#server.serving === null) this.#server.swap()
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
      case 'other':
    }
  }

  #cycleStored(position: number): void {
    const cycleId = this.#contents.cycles[position - 1]?.cycleId
    const calls = [...this.#clients.calls].filter((call) => call.cycleId === cycleId)
    const acknowledged = this.#clients.images.slice(0, Math.min(...calls.map((call) => call.imagesBefore)))
    const onDisk = [...this.#contents.images.values()]
    this.#oracle.cycleStored(position, {
      model: this.#server.serving && {
        version: this.#server.serving.version,
        readsTexts: this.#server.serving.text !== null,
      },
      arrivedMs: calls.map((call) => call.arrivedMs),
      images: (post) => ({
        min: new Set(acknowledged.filter((image) => image.post === post).map(({ name }) => name)).size,
        max: onDisk.filter(({ key }) => `${key.gallId}/${key.postNo}` === post).length,
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
    same(JSON.stringify(service.weights.history), JSON.stringify(this.#contents.weights), 'weights in memory')
    const posts = galleries.flatMap((_, code) =>
      Array.from({ length: postNoMax }, (_none, i) => ({ code, postNo: i + 1 })),
    )
    const counts = service.images.column(
      galleries,
      Uint32Array.from(posts, ({ code }) => code),
      Float64Array.from(posts, ({ postNo }) => postNo),
    )
    posts.forEach(({ code, postNo }, i) => {
      const gallId = galleries[code] as string
      const stored = [...this.#contents.images.values()].filter(
        ({ key }) => key.gallId === gallId && key.postNo === postNo,
      )
      same(counts[i], stored.length, `images of ${gallId}/${postNo} in memory`)
    })
  }
}
