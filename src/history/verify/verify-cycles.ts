/**
 * Verifies stored cycles against each other. The recorded requests are planned again from the first one; the result must
 * match the records of the cycles, the rows of the responses, and the saved pools. Checks that depend
 * on expired cycles are skipped.
 */
import { messageOf } from '../../base/index.js'
import { decodeCycle } from '../../codec/index.js'
import type { CycleColumns, CycleResponse } from '../../contract/index.js'
import { readBody, readPool, requestHash } from '../../cycle/index.js'
import {
  gallIdAt,
  Pool,
  weightsInForce,
  type CyclePlan,
  type PoolState,
  type WeightsSetting,
} from '../../pool/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { RecordedCycles } from '../recorded/recorded-cycles.js'
import { postName, readResponse } from '../recorded/records.js'
import { verifyRecord } from './verify-record.js'

export interface VerifyCyclesOptions {
  /** Called with one line for each problem. */
  readonly report: (problem: string) => void
}

type Report = VerifyCyclesOptions['report']

/** Verifies every cycle of a store that does not change meanwhile. */
export async function verifyCycles(store: Store, { report }: VerifyCyclesOptions): Promise<void> {
  const weights = verifyWeights(store, report)
  const first = store.expiry.firstPosition()
  const verifier = new CycleVerifier(store, first)
  try {
    for (const stored of store.tail(first)) {
      const reportForCycle = (problem: string): void =>
        report(`cycle ${stored.cycleId} (position ${stored.position}): ${problem}`)
      verifyHeader(stored, weights, reportForCycle)
      await verifier.verify(stored, reportForCycle)
    }
  } catch (error) {
    verifier.isBroken = true
    report(`cycles: the records cannot be read further: ${messageOf(error)}`)
  }
  await verifyExpired(store, first, report)
}

/**
 * The records of expired cycles can be read, with a score for each scored row. A request that is kept for a pending post is the one
 * whose hash the cycle has.
 */
async function verifyExpired(store: Store, first: Position, report: Report): Promise<void> {
  const recorded = new RecordedCycles(store)
  for (const cycle of recorded.cycles) {
    if (cycle.position >= first) continue
    const reportForCycle = (problem: string): void => report(`cycle ${cycle.cycleId} (expired): ${problem}`)
    try {
      recorded.read(cycle)
    } catch (error) {
      reportForCycle(`the record cannot be read: ${messageOf(error)}`)
    }
    try {
      if (store.readRequest(cycle.position) !== undefined) await verifyRequest(store, cycle, reportForCycle)
    } catch (error) {
      reportForCycle(messageOf(error))
    }
  }
}

/** Resolves with the JSON of the request. */
async function verifyRequest(store: Store, { position }: StoredCycle, report: Report): Promise<Uint8Array> {
  const json = await readBody(store, position)
  const [hashes, request] = [store.hashes(position), store.readRequest(position)]
  if (hashes && request && (await requestHash(request)) !== hashes.requestSha256)
    report('the request has another hash')
  return json
}

/**
 * Each version has one set of weights. Times may decrease: a clock that was ahead may have been set back. Returns all weights;
 * none if they cannot be read.
 */
function verifyWeights(store: Store, report: Report): readonly WeightsSetting[] {
  const entries: WeightsSetting[] = []
  const known = new Map<string, string>()
  try {
    for (const entry of store.listWeights()) {
      const { version, weights } = entry
      const place = `weights ${version} (number ${entries.push(entry)})`
      const json = JSON.stringify(weights)
      if ((known.get(version) ?? json) !== json)
        report(`${place}: an earlier setting has the same version and other weights`)
      known.set(version, json)
      if (!Object.values(weights).every((weight) => Number.isFinite(weight) && weight >= 0))
        report(`${place}: a weight is negative or not a number`)
    }
  } catch {
    return [] // The verification of the records reports it.
  }
  return entries
}

function verifyHeader(stored: StoredCycle, weights: readonly WeightsSetting[], report: Report): void {
  if (Number.isNaN(Date.parse(stored.receivedAt))) report('received_at is not a time')
  const version = weightsInForce(weights, stored.cycleAtMs)?.version
  if (version !== undefined && version !== stored.weightsVersion)
    report(`scored with weights ${stored.weightsVersion}; the weights in force were ${version}`)
}

/** Plans the recorded requests again, one after the other. */
class CycleVerifier {
  readonly pool = new Pool()
  /** A cycle could not be planned again: later cycles and saved pools are not compared with the plans. */
  isBroken = false
  readonly #store: Store
  readonly #first: Position
  /** The store has all cycles from the first one. */
  readonly #isComplete: boolean

  /** `first`: position of the oldest stored cycle. */
  constructor(store: Store, first: Position) {
    this.#store = store
    this.#first = first
    this.#isComplete = first === 1
  }

  async verify(stored: StoredCycle, report: Report): Promise<void> {
    const response = this.#response(stored, report)
    try {
      const json = await verifyRequest(this.#store, stored, report)
      this.#replan(stored, json, response, report)
    } catch (error) {
      this.isBroken = true
      report(messageOf(error))
    }
  }

  #replan(stored: StoredCycle, json: Uint8Array, response: CycleResponse | null, report: Report): void {
    const cycle = decodeCycle(json)
    if (cycle.cycleId !== stored.cycleId) report(`the request is that of cycle ${cycle.cycleId}`)
    if (cycle.cycleAt.ms !== stored.cycleAtMs) report('the request has another cycle_time')
    if (this.isBroken) return
    const plan = this.pool.plan(cycle, stored.position)
    if (response !== null) this.#compareResults(response, plan, cycle, report)
    const record = this.#store.readRecord(stored.position)
    if (record !== undefined)
      verifyRecord(record, { response, cycle, plan, isComplete: this.#isComplete, report })
    this.pool.publish(plan)
    if (this.#store.savedPools().includes(stored.position)) this.#compareSavedPool(stored.position, report)
  }

  /** A saved pool is the one that the requests give. */
  #compareSavedPool(position: Position, report: Report): void {
    const reportForPool = (problem: string): void => report(`saved pool: ${problem}`)
    try {
      compareStates(readPool(this.#store, position).state, this.pool.state, this.#first, reportForPool)
    } catch (error) {
      report(messageOf(error))
    }
  }

  /** The stored response, or null if it cannot be read. */
  #response(stored: StoredCycle, report: Report): CycleResponse | null {
    try {
      const response = readResponse(this.#store, stored.cycleId)
      if (response.cycle_id !== stored.cycleId) report(`the response is that of cycle ${response.cycle_id}`)
      if (response.model_version !== stored.modelVersion) report('the response names another model')
      if (response.weights_version !== stored.weightsVersion) report('the response names other weights')
      verifyCounts(response, report)
      return response
    } catch (error) {
      report(`the response cannot be read: ${messageOf(error)}`)
      return null
    }
  }

  /** The response has one row for each post that was pending, in order of entry, and one for each unknown post. */
  #compareResults(
    { counts, results }: CycleResponse,
    plan: CyclePlan,
    cycle: CycleColumns,
    report: Report,
  ): void {
    const received = [cycle.candidates, cycle.engagement, cycle.candidateScores, cycle.removals]
    const counted = [counts.candidates, counts.engagement, counts.candidate_scores, counts.removals]
    if (received.some(({ count }, list) => count !== counted[list]))
      report('the counts of the response differ from the rows of the request')
    if (!this.#isComplete) return
    const { next } = plan
    const expected = next.count + plan.unknownRows.length
    if (results.length !== expected)
      report(`the response has ${results.length} results instead of ${expected}`)
    const wrong = results.findIndex(
      ({ gall_id, post_no }, slot) => slot < next.count && postName(gall_id, post_no) !== nameOf(next, slot),
    )
    if (wrong >= 0) report(`results[${wrong}] of the response is not the post that was pending in this place`)
  }
}

function verifyCounts({ counts, results }: CycleResponse, report: Report): void {
  const counted = { scored: counts.scored_now, waiting: counts.waiting, not_scored: counts.not_scored }
  if (counts.results !== results.length)
    report(`the response counts ${counts.results} results and has ${results.length}`)
  for (const [status, count] of Object.entries(counted)) {
    const listed = results.filter((row) => row.status === status).length
    if (listed !== count) report(`the response counts ${count} ${status} and has ${listed}`)
  }
}

/** Compares a state that the store has recorded with the one that the requests give. */
function compareStates(state: PoolState, expected: PoolState, first: Position, report: Report): void {
  const isComplete = first === 1
  const slots = new Map(Array.from({ length: expected.count }, (_, slot) => [nameOf(expected, slot), slot]))
  for (let slot = 0; slot < state.count; slot++) {
    // Readings of posts from expired cycles may come from those cycles too.
    if (state.enteredPosition[slot]! < first) continue
    const name = nameOf(state, slot)
    const other = slots.get(name)
    if (other === undefined) report(`post ${name} is pending, and according to the requests it is not`)
    else {
      const isSameRow = slot === other && state.enteredRow[slot] === expected.enteredRow[other]
      if (!isSamePost(state, slot, expected, other) || (isComplete && !isSameRow))
        report(`post ${name} differs from the requests`)
    }
  }
  if (!isComplete) return
  if (state.count !== expected.count) report(`${state.count} posts are pending instead of ${expected.count}`)
  if (state.newestCycleMs !== expected.newestCycleMs) report('the newest cycle is not that of the requests')
}

function isSamePost(a: PoolState, slot: number, b: PoolState, other: number): boolean {
  const isSameGroup = (x: object, y: object): boolean =>
    Object.entries(x).every(([column, values]) =>
      Object.is((values as Float64Array)[slot], (y as Record<string, Float64Array>)[column]?.[other]),
    )
  return (
    a.enteredPosition[slot] === b.enteredPosition[other] &&
    isSameGroup(a.latest, b.latest) &&
    isSameGroup(a.previous, b.previous) &&
    isSameGroup(a.snapshot, b.snapshot)
  )
}

function nameOf(state: PoolState, slot: number): string {
  return postName(gallIdAt(state, slot), state.postNo[slot]!)
}
