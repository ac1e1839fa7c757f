/**
 * A rehearsal from its first cycle to its last: a client that obeys the contract, suffers what clients suffer,
 * and holds every answer against the contract. Read `rehearse`, then `Rehearsal.run`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  cycleBoundaryMs,
  parseInstant,
  type CycleResponse,
  type Health,
  type WeightsState,
} from '../contract/index.js'
import { Answers } from './answers.js'
import { Api } from './api.js'
import { Breach } from './breach.js'
import { checkAnswer, type CheckContext } from './check.js'
import { deliver, type DeliveryTools } from './delivery.js'
import { Ledger, type Expectation } from './expectation.js'
import { drawFaults, type CycleFaults } from './faults.js'
import { HttpClient } from './http-client.js'
import { Latencies } from './latencies.js'
import { settle, type RehearsalOptions, type Settings } from './options.js'
import { PictureBook } from './pictures.js'
import { Placements } from './placements.js'
import {
  emptyTotals,
  type RehearsalProgress,
  type RehearsalReport,
  type RehearsalTotals,
  type TopPost,
} from './report.js'
import { findStart, type Start } from './start.js'
import { Uploads } from './uploads.js'
import { World, type CyclePlan } from './world.js'

/** Cycles between two batches of outcomes: an hour. */
const outcomeCycleCount = 12
/** Answers read again after the service was away, and at the end. */
const rereadAfterTroubleCount = 3
const rereadAtEndCountMax = 600
const topCount = 10
/** Longest single wait; timers cannot take more than about 24 days. */
const waitMsMax = 3_600_000

/**
 * Holds a rehearsal against the service at `options.url`. Rejects with a `Breach` at the first answer that breaks
 * the contract, with a `RehearsalError` when the rehearsal cannot be held, and with the reason of `signal`.
 */
export async function rehearse(options: RehearsalOptions): Promise<RehearsalReport> {
  const settings = settle(options)
  const { url, apiKey, patienceMs } = settings
  const client = new HttpClient({ url, apiKey, patienceMs, signal: options.signal, onAway: options.onAway })
  try {
    const api = new Api(client, settings)
    const [health, book] = await Promise.all([api.health(), PictureBook.draw()])
    const start = await findStart(api, settings, health, options.onSearch)
    const weights = await api.weights()
    return await new Rehearsal(api, settings, options, { health, start, weights, book }).run()
  } catch (error) {
    options.signal?.throwIfAborted()
    throw error
  } finally {
    client.close()
  }
}

interface Opening {
  readonly health: Health
  readonly start: Start
  readonly weights: WeightsState
  readonly book: PictureBook
}

class Rehearsal {
  private readonly startedAtMs = performance.now()
  private readonly world: World
  private readonly ledger = new Ledger()
  private readonly answers = new Answers()
  private readonly uploads: Uploads
  private readonly placements: Placements
  private readonly latencies = new Latencies()
  private readonly totals: RehearsalTotals = emptyTotals()
  private readonly tools: DeliveryTools
  /** The service's clock when this client came, and how far it is ahead of ours. */
  private readonly cameAtMs: number
  private readonly clockAheadMs: number
  private weights: WeightsState
  private modelVersion: string
  private lastAnswer: CycleResponse | null = null

  constructor(
    private readonly api: Api,
    private readonly settings: Settings,
    private readonly hooks: Pick<RehearsalOptions, 'onProgress' | 'signal'>,
    private readonly opening: Opening,
  ) {
    this.world = new World(settings.identity, opening.start.atMs)
    const ownGalleries = new Set(this.world.galleries.map((gallery) => gallery.id))
    this.tools = { api, answers: this.answers, isOwn: (gallId) => ownGalleries.has(gallId) }
    this.uploads = new Uploads(api, opening.book, settings.expectAlone)
    this.placements = new Placements(api, settings.expectAlone)
    this.cameAtMs = parseInstant(opening.health.time)?.ms ?? NaN
    this.clockAheadMs = this.cameAtMs - Date.now()
    this.weights = opening.weights
    this.modelVersion = opening.health.model_version
  }

  async run(): Promise<RehearsalReport> {
    for (let index = 0; index < this.settings.cycleCount; index++) {
      const plan = this.world.nextCycle()
      await this.waitFor(plan.cycleAtMs, index)
      await this.holdCycle(plan)
      this.hooks.onProgress?.(this.progress(plan))
    }
    await this.finish()
    return this.report()
  }

  private async holdCycle(plan: CyclePlan): Promise<void> {
    const { request } = plan
    const faults = drawFaults(this.settings.identity.seed, plan.index, this.settings.faults)
    const retryCountBefore = this.api.client.retryCount
    this.api.cycleId = request.cycle_id
    await this.uploads.sendAll(plan.uploadsBefore, faults.uploadLost)
    const { api, answers } = this
    const { answer, tookMs } = await deliver(this.tools, request, faults)
    if (tookMs !== null) this.latencies.add(tookMs)
    const right = await this.check(answer, this.ledger.expect(request))
    await this.uploads.sendAll(plan.uploadsAfter, false)
    await this.uploads.sendAll(plan.uploadsAgain, false)
    this.placements.add(plan.placed, this.lastAnswer)
    this.lastAnswer = right
    if ((plan.index + 1) % outcomeCycleCount === 0) await this.placements.send(plan.cycleAtMs, faults.rng)
    this.count(plan, right, faults)
    await this.lookBack(plan, faults)
    if (api.client.retryCount > retryCountBefore) await answers.rereadLatest(api, rereadAfterTroubleCount)
  }

  /** Checks an answer. Weights and model may have been changed by an operator: then they are asked for once. */
  private async check(answer: Buffer, expected: Expectation): Promise<CycleResponse> {
    try {
      return checkAnswer(answer, expected, this.context())
    } catch (error) {
      if (!(error instanceof Breach) || !['weights_version', 'model_version'].includes(error.path))
        throw error
    }
    this.weights = await this.api.weights()
    this.modelVersion = (await this.api.health()).model_version
    return checkAnswer(answer, expected, this.context())
  }

  private context(): CheckContext {
    return {
      isOwn: this.tools.isOwn,
      alone: this.settings.expectAlone,
      weights: this.weights,
      modelVersion: this.modelVersion,
      cameAtMs: this.cameAtMs,
    }
  }

  /** Replays and stored answers: nothing that was answered may ever change. */
  private async lookBack(plan: CyclePlan, faults: CycleFaults): Promise<void> {
    const { cycle_id: cycleId } = plan.request
    if (faults.compared) await this.answers.reread(this.api, cycleId)
    if (faults.reread !== null) await this.answers.rereadAt(this.api, faults.reread)
    if (!faults.restarted) return
    this.api.client.forget()
    this.totals.restarts++
    await deliver(this.tools, plan.request, { ...faults, mishap: 'discarded' })
  }

  private async finish(): Promise<void> {
    await this.answers.rereadLatest(this.api, rereadAtEndCountMax)
    const health = await this.api.health()
    const { settings, lastAnswer } = this
    if (settings.expectAlone && health.last_cycle_id !== lastAnswer?.cycle_id) {
      const [expected, got] = [lastAnswer?.cycle_id, health.last_cycle_id]
      throw new Breach({ path: 'GET /v1/health: last_cycle_id', expected, got, cycleId: this.api.cycleId })
    }
  }

  // ---- pace

  /** Waits until a cycle is due: by the pace asked for, and never before its time on the service's clock. */
  private async waitFor(cycleAtMs: number, index: number): Promise<void> {
    const { speed } = this.settings
    const pacedAtMs = speed === 0 ? 0 : this.startedAtMs + (index * cycleBoundaryMs) / speed
    for (;;) {
      this.hooks.signal?.throwIfAborted()
      const aheadMs = cycleAtMs - (Date.now() + this.clockAheadMs)
      const waitMs = Math.max(aheadMs, pacedAtMs - performance.now())
      if (waitMs <= 0) return
      await sleep(Math.min(Math.ceil(waitMs), waitMsMax), undefined, { signal: this.hooks.signal })
    }
  }

  // ---- accounts

  private count(plan: CyclePlan, answer: CycleResponse, faults: CycleFaults): void {
    const { totals } = this
    const { candidates, engagement, candidate_scores, removals } = plan.request
    totals.cycles++
    if ((parseInstant(answer.received_at)?.ms ?? NaN) < this.cameAtMs) totals.cyclesStoredBefore++
    totals.candidates += candidates.length
    totals.engagementRows += engagement.length
    totals.snapshots += candidate_scores.length
    totals.removals += removals.length
    totals.saved += plan.placed.length
    totals.scored += answer.counts.scored_now
    totals.waiting += answer.counts.waiting
    totals.notScored += answer.counts.not_scored
    if (faults.mishap !== 'none') totals.mishaps++
  }

  private progress({ request, cycleAtMs, index }: CyclePlan): RehearsalProgress {
    const { latencies } = this
    return {
      cycleId: request.cycle_id,
      cycleAtMs,
      cycleIndex: index + 1,
      cycleCount: this.settings.cycleCount,
      pending: this.ledger.pendingCount,
      scored: this.lastAnswer?.counts.scored_now ?? 0,
      postMs: { last: latencies.last, p50: latencies.percentile(0.5), p99: latencies.percentile(0.99) },
      imagesUploaded: this.uploads.count,
      retries: this.api.client.retryCount,
      bytesSent: this.api.client.bodyBytesSent,
      wallMs: performance.now() - this.startedAtMs,
    }
  }

  private report(): RehearsalReport {
    const { latencies, opening, settings, lastAnswer } = this
    const { client } = this.api
    return {
      seed: settings.identity.seed,
      startAtMs: opening.start.atMs,
      endAtMs: opening.start.atMs + settings.cycleCount * cycleBoundaryMs,
      resumed: opening.start.resumed,
      modelVersion: lastAnswer?.model_version ?? '',
      weightsVersion: lastAnswer?.weights_version ?? '',
      totals: {
        ...this.totals,
        imagesCreated: this.uploads.createdCount,
        imagesRepeated: this.uploads.repeatedCount,
        outcomes: this.placements.sentCount,
        answersReread: this.answers.rereadCount,
        retries: client.retryCount,
        bytesSent: client.bodyBytesSent,
      },
      postMs: {
        count: latencies.count,
        p50: latencies.percentile(0.5),
        p90: latencies.percentile(0.9),
        p99: latencies.percentile(0.99),
        max: latencies.percentile(1),
      },
      wallMs: performance.now() - this.startedAtMs,
      top: this.top(),
    }
  }

  private top(): TopPost[] {
    const names = new Map(this.world.galleries.map(({ id, name }) => [id, name]))
    return (this.lastAnswer?.results ?? [])
      .flatMap(({ gall_id, post_no, score }) => {
        const title = this.ledger.titleOf(gall_id, post_no)
        const gallery = names.get(gall_id) ?? gall_id
        return score === null || title === undefined ? [] : [{ gall_id, gallery, post_no, title, score }]
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, topCount)
  }
}
