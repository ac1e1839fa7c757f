/**
 * One simulated run: clients, a service, a disk and a model, all driven by one seed. Read `run` first: faults and calls
 * in random order, then a phase without faults, then a crash, after which every response ever sent is requested again.
 */
import { CompressionFailed, virtualise } from './virtual-node.js'
import type { CycleService } from '../../src/cycle/index.js';
import { StageClock } from '../../src/cycle/index.js'
import type { Codec } from '../../src/codec/index.js'
import { cycleIdOf, ServiceError, type CycleRequest } from '../../src/contract/index.js'
import { createMemoryContents, StoreError, type ImageKey, type StoredImage } from '../../src/store/index.js'
import { Random } from '../fuzz/random.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { fail, Oracle, same } from './oracle.js'
import { clientIncarnation, Scheduler } from './scheduler.js'
import { clockSkewMs, cyclesWaitingMax, SimServer } from './sim-server.js'
import type { StoredWrite } from './sim-store.js'
import {
  bodyOf,
  galleries,
  otherCycle,
  postNoMax,
  randomCycle,
  weightsSets,
  type SentBody,
} from './workload.js'

/** Far more steps than any run takes: a run that exceeds it does not terminate. */
const stepsMax = 20_000
/** In cycles: a cycle that is so much later expires all tombstones. */
const eightDays = 8 * 24 * 12

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

interface Call {
  readonly what: string
  readonly cycleId: string | null
  readonly arrivedMs: number
  /** Number of images acknowledged before the call. */
  readonly imagesBefore: number
  readonly faultsBefore: number
  readonly hadModel: boolean
  /** Number of cycles without a response when the call began. */
  readonly cyclesBefore: number
  readonly incarnation: number
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

  #nowMs = cycleMs(0) + 5000
  readonly #server: SimServer

  #opsLeft: number
  /** Bounds the repeats, whose number would otherwise grow without limit. */
  #repeatsLeft = 40
  #calm = false
  #faultCount = 0
  #failure: unknown = null

  readonly #calls = new Set<Call>()
  readonly #cycles = new Map<number, CycleRequest>()
  readonly #acknowledged = new Set<string>()
  readonly #images: { readonly post: string; readonly name: string }[] = []

  constructor(seed: number, codec: Codec) {
    this.#random = new Random(seed)
    this.scheduler = new Scheduler(this.#random)
    this.#opsLeft = 15 + this.#random.below(30)
    this.#server = new SimServer({
      ...{ scheduler: this.scheduler, codec, contents: this.#contents },
      nowMs: () => this.#nowMs,
      calm: () => this.#calm,
      callCount: () => this.#calls.size,
      onStored: (write) => this.#stored(write),
      onFault: () => this.#fault(),
      onCrash: () => this.#figures.crashes++,
      onDown: () => this.#calls.clear(),
      onFailure: (error) => (this.#failure ??= error),
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
    this.#probe()
    await this.#drain()
    this.#server.crash()
    this.#server.boot()
    await this.#calmDown()
    this.#oracle.checkDisk()
    this.#requestAgain()
    await this.#drain()
    this.#probe()
    await this.#drain()
    this.#oracle.checkDisk()
    const { step, traceSum } = this.scheduler
    return { ...this.#figures, steps: step, traceSum, stored: this.#contents.cycles.length }
  }

  async #drain(): Promise<void> {
    await this.scheduler.settle()
    while (await this.scheduler.next()) {
      this.#nowMs += this.#random.below(20)
      if (this.#failure !== null) throw this.#failure as Error
      if (this.#calls.size === 0) this.#checkIdle()
      if (this.scheduler.step > stepsMax) fail('the run does not terminate')
    }
    for (const { what } of this.#calls) fail(`${what} gets no response`)
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
    if (dice < 38) this.#post(this.#newBody())
    else if (dice < 62) this.#post(this.#knownBody())
    else if (dice < 68) this.#get()
    else if (dice < 74) this.#setWeights()
    else if (dice < 82) this.#putImage()
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

  /** The next cycle, a late one, or one in the future. */
  #newBody(): SentBody {
    const newest = Math.max(-1, ...this.#cycles.keys())
    const late = newest > 2 && this.#random.chance(0.2) ? this.#random.below(newest) : -1
    const index =
      late >= 0 && !this.#cycles.has(late)
        ? late
        : newest + (this.#random.chance(0.02) ? eightDays : 1 + this.#random.below(2))
    const isFuture = this.#random.chance(0.05)
    if (!isFuture) this.#nowMs = Math.max(this.#nowMs, cycleMs(index) + this.#random.below(1000))
    const cycle = this.#cycles.get(index) ?? randomCycle(this.#random, index)
    this.#cycles.set(index, cycle)
    return bodyOf(cycle, index, this.#random.pick(['plain', 'plain', 'gzip']))
  }

  #knownBody(): SentBody {
    if (this.#cycles.size === 0) return this.#newBody()
    const recent = [...this.#cycles.keys()].slice(-4)
    const index = this.#random.pick(this.#random.chance(0.7) ? recent : [...this.#cycles.keys()])
    const cycle = this.#cycles.get(index) as CycleRequest
    const sent = this.#random.chance(0.25) ? otherCycle(this.#random, cycle) : cycle
    return bodyOf(sent, index, this.#random.pick(['plain', 'respelled', 'gzip']))
  }

  // ---- calls

  #begin(what: string, cycleId: string | null): Call {
    const call: Call = {
      ...{ what, cycleId, arrivedMs: this.#nowMs, incarnation: this.#server.incarnation },
      imagesBefore: this.#images.length,
      faultsBefore: this.#faultCount,
      hadModel: !this.#server.absent && this.#server.serving !== null,
      cyclesBefore: new Set([...this.#calls].flatMap(({ cycleId: id }) => id ?? [])).size,
    }
    this.#calls.add(call)
    this.#figures.calls++
    return call
  }

  /** Checks the result of a call, unless the service crashed meanwhile. */
  #settle<Result>(
    call: Call,
    promise: Promise<Result>,
    accept: (result: Result) => void,
    refuse: (error: unknown) => void,
  ): void {
    promise.then(
      (result) => {
        this.#calls.delete(call)
        this.scheduler.note(`${call.what} is answered`)
        this.#guard(() => accept(result))
      },
      (error: unknown) => {
        this.#calls.delete(call)
        this.scheduler.note(
          `${call.what} is refused: ${error instanceof Error ? error.message : String(error)}`,
        )
        this.#guard(() => refuse(error))
      },
    )
  }

  #post(sent: SentBody): void {
    if (this.#random.chance(0.3)) this.#postLater(sent) // The client sends the cycle twice.
    const service = this.#server.service
    if (service === null || this.#random.chance(0.03)) {
      this.#postLater(sent)
      return
    } // The request is lost.
    this.#oracle.sent(sent)
    const call = this.#begin(`cycle ${sent.cycleId}`, sent.cycleId)
    const buffer = Buffer.concat([sent.json, Buffer.alloc(64)])
    const json = buffer.subarray(0, sent.json.length)
    const gzip = sent.gzip && Buffer.from(sent.gzip)
    // The server uses a body's memory again as soon as its call is answered.
    const reuse = (): void => {
      buffer.fill('x')
      gzip?.fill('x')
    }
    const response = service.submit({ json, gzip }, call.arrivedMs, new StageClock(0)).finally(reuse)
    this.#settle(
      call,
      response,
      (bytes) => {
        if (this.#isFuture(sent, call)) fail('a cycle in the future is accepted')
        this.#oracle.responded(sent.cycleId, sent.canonical, bytes)
        this.#acknowledged.add(sent.cycleId)
        this.#figures.acknowledged++
        this.#sending(sent.cycleId, bytes)
        if (!this.#calm && this.#random.chance(0.15)) this.#postLater(sent) // The response is lost.
      },
      (error) => this.#refused(sent, call, error),
    )
  }

  /** Sending the response takes a while; its bytes must not change meanwhile. */
  #sending(cycleId: string, response: Uint8Array): void {
    const copy = Buffer.from(response)
    const sent = {
      label: `sent ${cycleId}`,
      incarnation: this.#server.incarnation,
      delaySteps: this.#random.below(8),
    }
    this.scheduler.add(sent, () => {
      if (!copy.equals(response)) fail(`the response to ${cycleId} changed while it was sent`)
    })
  }

  #postLater(sent: SentBody): void {
    if (!this.#calm && this.#repeatsLeft-- > 0)
      this.#later(`repeat ${sent.cycleId}`, () => this.#guard(() => this.#post(sent)))
  }

  #isFuture(sent: SentBody, call: Call): boolean {
    return sent.cycleAtMs > call.arrivedMs + clockSkewMs
  }

  #refused(sent: SentBody, call: Call, error: unknown): void {
    const status = error instanceof ServiceError ? error.status : 500
    // Overload is reported before a body is checked.
    if (this.#isFuture(sent, call) && status !== 503) {
      same(status, 422, 'status of a cycle in the future')
      return
    }
    if (status === 409) {
      this.#oracle.conflicted(sent.cycleId, sent.canonical)
      return
    }
    // Compression that runs out of memory is an unexpected failure: 500, and the service continues.
    if (status === 500 && error instanceof CompressionFailed) return
    if (status !== 503) throw error
    this.#explain(call, error)
    if (this.#random.chance(0.8)) this.#postLater(sent)
  }

  /** Checks that a 503 has a reason: a fault, or too many calls at once. */
  #explain(call: Call, error: unknown): void {
    if (!call.hadModel || this.#server.closing || this.#faultCount > call.faultsBefore) return
    if (call.cyclesBefore > cyclesWaitingMax) return
    fail(`503 without a reason: ${error instanceof Error ? error.message : String(error)}`)
  }

  #get(): void {
    const service = this.#server.service
    if (service === null || this.#cycles.size === 0) return
    const cycleId = cycleIdOf(cycleMs(this.#random.pick([...this.#cycles.keys()])))
    this.#read(service, cycleId)
    same(service.lastCycle()?.cycleId, this.#contents.cycles.at(-1)?.cycleId, 'the last cycle')
  }

  #read(service: CycleService, cycleId: string): void {
    try {
      this.#oracle.responded(cycleId, null, service.response(cycleId))
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status !== 404) throw error
      if (this.#oracle.isStored(cycleId)) fail(`${cycleId} is stored and not found`)
    }
  }

  #setWeights(): void {
    const service = this.#server.service
    if (service === null) return
    const version = this.#random.pick(['initial', 'w1', 'w2', 'w3'])
    const usual = weightsSets[Number(version.slice(1)) || 0] as (typeof weightsSets)[0]
    const weights = this.#random.chance(0.15) ? { ...usual, up: 0.125 } : usual
    const call = this.#begin(`weights ${version}`, null)
    const entryOf = (): string | undefined => {
      const entry = this.#contents.weights.findLast((stored) => stored.version === version)
      return entry && JSON.stringify(entry.weights)
    }
    this.#settle(
      call,
      service.setWeights({ version, weights, note: '' }),
      (setting) => {
        same(entryOf(), JSON.stringify(weights), `weights ${version} on the disk`)
        if (!this.#contents.weights.some(({ firstCycleMs }) => firstCycleMs === setting.firstCycleMs))
          fail(`weights ${version} are acknowledged for a time that is not stored`)
      },
      (error) => {
        const status = error instanceof ServiceError ? error.status : 500
        if (status === 409) {
          if (entryOf() === JSON.stringify(weights)) fail(`weights ${version} conflict with themselves`)
        } else if (status === 503) this.#explain(call, error)
        else throw error
      },
    )
  }

  /** Stores an image as the server does, without decoding. */
  #putImage(): void {
    const [service, store] = [this.#server.service, this.#server.store]
    if (service === null || store === null) return
    const key: ImageKey = {
      gallId: this.#random.pick(galleries),
      postNo: 1 + this.#random.below(postNoMax),
      position: 1 + this.#random.below(3),
    }
    const image = imageOf(1 + (this.#random.below(5) % 2))
    const name = `${key.gallId}/${key.postNo}/${key.position}`
    const isStored = (): boolean => {
      const hash = store.closed ? undefined : store.readImageHash(key)
      return hash !== undefined && Buffer.compare(hash, image.sha256) === 0
    }
    this.#settle(
      this.#begin(`image ${name}`, null),
      store.putImage(key, image).catch((error: unknown) => {
        // A write that failed late may have reached the disk.
        if (isStored()) service.imageStored(key)
        throw error
      }),
      (result) => {
        same(result === 'different', !isStored(), `image ${name} on the disk`)
        if (result !== 'created') return
        service.imageStored(key)
        this.#images.push({ post: `${key.gallId}/${key.postNo}`, name })
      },
      (error) => {
        if (!(error instanceof StoreError)) throw error
      },
    )
  }

  // ---- checks

  #stored(write: StoredWrite): void {
    switch (write.kind) {
      case 'cycle': {
        this.#cycleStored(write.position)
        return
      }
      case 'weights': {
        this.#oracle.weightsStored(write.entry, this.#nowMs)
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
    const calls = [...this.#calls].filter((call) => call.cycleId === cycleId)
    const acknowledged = this.#images.slice(0, Math.min(...calls.map((call) => call.imagesBefore)))
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

  /** Sends a cycle with engagement of every post. It must be answered, and the oracle checks the response. */
  #probe(): void {
    const service = this.#server.service ?? fail('there is no service')
    const index = Math.max(-1, ...this.#cycles.keys()) + 1
    this.#nowMs = Math.max(this.#nowMs, cycleMs(index))
    const posts = galleries.flatMap((gallId) =>
      Array.from({ length: postNoMax }, (_, i) => [gallId, i + 1] as const),
    )
    const cycle = cycleBody(index, {
      candidates: [candidate('g', 1)],
      engagement: posts.map((post) => reading(...post, cycleMs(index))),
    })
    this.#cycles.set(index, cycle)
    this.#mustAnswer(service, bodyOf(cycle, index, 'plain'))
  }

  /** After a crash: every response ever sent is still there, for GET and for a retry. */
  #requestAgain(): void {
    const service = this.#server.service ?? fail('there is no service')
    for (const cycleId of this.#acknowledged) this.#read(service, cycleId)
    for (const cycleId of this.#oracle.storedIds.slice(-4))
      this.#mustAnswer(service, this.#oracle.bodyOf(cycleId))
  }

  #mustAnswer(service: CycleService, sent: SentBody): void {
    this.#oracle.sent(sent)
    const call = this.#begin(`cycle ${sent.cycleId}`, sent.cycleId)
    this.#settle(
      call,
      service.submit({ json: Buffer.from(sent.json), gzip: null }, call.arrivedMs, new StageClock(0)),
      (bytes) => this.#oracle.responded(sent.cycleId, sent.canonical, bytes),
      (error) => {
        throw error
      },
    )
  }
}

function imageOf(variant: number): StoredImage {
  return {
    sha256: new Uint8Array(32).fill(variant),
    uploadedBytes: 10,
    width: 4,
    height: 3,
    normalised: Uint8Array.of(0xff, 0xd8, variant),
  }
}
