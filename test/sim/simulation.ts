/**
 * One simulated run: clients, a service, a disk and a model, all driven by one seed. Read `run` first: faults and calls
 * in random order, then a phase without faults, then a crash, after which every response ever sent is requested again.
 */
import { CompressionFailed, virtualise } from './virtual-node.js'
import { StageClock, CycleService } from '../../src/cycle/index.js'
import type { Codec } from '../../src/codec/index.js'
import { cycleIdOf, ServiceError, type CycleRequest } from '../../src/contract/index.js'
import { createMemoryContents, StoreError, type ImageKey, type StoredImage } from '../../src/store/index.js'
import { Random } from '../fuzz/random.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { fail, Oracle, same } from './oracle.js'
import { clientIncarnation, Scheduler } from './scheduler.js'
import { SimModel } from './sim-model.js'
import { SimStore, type StoredWrite, type WriteFate } from './sim-store.js'
import { bodyOf, galleries, otherCycle, postNoMax, randomCycle, type SentBody } from './workload.js'

const cyclesWaitingMax = 2
const clockSkewMs = 2000
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
  readonly #codec: Codec
  readonly #contents = createMemoryContents()
  readonly #oracle = new Oracle(this.#contents)
  readonly #figures: RunFigures = {
    ...{ steps: 0, calls: 0, acknowledged: 0, stored: 0, crashes: 0, faults: 0 },
    ...{ shadowScores: 0, traceSum: 0 },
  }

  #nowMs = cycleMs(0) + 5000
  #incarnation = clientIncarnation
  #store: SimStore | null = null
  #service: CycleService | null = null
  #closing = false
  /** The model that serves, and the one that the next start takes. */
  #serving: SimModel | null = null
  #active = 0
  #absent = false
  #swapping = false
  readonly #shadows = new Map<string, SimModel>()
  #shadowsChanging = false

  #opsLeft: number
  /** Bounds the repeats, whose number would otherwise grow without limit. */
  #repeatsLeft = 40
  #calm = false
  /** Probabilities of faults in this run. */
  readonly #faultRate: number
  readonly #modelFailing: number
  #faultCount = 0
  #failure: unknown = null

  readonly #calls = new Set<Call>()
  readonly #cycles = new Map<number, CycleRequest>()
  readonly #acknowledged = new Set<string>()
  readonly #images: { readonly post: string; readonly name: string }[] = []

  constructor(seed: number, codec: Codec) {
    this.#codec = codec
    this.#random = new Random(seed)
    this.scheduler = new Scheduler(this.#random)
    this.#opsLeft = 15 + this.#random.below(30)
    this.#faultRate = this.#random.pick([0, 0.05, 0.15, 0.3])
    this.#modelFailing = this.#random.pick([0, 0, 0.1, 0.3])
    virtualise({
      scheduler: this.scheduler,
      incarnation: () => this.#incarnation,
      compressionFails: () => !this.#calm && this.#random.chance(this.#faultRate / 10),
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
    this.#active = this.#random.below(versions.length)
    this.#boot()
    this.#nextOperation()
    await this.#drain()
    await this.#calmDown()
    this.#probe()
    await this.#drain()
    this.#crash()
    this.#boot()
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
    this.#absent = false
    this.#boot()
    await this.#drain()
    if (this.#serving === null) this.#swap()
    await this.#drain()
    if (this.#serving === null) fail('no model serves although nothing fails')
  }

  // ---- starts, crashes and shutdowns of the service

  #boot(): void {
    if (this.#store !== null) return
    const incarnation = ++this.#incarnation
    this.#closing = false
    const store = new SimStore({
      contents: this.#contents,
      scheduler: this.scheduler,
      incarnation,
      fate: () => this.#fate(),
      crash: () => this.#crash(),
      onFault: () => this.#fault(),
      stored: (write) => this.#guard(() => this.#stored(write)),
    })
    this.#store = store
    const log =
      (level: string) =>
      (fields: object, message: string): void => {
        this.scheduler.note(`${level} ${message}`)
        this.#guard(() => checkLogLine(fields, message))
      }
    CycleService.open({
      codec: this.#codec,
      store,
      model: () => (this.#absent ? null : this.#serving),
      clock: () => this.#nowMs,
      limits: () => ({ clockSkewMs, cyclesWaitingMax }),
      textEncodeMsMax: 1000,
      initialWeights: { version: 'initial', weights: weightsSets[0] },
      log: { warn: log('warn'), error: log('error') },
    }).then(
      (service) => {
        this.#service = service
        this.#swap()
      },
      (error: unknown) => {
        if (!(error instanceof StoreError)) this.#failure ??= error
        this.#store = null
        this.#later('boot', () => this.#boot())
      },
    )
  }

  /** SIGKILL: drops all events of the service. Its clients get no response. */
  #crash(): void {
    if (this.#store === null) return
    this.scheduler.end(this.#incarnation)
    this.#figures.crashes++
    this.#down()
    if (!this.#calm) this.#later('boot', () => this.#boot())
  }

  #down(): void {
    this.#fault()
    this.#service = null
    this.#store = null
    this.#serving = null
    this.#swapping = false
    this.#shadows.clear()
    this.#shadowsChanging = false
    this.#calls.clear()
  }

  /** SIGTERM: the service finishes what has begun. */
  async #shutDown(service: CycleService): Promise<void> {
    const incarnation = this.#incarnation
    this.#closing = true
    await service.close()
    while (this.#calls.size > 0)
      await this.scheduler.after({ label: 'wait for calls', incarnation, delaySteps: 5 })
    await this.#store?.close()
    this.scheduler.end(incarnation)
    this.#down()
    this.#later('boot', () => this.#boot())
  }

  #model(version: string): SimModel {
    const encoder = version.includes('text') ? `encoder-${version.at(-1)}` : null
    const incarnation = this.#incarnation
    return new SimModel({
      ...{ version, encoder, scheduler: this.scheduler, incarnation: () => incarnation },
      failing: () => (this.#calm ? 0 : version.startsWith('failing') ? 0.5 : this.#modelFailing),
      onFault: () => this.#fault(),
      delayStepsMax: version.startsWith('slow') ? 60 : 10,
    })
  }

  /** Makes the active model serve, between two cycles. */
  #swap(): void {
    const service = this.#service
    if (service === null || this.#swapping) return
    const before = this.#serving
    const version = versions[this.#active] as string
    if (before?.version === version) return
    const model = this.#model(version)
    this.#swapping = true
    const end = (): void => {
      this.#swapping = false
    }
    service
      .adopt(model, before, () => {
        this.scheduler.note(`${version} takes over`)
        this.#serving = model
        this.#fault()
      })
      .then(end, end)
  }

  #changeShadow(): void {
    const service = this.#service
    if (service === null || this.#shadowsChanging) return
    const version = this.#random.pick(shadowVersions)
    const existing = this.#shadows.get(version)
    const model = existing ?? this.#model(version)
    this.#shadowsChanging = true
    const changed = existing === undefined ? service.addShadow(model) : service.removeShadow(model)
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

  // ---- faults

  #fate(): WriteFate {
    if (this.#calm || !this.#random.chance(this.#faultRate)) return this.#random.chance(0.1) ? 'slow' : 'done'
    return this.#random.pick(['refused', 'late failure', 'late failure', 'crash before', 'crash after'])
  }

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
      this.#active = this.#random.below(versions.length)
      this.#swap()
    } else if (dice < 92) this.#changeShadow()
    else if (dice < 94) {
      this.#absent = !this.#absent
      this.#fault()
    } else if (dice < 95) {
      if (this.#service !== null && !this.#closing) void this.#shutDown(this.#service)
    } else if (dice < 95 + 10 * this.#faultRate) this.#crash()
    else if (this.#serving === null) this.#swap()
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
      ...{ what, cycleId, arrivedMs: this.#nowMs, incarnation: this.#incarnation },
      imagesBefore: this.#images.length,
      faultsBefore: this.#faultCount,
      hadModel: !this.#absent && this.#serving !== null,
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
    const service = this.#service
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
      incarnation: this.#incarnation,
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
    if (!call.hadModel || this.#closing || this.#faultCount > call.faultsBefore) return
    if (call.cyclesBefore > cyclesWaitingMax) return
    fail(`503 without a reason: ${error instanceof Error ? error.message : String(error)}`)
  }

  #get(): void {
    const service = this.#service
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
    const service = this.#service
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
    const [service, store] = [this.#service, this.#store]
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
      model: this.#serving && {
        version: this.#serving.version,
        readsTexts: this.#serving.text !== null,
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
    const [service, store] = [this.#service, this.#store]
    if (service === null || store === null || store.writing > 0 || this.#swapping || this.#closing) return
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
    const service = this.#service ?? fail('there is no service')
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
    const service = this.#service ?? fail('there is no service')
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

/** Reasons for which a shadow may skip a cycle. Any other reason is a failure. */
const expectedReasons = /still at an earlier cycle|simulated failure|failed after it was stored/

function checkLogLine(fields: object, message: string): void {
  const { reason } = fields as { reason?: string }
  if (reason !== undefined && !expectedReasons.test(reason)) fail(`${message}: ${reason}`)
}

/** A model with `text` in its name has a text encoder, named by the last letter. */
const versions = ['plain-1', 'plain-2', 'text-a', 'other-text-a', 'text-b'] as const
const shadowVersions = ['slow-plain', 'slow-text-a', 'failing-text-b', 'quick-text-c'] as const

const weightsSets = [
  { views: 1, comments: 0.5, up: 0.25, downvote_share: 0 },
  { views: 0.5, comments: 1, up: 0, downvote_share: 0 },
  { views: 0.25, comments: 0, up: 1, downvote_share: 0.5 },
  { views: 2, comments: 2, up: 0.5, downvote_share: 0 },
] as const

function imageOf(variant: number): StoredImage {
  return {
    sha256: new Uint8Array(32).fill(variant),
    uploadedBytes: 10,
    width: 4,
    height: 3,
    normalised: Uint8Array.of(0xff, 0xd8, variant),
  }
}
