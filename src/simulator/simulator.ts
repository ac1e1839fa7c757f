/**
 * A simulation from its first cycle to its last: a client that follows the contract, injects client faults, and checks
 * every response against the contract. Read `simulate`, then `Simulator.run`.
 */
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { hourMs } from '../base/index.js'
import {
  cycleBoundaryMs,
  type CycleRequest,
  type CycleResponse,
  type Health,
  type PostKey,
  type WeightsState,
} from '../contract/index.js'
import { Api } from './api.js'
import { checkResponse, msOf, type CheckContext } from './check-response.js'
import { deliver, drawFaults, ResponseDigests, type CycleFaults, type DeliveryTools } from './delivery.js'
import { ContractViolation } from './errors.js'
import { Ledger, type Expectation } from './ledger.js'
import { resolveOptions, type Settings, type SimulationOptions } from './options.js'
import { OutcomeReports } from './outcome-reports.js'
import { BaseImages } from './base-images.js'
import {
  type SimulationProgress,
  type SimulationReport,
  type SimulationTotals,
  type TopPost,
  zeroTotals,
} from './report.js'
import { findStart } from './start.js'
import { Uploads } from './uploads.js'
import { World, type CyclePlan } from './world.js'

/** Cycles between two batches of outcomes: an hour. */
const outcomeCycleCount = 12
/** Responses read again after an outage, and at the end. */
const rereadAfterOutageCount = 3
const rereadAtEndCountMax = 600
const topCount = 10
/** Longest single wait; timers cannot take more than about 24 days. */
const waitMsMax = hourMs

/**
 * Runs a simulation against the service at `options.url`. Rejects with a `ContractViolation` at the first response that
 * violates the contract, with a `SimulationError` when the simulation cannot run, and with the reason of `signal`.
 */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const settings = resolveOptions(options)
  const { signal, onOutage } = options
  try {
    const api = new Api({ ...settings, signal, onOutage })
    const [health, baseImages] = await Promise.all([api.health(), BaseImages.draw()])
    const startAtMs = await findStart(api, settings, health)
    const weights = await api.weights()
    return await new Simulator(api, settings, options, { health, startAtMs, weights, baseImages }).run()
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

interface InitialState {
  readonly health: Health
  readonly startAtMs: number
  readonly weights: WeightsState
  readonly baseImages: BaseImages
}

class Simulator {
  private readonly startedAtMs = performance.now()
  private readonly world: World
  private readonly ledger = new Ledger()
  private readonly responses = new ResponseDigests()
  private readonly uploads: Uploads
  private readonly outcomes: OutcomeReports
  /** Durations of `POST /v1/cycles` in microseconds. */
  private readonly postUs = createHistogram()
  private readonly totals: SimulationTotals = { ...zeroTotals }
  private readonly tools: DeliveryTools
  /** The service's clock minus the local clock. */
  private readonly clockOffsetMs: number
  private context: CheckContext
  private lastResponse: CycleResponse | null = null

  constructor(
    private readonly api: Api,
    private readonly settings: Settings,
    private readonly hooks: Pick<SimulationOptions, 'onProgress' | 'signal'>,
    private readonly initial: InitialState,
  ) {
    const { health, startAtMs, weights, baseImages } = initial
    const { exclusive } = settings
    this.world = new World(settings.identity, startAtMs)
    const isOwn = (post: PostKey): boolean => this.world.has(post)
    this.tools = { api, responses: this.responses, isOwn }
    this.uploads = new Uploads(api, baseImages, exclusive)
    this.outcomes = new OutcomeReports(api, exclusive)
    const connectedAtMs = msOf(health.time)
    this.clockOffsetMs = connectedAtMs - Date.now()
    this.context = { isOwn, exclusive, weights, modelVersion: health.model_version, connectedAtMs }
  }

  async run(): Promise<SimulationReport> {
    const { cycleCount, keepPosts } = this.settings
    for (let index = 0; index < cycleCount; index++) {
      const plan = this.world.nextCycle()
      await this.waitFor(plan.cycleAtMs, index)
      await this.runCycle(plan)
      this.hooks.onProgress?.(this.progress(plan))
    }
    const top = this.top()
    const postsRemoved = keepPosts ? 0 : await this.removePosts()
    await this.finish()
    return { ...this.report(), postsRemoved, top }
  }

  private async runCycle(plan: CyclePlan): Promise<void> {
    const { api, responses } = this
    const { request } = plan
    const faults = drawFaults(this.settings.identity.seed, plan.index, this.settings.faults)
    const retryCountBefore = api.retryCount
    api.cycleId = request.cycle_id
    await this.uploads.sendAll(plan.uploadsBefore, faults.uploadLost)
    const { response, tookMs } = await deliver(this.tools, request, faults)
    if (tookMs !== null) this.postUs.record(Math.max(1, Math.round(tookMs * 1000)))
    const checked = await this.check(response, this.ledger.expect(request))
    await this.uploads.sendAll(plan.uploadsAfter, false)
    await this.uploads.sendAll(plan.uploadsAgain, false)
    this.outcomes.add(plan.placed, this.lastResponse)
    this.lastResponse = checked
    if ((plan.index + 1) % outcomeCycleCount === 0) await this.outcomes.send(plan.cycleAtMs, faults.rng)
    this.count(plan, checked, faults)
    await this.repeatEarlierCalls(request, faults)
    if (api.retryCount > retryCountBefore) await responses.rereadLatest(api, rereadAfterOutageCount)
  }

  /** Sends one more cycle, which removes the pending posts. Returns their number. */
  private async removePosts(): Promise<number> {
    const request = this.world.lastCycle()
    const { cycleCount, identity } = this.settings
    await this.waitFor(msOf(request.cycle_time), cycleCount)
    this.api.cycleId = request.cycle_id
    const { response } = await deliver(this.tools, request, drawFaults(identity.seed, cycleCount, false))
    this.lastResponse = await this.check(response, this.ledger.expect(request))
    return request.removals.length
  }

  /** Checks a response. An operator may have changed weights or model: then both are read again, once. */
  private async check(response: Uint8Array, expected: Expectation): Promise<CycleResponse> {
    try {
      return checkResponse(response, expected, this.context)
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error
      if (!['weights_version', 'model_version'].includes(error.path)) throw error
    }
    const weights = await this.api.weights()
    this.context = { ...this.context, weights, modelVersion: (await this.api.health()).model_version }
    return checkResponse(response, expected, this.context)
  }

  /** Repeats calls and reads stored responses: no response may ever change. */
  private async repeatEarlierCalls(request: CycleRequest, faults: CycleFaults): Promise<void> {
    if (faults.compared) await this.responses.reread(this.api, request.cycle_id)
    if (faults.reread !== null) await this.responses.rereadAt(this.api, faults.reread)
    if (!faults.restarted) return
    this.totals.restarts++
    await deliver(this.tools, request, { ...faults, delivery: 'response-lost' })
  }

  private async finish(): Promise<void> {
    await this.responses.rereadLatest(this.api, rereadAtEndCountMax)
    const expected = this.lastResponse?.cycle_id
    const { last_cycle_id: got } = await this.api.health()
    if (this.settings.exclusive && got !== expected)
      this.api.violation('GET /v1/health: last_cycle_id', expected, got)
  }

  /** Waits until a cycle is due: at the requested speed, and never before its time on the service's clock. */
  private async waitFor(cycleAtMs: number, index: number): Promise<void> {
    const { speed } = this.settings
    const pacedAtMs = speed === 0 ? 0 : this.startedAtMs + (index * cycleBoundaryMs) / speed
    for (;;) {
      this.hooks.signal?.throwIfAborted()
      const aheadMs = cycleAtMs - (Date.now() + this.clockOffsetMs)
      const waitMs = Math.max(aheadMs, pacedAtMs - performance.now())
      if (waitMs <= 0) return
      await sleep(Math.min(Math.ceil(waitMs), waitMsMax), undefined, { signal: this.hooks.signal })
    }
  }

  private count(plan: CyclePlan, response: CycleResponse, faults: CycleFaults): void {
    const { totals } = this
    const { candidates, engagement, candidate_scores, removals } = plan.request
    totals.cycles++
    if (msOf(response.received_at) < this.context.connectedAtMs) totals.cyclesStoredBefore++
    totals.candidates += candidates.length
    totals.engagementRows += engagement.length
    totals.snapshots += candidate_scores.length
    totals.removals += removals.length
    totals.saved += plan.placed.length
    totals.scored += response.counts.scored_now
    totals.waiting += response.counts.waiting
    totals.notScored += response.counts.not_scored
    if (faults.delivery !== 'none') totals.faults++
  }

  /** Percentiles of the durations of `POST /v1/cycles` in ms; 0 before the first. */
  private postMs(): SimulationReport['postMs'] {
    const { count } = this.postUs
    const ms = (percent: number): number => (count === 0 ? 0 : this.postUs.percentile(percent) / 1000)
    return { count, p50: ms(50), p90: ms(90), p99: ms(99), max: ms(100) }
  }

  private progress({ cycleAtMs, index }: CyclePlan): SimulationProgress {
    return {
      cycleAtMs,
      cycleIndex: index + 1,
      cycleCount: this.settings.cycleCount,
      pending: this.ledger.pendingCount,
      scored: this.lastResponse?.counts.scored_now ?? 0,
      postMs: this.postMs(),
      imagesUploaded: this.uploads.createdCount + this.uploads.repeatedCount,
      retries: this.api.retryCount,
      wallMs: performance.now() - this.startedAtMs,
    }
  }

  private report(): Omit<SimulationReport, 'postsRemoved' | 'top'> {
    const { settings, lastResponse } = this
    return {
      seed: settings.identity.seed,
      startAtMs: this.initial.startAtMs,
      endAtMs: this.initial.startAtMs + settings.cycleCount * cycleBoundaryMs,
      modelVersion: lastResponse?.model_version ?? '',
      weightsVersion: lastResponse?.weights_version ?? '',
      totals: {
        ...this.totals,
        imagesCreated: this.uploads.createdCount,
        imagesRepeated: this.uploads.repeatedCount,
        outcomes: this.outcomes.sentCount,
        responsesReread: this.responses.rereadCount,
        retries: this.api.retryCount,
        bytesSent: this.api.bodyBytesSent,
      },
      postMs: this.postMs(),
      wallMs: performance.now() - this.startedAtMs,
    }
  }

  private top(): TopPost[] {
    return (this.lastResponse?.results ?? [])
      .flatMap(({ gall_id, post_no, score }) => {
        const title = this.ledger.titleOf(gall_id, post_no)
        return score === null || title === undefined ? [] : [{ gall_id, post_no, title, score }]
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, topCount)
  }
}
