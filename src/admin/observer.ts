/**
 * Observes the cycles and the requests of a server and keeps what the page shows: a point per cycle, the newest calls, the
 * tracks of the scores. A cycle only costs a reference until its response is sent; the rest happens afterwards. Read
 * `#process` first.
 */
import { randomUUID } from 'node:crypto'
import { clipText, dayMs } from '../base/index.js'
import {
  cyclesOperation,
  firstScoreTarget,
  outcomeCodes,
  recordedCallsMax,
  removalReasonCodes,
  tierCodes,
  type CallRecord,
  type CyclePoint,
  type CycleResponse,
  type ErrorKind,
  type Now,
  type Save,
  type Warning,
} from '../contract/index.js'
import type { CycleStored, StageClock } from '../cycle/index.js'
import { roundedMs, stagesMs, type EndedRequest, type ServerSources } from '../server/index.js'
import { FirstScoreWatch } from './first-scores.js'
import { entryOf, type Entry } from './page-data/titles.js'
import { ScoreTracks, trackOf, trackOfResponse } from './score-tracks.js'

/** A save that is ranked when somebody looks: not the track is kept for it, only the scores. */
export interface ObservedSave extends Omit<Save, 'rank' | 'of' | 'title'> {
  /** Null: it entered with the same call, and its title is not kept. */
  readonly entry: Entry | null
  /** Of all posts that had a score, one cycle before. */
  readonly scores: Float32Array
}

export interface ObserverEvents {
  readonly onCycle?: (point: CyclePoint) => void
  /** Each request: it must cost little, and needs no record. */
  readonly onRequest?: (request: EndedRequest, result: CallRecord['result']) => void
  /** A call that the page lists: of a cycle, or one that was not done. */
  readonly onCall?: (call: CallRecord) => void
}

/** Twice the cycles of a day at the usual interval. */
const pointCountMax = 600
const saveCountMax = 200
/** In a warning. */
const detailCharsMax = 300
export const unauthorizedCode: ErrorKind = 'unauthorized'
/** For cycles whose response takes longer to send. */
const processMsMax = 1000
/** Scores that the quantiles of a cycle are computed from. */
const sampleCountMax = 1000

export class Observer {
  /** Identifies this process: the ids of calls start again in the next one. */
  readonly instance = randomUUID()
  /** Points of the 24 hours before the newest one. */
  readonly points = new Ring<CyclePoint>(pointCountMax)
  readonly calls = new Ring<CallRecord>(recordedCallsMax.calls)
  readonly otherCalls = new Ring<CallRecord>(recordedCallsMax.other)
  readonly saves = new Ring<ObservedSave>(saveCountMax)
  readonly tracks = new ScoreTracks()
  readonly #sources: ServerSources
  readonly #listeners: ObserverEvents[] = []
  readonly #firstScores = new FirstScoreWatch()
  /** Stored cycles whose columns are held until they have been processed. */
  #stored: CycleStored[] = []
  #timer: NodeJS.Timeout | undefined
  #callCount = 0
  /** They are processed in the next turn of the event loop. */
  #ended: EndedRequest[] = []
  #isClosed = false

  constructor(sources: ServerSources) {
    this.#sources = sources
    this.#readLastCycle()
    sources.cycles.onStored((event) => this.#cycleStored(event))
  }

  listen(listener: ObserverEvents): void {
    this.#listeners.push(listener)
  }

  /** A request has ended: once for each. */
  requestEnded(request: EndedRequest): void {
    this.#ended.push(request)
    if (this.#ended.length > 1) return
    setImmediate(() => {
      for (const ended of this.#ended.splice(0)) this.#guard(() => this.#requestEnded(ended))
    })
  }

  /** First scores of the last 24 hours, and the share of those in time; null if there is none. */
  firstScores(nowMs: number): Now['first_scores'] {
    const sum = { on_time: 0, late: 0, never: 0 }
    const recent = this.points.items.filter(({ received_at }) => Date.parse(received_at) >= nowMs - dayMs)
    for (const { first_scores } of recent) {
      sum.on_time += first_scores.on_time
      sum.late += first_scores.late
      sum.never += first_scores.never
    }
    const overdue = recent.at(-1)?.first_scores.overdue ?? 0
    const all = sum.on_time + sum.late + sum.never + overdue
    return { ...sum, overdue, share: all === 0 ? null : sum.on_time / all, target: firstScoreTarget }
  }

  /** Ends the wait for the columns of cycles. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#stored.length = 0
  }

  /** Costs the cycle nothing: its event is processed after its response is sent. */
  #cycleStored(event: CycleStored): void {
    if (this.#isClosed) return
    this.#stored.push(event)
    this.#timer ??= setTimeout(() => this.#processAll(), processMsMax).unref()
  }

  #requestEnded(request: EndedRequest): void {
    const cycleIndex = this.#stored.findIndex(({ call }) => call.stages === request.stages)
    // Earlier ones first: their clients have disconnected.
    this.#processFirst(cycleIndex + 1)
    const result = resultOf(request)
    const isCycle = isCycleCall(request)
    // Refusals of other operations are the ones to look at, not each of thousands of images.
    if (isCycle || result !== 'done') {
      const call = callRecord(++this.#callCount, request, result)
      if (isCycle) this.calls.add(call)
      else this.otherCalls.add(call)
      for (const { onCall } of this.#listeners) onCall?.(call)
    }
    for (const { onRequest } of this.#listeners) onRequest?.(request, result)
  }

  #processAll(): void {
    this.#timer = undefined
    this.#processFirst(this.#stored.length)
  }

  #processFirst(count: number): void {
    for (const event of this.#stored.splice(0, count)) {
      this.#guard(() => this.#process(event))
    }
  }

  #process(event: CycleStored): void {
    const { plan, call } = event
    this.#addSaves(event)
    this.tracks.add(trackOf(event))
    const first_scores = this.#firstScores.observe(plan, call.cycle)
    const point = { ...pointOf(event), first_scores }
    this.points.add(point)
    this.points.dropWhile(
      ({ received_at }) => Date.parse(received_at) < Date.parse(point.received_at) - dayMs,
    )
    for (const { onCycle } of this.#listeners) onCycle?.(point)
  }

  #addSaves({ call, plan, response }: CycleStored): void {
    const { removals, galleries } = call.cycle
    const before = this.tracks.last
    const savedRows = plan.changes.departedRows.filter((row) => removals.reason[row] === savedCode)
    for (const row of savedRows.slice(-saveCountMax)) {
      const gallId = galleries[removals.gallery[row]!]!
      const postNo = removals.postNo[row]!
      const slot = before?.find(gallId, postNo) ?? -1
      const pendingSlot = plan.base.index.findPost(gallId, postNo)
      this.saves.add({
        cycle_id: response.cycleId,
        gall_id: gallId,
        post_no: postNo,
        tier: tierCodes[removals.tier[row]!] ?? null,
        entry: pendingSlot < 0 ? null : entryOf(plan.base, pendingSlot),
        score: before?.scoreAt(slot) ?? null,
        scores: before?.scores ?? noScores,
      })
    }
  }

  /** The scores of the last cycle before the start. */
  #readLastCycle(): void {
    const { store, log } = this.#sources
    try {
      const last = store.lastCycle()
      const bytes = last && store.readResponse(last.cycleId)
      if (bytes === undefined) return
      const response = JSON.parse(Buffer.from(bytes).toString()) as CycleResponse
      this.tracks.add(trackOfResponse(response))
    } catch (error) {
      log.warn(
        { err: error },
        'the last response cannot be read: the page has no scores until the next cycle',
      )
    }
  }

  /** An error here must not end the service. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#sources.log.error({ err: error }, 'the admin listener failed to process an event')
    }
  }
}

/** A list that holds the newest items up to a bound. */
class Ring<Item> {
  readonly #countMax: number
  readonly #items: Item[] = []

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  add(item: Item): void {
    this.#items.push(item)
    if (this.#items.length > this.#countMax) this.#items.shift()
  }

  /** Drops the oldest items as long as `isOld` is true. */
  dropWhile(isOld: (item: Item) => boolean): void {
    const kept = this.#items.findIndex((item) => !isOld(item))
    this.#items.splice(0, kept < 0 ? this.#items.length : kept)
  }

  /** Oldest first. */
  get items(): readonly Item[] {
    return this.#items
  }

  get last(): Item | undefined {
    return this.#items.at(-1)
  }
}

const noScores = new Float32Array(0)
const savedCode = removalReasonCodes.indexOf('saved')

function pointOf({ call, plan, response }: CycleStored): Omit<CyclePoint, 'first_scores'> {
  const { counts, warnings, results } = response
  return {
    cycle_id: response.cycleId,
    cycle_time: response.cycleTime,
    received_at: response.receivedAt,
    is_late: isLate(warnings),
    ms: totalMs(call.stages),
    stages_ms: stagesMs(call.stages),
    pending: plan.next.count,
    counts,
    results: resultCounts(results.outcome),
    missing_feature_share: response.missingFeatureShare,
    score_quantiles: quantilesOf(results.score),
    model_version: response.modelVersion,
    weights_version: response.weightsVersion,
    warning_kinds: warnings.map(({ code }) => code),
  }
}

function callRecord(id: number, request: EndedRequest, result: CallRecord['result']): CallRecord {
  const { method, loggedPath, operation, status, stages, bytesIn, bytesOut } = request
  const summary = stages?.summary ?? null
  const warnings = summary?.warnings ?? []
  return {
    id,
    at: new Date(request.receivedAtMs).toISOString(),
    method,
    path: loggedPath,
    operation,
    status,
    result,
    cycle_id: summary?.cycleId ?? stages?.cycleId ?? null,
    code: request.code ?? null,
    problem: request.problem,
    ms: roundedMs(request.endedAt - request.startedAt),
    stages_ms: stages === null ? {} : stagesMs(stages),
    counts: summary?.counts ?? null,
    warnings: warnings.map(({ detail, ...warning }) => ({
      ...warning,
      detail: clipText(detail, detailCharsMax),
    })),
    is_late: isLate(warnings),
    model_version: summary?.modelVersion ?? null,
    weights_version: summary?.weightsVersion ?? null,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
    trace_id: request.trace?.traceId ?? null,
  }
}

/** Anyone can send a request without a key: it does not count as a call of the client. */
export function isCycleCall({ operation, code }: Pick<EndedRequest, 'operation' | 'code'>): boolean {
  return operation === cyclesOperation && code !== unauthorizedCode
}

/** A stored cycle is scored, whether or not its client has waited for the response. */
function resultOf({ status, stages }: EndedRequest): CallRecord['result'] {
  if (stages !== null && stages.summary !== null) return 'scored'
  if (status === 0) return 'aborted'
  if (status >= 500) return 'failed'
  if (status >= 400) return 'refused'
  return stages === null ? 'done' : 'repeated'
}

function isLate(warnings: readonly Warning[]): boolean {
  return warnings.some(({ code }) => code === 'late_cycle')
}

function resultCounts(codes: Uint8Array): CyclePoint['results'] {
  const counts = outcomeCodes.map(() => 0)
  for (const code of codes) counts[code] = (counts[code] ?? 0) + 1
  return outcomeCodes.map(({ status, reason }, code) => ({ status, reason, count: counts[code] ?? 0 }))
}

function quantilesOf(scores: Float32Array): CyclePoint['score_quantiles'] {
  if (scores.length === 0) return null
  // Every n-th score of a large cycle: sorting all takes longer than everything else here.
  const step = Math.ceil(scores.length / sampleCountMax)
  const sorted = scores.filter((_, index) => index % step === 0).sort()
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))]!
  return { p10: at(0.1), p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}

function totalMs(stages: StageClock): number {
  return roundedMs([...stages.ms].reduce((sum, [stage, ms]) => sum + (stage === 'send' ? 0 : ms), 0))
}
