/**
 * The simulated clients: the calls that they make, the results that they accept, and the requests that they repeat. The
 * oracle checks every response.
 */
import { messageOf } from '../../src/base/index.js'
import { CompressionFailed } from './virtual-node.js'
import type { CycleService } from '../../src/cycle/index.js'
import { StageClock } from '../../src/cycle/index.js'
import { cycleIdOf, ServiceError, type CycleRequest } from '../../src/contract/index.js'
import { StoreError, type ImageKey } from '../../src/store/index.js'
import type { Random } from '../harness/rng.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { fail, same, type Oracle } from './oracle.js'
import type { Scheduler } from './scheduler.js'
import type { SimDisk } from './sim-disk.js'
import { clockSkewMs, cyclesWaitingMax, type SimServer } from './sim-server.js'
import {
  bodyOf,
  galleries,
  imageOf,
  imagePostNoMax,
  otherCycle,
  postNoMax,
  randomCycle,
  randomOutcome,
  weightsSets,
  type SentBody,
} from './workload.js'
import { RequestBody } from '../../src/cycle/index.js'

const cyclesPerDay = 24 * 12
/** How far cycles jump ahead now and then. After eight days no departure is remembered. */
const jumpDays = [1, 2, 8, 8, 9, 12] as const

export interface SimClientsParts {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly server: SimServer
  readonly oracle: Oracle
  readonly disk: SimDisk
  readonly clock: { nowMs: number }
  readonly figures: { calls: number; acknowledged: number }
  /** True once faults have ended. */
  readonly faultsEnded: () => boolean
  readonly faultCount: () => number
  /** Runs work and reports what it throws as a failure of the run. */
  readonly guard: (work: () => void) => void
  /** Runs an event after a random delay. */
  readonly later: (label: string, run: () => void) => void
}

/** A call in progress, and the state of the run when it began. */
export interface Call {
  readonly what: string
  readonly cycleId: string | null
  readonly arrivedMs: number
  /** Number of images acknowledged before the call, and of removed ones. */
  readonly imagesBefore: number
  readonly removedBefore: number
  readonly faultsBefore: number
  readonly hadModel: boolean
  /** Number of cycles without a response when the call began. */
  readonly cyclesBefore: number
  readonly incarnation: number
}

export class SimClients {
  readonly #parts: SimClientsParts
  /** Bounds the repeats, whose number would otherwise grow without limit. */
  #repeatsLeft = 40
  /** Calls in progress. */
  readonly calls = new Set<Call>()
  /** Images that the server acknowledged. */
  readonly images: { readonly post: string; readonly name: string; isRemoved: boolean }[] = []
  /** The post of each image that has expired. */
  readonly removedImages: string[] = []
  readonly #jumpRate: number
  readonly #cycles = new Map<number, CycleRequest>()
  readonly #acknowledged = new Set<string>()

  constructor(parts: SimClientsParts) {
    this.#parts = parts
    this.#jumpRate = parts.random.pick([0.02, 0.05, 0.2])
  }

  /** The next cycle, a late one, or one in the future. */
  newBody(): SentBody {
    const newest = Math.max(-1, ...this.#cycles.keys())
    const late = newest > 2 && this.#parts.random.chance(0.2) ? this.#parts.random.below(newest) : -1
    const index =
      late >= 0 && !this.#cycles.has(late)
        ? late
        : newest +
          (this.#parts.random.chance(this.#jumpRate) ? this.#jump() : 1 + this.#parts.random.below(2))
    const isFuture = this.#parts.random.chance(0.05)
    if (!isFuture)
      this.#parts.clock.nowMs = Math.max(
        this.#parts.clock.nowMs,
        cycleMs(index) + this.#parts.random.below(1000),
      )
    const cycle = this.#cycles.get(index) ?? randomCycle(this.#parts.random, index)
    this.#cycles.set(index, cycle)
    return bodyOf(cycle, index, this.#parts.random.pick(['plain', 'plain', 'gzip']))
  }

  #jump(): number {
    return this.#parts.random.pick(jumpDays) * cyclesPerDay
  }

  /** A cycle that was sent before, the same or with a change. */
  knownBody(): SentBody {
    if (this.#cycles.size === 0) return this.newBody()
    const recent = [...this.#cycles.keys()].slice(-4)
    const index = this.#parts.random.pick(this.#parts.random.chance(0.7) ? recent : [...this.#cycles.keys()])
    const cycle = this.#cycles.get(index)!
    const sent = this.#parts.random.chance(0.25) ? otherCycle(this.#parts.random, cycle) : cycle
    return bodyOf(sent, index, this.#parts.random.pick(['plain', 'respelled', 'gzip']))
  }

  /** Posts a cycle. Some requests and responses are lost, and the client repeats them later. */
  post(sent: SentBody): void {
    if (this.#parts.random.chance(0.3)) this.#postLater(sent) // The client sends the cycle twice.
    const service = this.#parts.server.service
    if (service === null || this.#parts.random.chance(0.03)) {
      // The request is lost.
      this.#postLater(sent)
      return
    }
    this.#parts.oracle.sent(sent)
    const call = this.#begin(`cycle ${sent.cycleId}`, sent.cycleId)
    const wasExpired = this.#parts.oracle.retention.isExpired(sent.cycleId)
    this.#settle(
      call,
      submit(service, sent, call.arrivedMs),
      (bytes) => {
        if (this.#isFuture(sent, call)) fail('a cycle in the future is accepted')
        if (wasExpired) fail(`${sent.cycleId} has expired, and is accepted`)
        this.#parts.oracle.responded(sent.cycleId, sent.canonical, bytes)
        this.#acknowledged.add(sent.cycleId)
        this.#parts.figures.acknowledged++
        this.#sending(sent.cycleId, bytes)
        if (!this.#parts.faultsEnded() && this.#parts.random.chance(0.15)) this.#postLater(sent) // The response is lost.
      },
      (error) => this.#refused(sent, call, error),
    )
  }

  /** Requests the scores of a cycle that was sent. */
  get(): void {
    const service = this.#parts.server.service
    if (service === null || this.#cycles.size === 0) return
    const cycleId = cycleIdOf(cycleMs(this.#parts.random.pick([...this.#cycles.keys()])))
    this.#read(service, cycleId)
    same(service.lastCycle()?.position ?? 0, this.#parts.disk.lastPosition, 'the last cycle')
  }

  /** Sets the weights of a version, sometimes other weights than before. */
  setWeights(): void {
    const service = this.#parts.server.service
    if (service === null) return
    const version = this.#parts.random.pick(['initial', 'w1', 'w2', 'w3'])
    const usual = weightsSets[Number(version.slice(1)) || 0] as (typeof weightsSets)[0]
    const weights = this.#parts.random.chance(0.15) ? { ...usual, up: 0.125 } : usual
    const call = this.#begin(`weights ${version}`, null)
    const entryOf = (): string | undefined => {
      const entry = this.#parts.disk.weights().findLast((stored) => stored.version === version)
      return entry && JSON.stringify(entry.weights)
    }
    this.#settle(
      call,
      service.setWeights({ version, weights, note: '' }),
      (setting) => {
        same(entryOf(), JSON.stringify(weights), `weights ${version} on the disk`)
        if (!this.#parts.disk.weights().some(({ firstCycleMs }) => firstCycleMs === setting.firstCycleMs))
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
  putImage(): void {
    const [service, store] = [this.#parts.server.service, this.#parts.server.store]
    if (service === null || store === null) return
    const key: ImageKey = {
      gallId: this.#parts.random.pick(galleries),
      postNo: 1 + this.#parts.random.below(imagePostNoMax),
      position: 1 + this.#parts.random.below(3),
    }
    const image = imageOf(1 + (this.#parts.random.below(5) % 2), this.#parts.clock.nowMs)
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
        this.images.push({ post: `${key.gallId}/${key.postNo}`, name, isRemoved: false })
      },
      (error) => {
        if (!(error instanceof StoreError)) throw error
      },
    )
  }

  /** To be called when images have left the disk. */
  imagesRemoved(keys: readonly ImageKey[]): void {
    for (const { gallId, postNo, position } of keys) {
      const name = `${gallId}/${postNo}/${position}`
      for (const image of this.images) if (image.name === name) image.isRemoved = true
      this.removedImages.push(`${gallId}/${postNo}`)
    }
  }

  /** Reports an outcome, placed now or days ago. */
  putOutcome(): void {
    const { store } = this.#parts.server
    if (store === null) return
    const { random, clock } = this.#parts
    const outcome = randomOutcome(random, clock.nowMs)
    this.#settle(
      this.#begin(`outcome ${outcome.placementId}`, null),
      store.putOutcomes([outcome]),
      () => undefined,
      (error) => {
        if (!(error instanceof StoreError)) throw error
      },
    )
  }

  /**
   * Sends a cycle with engagement of every post, `days` after the newest, with which some posts leave. It must get a
   * response, which the oracle checks.
   */
  probe(days = 0, leavingShare = 0): void {
    const service = this.#parts.server.service ?? fail('there is no service')
    const index = Math.max(-1, ...this.#cycles.keys()) + 1 + days * cyclesPerDay
    this.#parts.clock.nowMs = Math.max(this.#parts.clock.nowMs, cycleMs(index))
    const posts = galleries.flatMap((gallId) =>
      Array.from({ length: postNoMax }, (_, i) => [gallId, i + 1] as const),
    )
    const cycle = cycleBody(index, {
      candidates: [candidate('g', 1)],
      engagement: posts.map((post) => reading(...post, cycleMs(index))),
      removals: posts.filter(() => this.#parts.random.chance(leavingShare)).map((post) => removal(...post)),
    })
    this.#cycles.set(index, cycle)
    this.#expectResponse(service, bodyOf(cycle, index, 'plain'))
  }

  /** After a crash: every response ever sent that has not expired is still there, for GET and for a retry. */
  requestAgain(): void {
    const service = this.#parts.server.service ?? fail('there is no service')
    for (const cycleId of this.#acknowledged) this.#read(service, cycleId)
    const ids = this.#parts.oracle.storedIds
    for (const cycleId of new Set([...ids.slice(0, 2), ...ids.slice(-4)]))
      this.#expectResponse(service, this.#parts.oracle.bodyOf(cycleId))
  }

  #expectResponse(service: CycleService, sent: SentBody): void {
    this.#parts.oracle.sent(sent)
    const wasExpired = this.#parts.oracle.retention.isExpired(sent.cycleId)
    const call = this.#begin(`cycle ${sent.cycleId}`, sent.cycleId)
    this.#settle(
      call,
      submit(service, sent, call.arrivedMs),
      (bytes) => {
        if (wasExpired) fail(`${sent.cycleId} has expired, and is accepted`)
        this.#parts.oracle.responded(sent.cycleId, sent.canonical, bytes)
      },
      (error) => {
        if (!wasExpired || !(error instanceof ServiceError) || error.status !== 409) throw error
      },
    )
  }

  #begin(what: string, cycleId: string | null): Call {
    const call: Call = {
      what,
      cycleId,
      arrivedMs: this.#parts.clock.nowMs,
      incarnation: this.#parts.server.incarnation,
      imagesBefore: this.images.length,
      removedBefore: this.removedImages.length,
      faultsBefore: this.#parts.faultCount(),
      hadModel: !this.#parts.server.absent && this.#parts.server.serving !== null,
      cyclesBefore: new Set([...this.calls].flatMap(({ cycleId: id }) => id ?? [])).size,
    }
    this.calls.add(call)
    this.#parts.figures.calls++
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
        this.calls.delete(call)
        this.#parts.scheduler.note(`${call.what} has its response`)
        this.#parts.guard(() => accept(result))
      },
      (error: unknown) => {
        this.calls.delete(call)
        this.#parts.scheduler.note(`${call.what} is refused: ${messageOf(error)}`)
        this.#parts.guard(() => refuse(error))
      },
    )
  }

  /** Sending the response takes a while; its bytes must not change meanwhile. */
  #sending(cycleId: string, response: Uint8Array): void {
    const copy = Buffer.from(response)
    const sent = {
      label: `sent ${cycleId}`,
      incarnation: this.#parts.server.incarnation,
      delaySteps: this.#parts.random.below(8),
    }
    this.#parts.scheduler.add(sent, () => {
      if (!copy.equals(response)) fail(`the response to ${cycleId} changed while it was sent`)
    })
  }

  #postLater(sent: SentBody): void {
    if (!this.#parts.faultsEnded() && this.#repeatsLeft-- > 0)
      this.#parts.later(`repeat ${sent.cycleId}`, () => this.#parts.guard(() => this.post(sent)))
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
      this.#parts.oracle.conflicted(sent.cycleId, sent.canonical)
      return
    }
    // Compression that runs out of memory is an unexpected failure: 500, and the service continues.
    if (status === 500 && error instanceof CompressionFailed) return
    if (status !== 503) throw error
    this.#explain(call, error)
    if (this.#parts.random.chance(0.8)) this.#postLater(sent)
  }

  /** Checks that a 503 has a reason: a fault, or too many calls at once. */
  #explain(call: Call, error: unknown): void {
    if (!call.hadModel || this.#parts.server.closing || this.#parts.faultCount() > call.faultsBefore) return
    if (call.cyclesBefore > cyclesWaitingMax) return
    fail(`503 without a reason: ${messageOf(error)}`)
  }

  #read(service: CycleService, cycleId: string): void {
    const isExpired = this.#parts.oracle.retention.isExpired(cycleId)
    try {
      const response = service.intake.response(cycleId)
      if (isExpired) fail(`${cycleId} has expired, and is found`)
      this.#parts.oracle.responded(cycleId, null, response)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status !== 404) throw error
      if (this.#parts.oracle.isStored(cycleId) && !isExpired) fail(`${cycleId} is stored and not found`)
    }
  }
}

/** Posts a copy of the body, which is overwritten once nothing reads it: the server uses the memory again. */
function submit(service: CycleService, sent: SentBody, arrivedMs: number): Promise<Uint8Array> {
  const buffer = Buffer.concat([sent.json, Buffer.alloc(64)])
  const gzip = sent.gzip && Buffer.from(sent.gzip)
  const body = new RequestBody(buffer.subarray(0, sent.json.length), gzip)
  const reuse = (): void => {
    for (const bytes of [buffer, gzip]) bytes?.fill(0xff)
  }
  return service.intake.submit(body, arrivedMs, new StageClock(0)).finally(reuse)
}
