/**
 * The client of a soak test: posts, faults and checks of the simulator, with a clock that the client sets, and a record
 * of the data that the service must still hold. Read `step` first.
 */
import {
  formatInstant,
  type CycleRequest,
  type CycleResponse,
  type WeightsState,
} from '../../src/contract/index.js'
import { Api } from '../../src/simulator/api.js'
import { checkResponse } from '../../src/simulator/check-response.js'
import {
  deliver,
  drawFaults,
  ResponseDigests,
  type CycleFaults,
  type DeliveryTools,
} from '../../src/simulator/delivery.js'
import { Ledger } from '../../src/simulator/ledger.js'
import { BaseImages } from '../../src/simulator/base-images.js'
import { OutcomeReports } from '../../src/simulator/outcome-reports.js'
import { Uploads } from '../../src/simulator/uploads.js'
import { World } from '../../src/simulator/world.js'
import { ExpectedRecords, type KeptDays } from './expected-records.js'
import type { SoakTarget } from './target.js'

/** Between the end of a cycle's five minutes and its arrival. */
const arrivalMs = 1500
const outcomeCycleCount = 12
/** New weights twice a day. */
const weightsCycleCount = 144
const galleryCount = 8
const retryTimeoutMs = 60_000

export interface SoakOptions {
  readonly seed: number
  readonly postsPerDay: number
  /** Share of the posts with images whose images are uploaded. */
  readonly imageShare: number
  readonly keptDays: KeptDays
}

interface Agent {
  readonly constructor: new () => Agent
  destroy(): Promise<void>
}

export class SoakClient {
  readonly responses = new ResponseDigests()
  readonly held: ExpectedRecords
  /** Durations of `POST /v1/cycles` without faults, in ms; the caller empties the list. */
  readonly postMs: number[] = []
  readonly totals = { cycles: 0, candidates: 0, scored: 0, removals: 0, faults: 0, weights: 0 }
  readonly #target: SoakTarget
  readonly #options: SoakOptions
  readonly #api: Api
  readonly #tools: DeliveryTools
  readonly #ledger = new Ledger()
  readonly #uploads: Uploads
  #placements: OutcomeReports
  #outcomesBefore = 0
  readonly #galleries = new Set<string>()
  #world: World
  #cycleAtMs: number
  #lastRequest: CycleRequest | null = null
  #lastResponse: CycleResponse | null = null
  /** Null when they must be read from the service. */
  #weights: WeightsState | null = null
  /** Removals of posts that left during the last leap. */
  #removalsPending: CycleRequest['removals'] = []

  /** `startAtMs`: start of the simulated time, a cycle boundary. */
  constructor(target: SoakTarget, options: SoakOptions, baseImages: BaseImages, startAtMs: number) {
    const url = `http://127.0.0.1:${target.server.port}`
    this.#target = target
    this.#options = options
    this.#api = new Api({ url, apiKey: target.server.key, retryTimeoutMs })
    this.#tools = {
      api: this.#api,
      responses: this.responses,
      isOwn: ({ gall_id }) => this.#galleries.has(gall_id),
    }
    this.#uploads = new Uploads(this.#api, baseImages, true)
    this.#placements = new OutcomeReports(this.#api, true)
    this.#cycleAtMs = startAtMs
    this.#world = this.#newWorld()
    this.held = new ExpectedRecords(options.keptDays)
  }

  static async open(target: SoakTarget, options: SoakOptions, startAtMs: number): Promise<SoakClient> {
    return new SoakClient(target, options, await BaseImages.draw(), startAtMs)
  }

  get counts(): Readonly<Record<string, number>> {
    return {
      ...this.totals,
      images: this.#uploads.createdCount,
      imagesAgain: this.#uploads.repeatedCount,
      outcomes: this.#outcomesBefore + this.#placements.sentCount,
      reread: this.responses.rereadCount,
      retries: this.#api.retryCount,
    }
  }

  /** The last cycle, as a client keeps it in its spool. */
  get lastCycle(): { request: CycleRequest; response: CycleResponse } | null {
    const [request, response] = [this.#lastRequest, this.#lastResponse]
    return request === null || response === null ? null : { request, response }
  }

  /** Runs one cycle with its images, outcomes and faults. Rejects with the first `ContractViolation`. */
  async step(): Promise<void> {
    const plan = this.#world.nextCycle()
    const request = { ...plan.request, removals: [...this.#removalsPending, ...plan.request.removals] }
    this.#removalsPending = []
    this.#cycleAtMs = plan.cycleAtMs
    const nowMs = plan.cycleAtMs + arrivalMs
    this.#target.setClock(nowMs)
    const faults = drawFaults(this.#options.seed, this.totals.cycles, true)
    this.#api.cycleId = request.cycle_id
    if (this.totals.cycles % weightsCycleCount === 1) await this.#putWeights()

    await this.#uploads.sendAll(plan.uploadsBefore, faults.uploadLost)
    const { response, tookMs } = await deliver(this.#tools, request, faults)
    if (tookMs !== null) this.postMs.push(tookMs)
    const checked = await this.#check(response, request)
    await this.#uploads.sendAll(plan.uploadsAfter, false)
    await this.#uploads.sendAll(plan.uploadsAgain, false)
    this.#placements.add(plan.placed, this.#lastResponse)
    this.#lastRequest = request
    this.#lastResponse = checked
    this.held.add(plan, request, nowMs)
    if ((this.totals.cycles + 1) % outcomeCycleCount === 0) {
      await this.#placements.send(plan.cycleAtMs, faults.rng)
      this.held.outcomesSent(plan.cycleAtMs, nowMs)
    }
    this.#count(request, checked, faults)
    await this.#rereadEarlier(request, faults)
  }

  /** Advances the time by a multiple of five minutes, without cycles; all pending posts leave. */
  leap(ms: number): void {
    this.#cycleAtMs += ms
    const decided_at = formatInstant(this.#cycleAtMs)
    this.#removalsPending = this.held
      .pending()
      .map(({ gall_id, post_no }) => ({ gall_id, post_no, reason: 'aged_out', decided_at }))
    this.#world = this.#newWorld()
    // The placements get no further readings.
    this.#outcomesBefore += this.#placements.sentCount
    this.#placements = new OutcomeReports(this.#api, true)
    this.held.forgetUnsentOutcomes()
  }

  /** Drops all connections of this process: the agent of Node's `fetch`, which has no public name, is replaced. */
  async disconnect(): Promise<void> {
    const holder = globalThis as unknown as Record<symbol, Agent>
    const key = Symbol.for('undici.globalDispatcher.1')
    const agent = holder[key]!
    holder[key] = new agent.constructor()
    await agent.destroy()
  }

  /** Reads all responses again: those within retention are unchanged, the others (the last `goneMax`) are deleted. */
  async rereadAll(goneMax = Infinity): Promise<{ kept: number; gone: number }> {
    const { kept, gone } = this.held.cycleIds()
    const absent = gone.slice(-goneMax)
    for (const cycleId of kept) await this.responses.reread(this.#api, cycleId)
    for (const cycleId of absent)
      if (await this.#api.isStored(cycleId))
        throw new Error(`cycle ${cycleId} has expired and is still stored`)
    return { kept: kept.length, gone: absent.length }
  }

  async #check(response: Uint8Array, request: CycleRequest): Promise<CycleResponse> {
    const expected = this.#ledger.expect(request)
    this.#weights ??= await this.#api.weights()
    const { isOwn } = this.#tools
    return checkResponse(response, expected, {
      isOwn,
      exclusive: true,
      connectedAtMs: 0,
      weights: this.#weights,
      modelVersion: this.#target.model,
    })
  }

  /** Repeats calls and reads stored responses: a response must not change while it is kept. */
  async #rereadEarlier(request: CycleRequest, faults: CycleFaults): Promise<void> {
    if (faults.compared) await this.responses.reread(this.#api, request.cycle_id)
    if (faults.reread !== null) {
      const { kept } = this.held.cycleIds()
      const cycleId = kept[Math.floor(faults.reread * kept.length)]
      if (cycleId !== undefined) await this.responses.reread(this.#api, cycleId)
    }
    if (!faults.restarted) return
    await this.disconnect()
    await deliver(this.#tools, request, { ...faults, delivery: 'response-lost' })
  }

  async #putWeights(): Promise<void> {
    this.#weights = null
    const number = ++this.totals.weights
    const weights = { views: 1 + (number % 3), comments: 1, up: 1 + (number % 2), downvote_share: 0.5 }
    const body = JSON.stringify({ version: `soak-${String(number)}`, weights })
    const { status } = await this.#target.server.call({
      method: 'PUT',
      path: '/v1/weights',
      body,
      headers: { 'Content-Type': 'application/json' },
    })
    if (status !== 200) throw new Error(`PUT /v1/weights: ${String(status)}`)
  }

  #count(request: CycleRequest, response: CycleResponse, faults: CycleFaults): void {
    this.totals.cycles++
    this.totals.candidates += request.candidates.length
    this.totals.removals += request.removals.length
    this.totals.scored += response.counts.scored_now
    if (faults.delivery !== 'none') this.totals.faults++
  }

  #newWorld(): World {
    const { seed, postsPerDay, imageShare } = this.#options
    const identity = { seed, hours: 24, postsPerDay, galleries: galleryCount, imageShare }
    const world = new World(identity, this.#cycleAtMs)
    for (const { id } of world.galleries) this.#galleries.add(id)
    return world
  }
}
