/**
 * Stored cycles held against each other: what each request says, planned once more from the first, must give the posts
 * that entered and left, the rows of the answer, and at the end the pool. Where early cycles have expired, what depends
 * on them is left out.
 */
import type { Codec } from '../codec/index.js'
import type { CycleColumns, CycleResponse } from '../contract/index.js'
import { loadPool, saveCycle, savedNames, unpackRequest } from '../cycle/index.js'
import { Pool, weightsInForce, type CyclePlan, type WeightsHistory } from '../pool/index.js'
import type { Position, Store, StoredCycle } from '../store/index.js'

export interface VerifyCyclesOptions {
  readonly codec: Codec
  /** Hears of each thing that is wrong, in one line. */
  readonly tell: (problem: string) => void
}

/** Verifies every cycle of a store that does not change meanwhile. */
export async function verifyCycles(store: Store, options: VerifyCyclesOptions): Promise<void> {
  const { tell } = options
  const history = verifyWeights(store, tell)
  const first = firstPosition(store)
  const pool = new Pool()
  const check = new CycleCheck(store, options, pool, first === 1)
  const tellBroken = (problem: string): void => {
    check.broken = true
    tell(problem)
  }
  for (const stored of cyclesOf(store, first, tellBroken)) {
    const place = `cycle ${stored.cycleId} (position ${stored.position})`
    try {
      verifyLabels(stored, history, place, tell)
      await check.cycle(stored, place)
    } catch (error) {
      tellBroken(`${place}: ${wordsOf(error)}`)
    }
  }
  verifyPool(store, pool, first, check.broken, tell)
}

/** Versions told once each, with times that never fall, and weights that can be weights. */
function verifyWeights(store: Store, tell: (problem: string) => void): WeightsHistory {
  let history: WeightsHistory
  try {
    history = store.listWeights()
  } catch {
    return [] // Told of with its record.
  }
  const known = new Map<string, string>()
  for (const [index, entry] of history.entries()) {
    const place = `weights ${entry.version} (number ${index + 1})`
    const values = JSON.stringify(entry.weights)
    const before = history[index - 1]
    if ((known.get(entry.version) ?? values) !== values)
      tell(`${place}: the version stood for other weights before`)
    known.set(entry.version, values)
    if (!Object.values(entry.weights).every((weight) => Number.isFinite(weight) && weight >= 0))
      tell(`${place}: a weight is negative or no number`)
    if (before !== undefined && entry.firstCycleMs < before.firstCycleMs)
      tell(`${place}: takes effect before those that were set earlier`)
  }
  return history
}

function verifyLabels(
  stored: StoredCycle,
  history: WeightsHistory,
  place: string,
  tell: (problem: string) => void,
): void {
  if (Number.isNaN(Date.parse(stored.receivedAt))) tell(`${place}: received_at is no time`)
  if (history.length === 0) return
  const { version } = weightsInForce(history, stored.cycleAtMs)
  if (version !== stored.weightsVersion)
    tell(`${place}: scored with weights ${stored.weightsVersion}, in force were ${version}`)
}

class CycleCheck {
  /** A cycle could not be planned: what follows from it is not looked at. */
  broken = false
  readonly #store: Store
  readonly #options: VerifyCyclesOptions
  readonly #pool: Pool
  readonly #complete: boolean

  constructor(store: Store, options: VerifyCyclesOptions, pool: Pool, complete: boolean) {
    this.#store = store
    this.#options = options
    this.#pool = pool
    this.#complete = complete
  }

  async cycle(stored: StoredCycle, place: string): Promise<void> {
    const json = await this.#body(stored.position)
    const response = this.#response(stored, place)
    const cycle = this.#options.codec.decodeCycle(json)
    this.#labels(stored, cycle, place)
    if (this.broken) return
    const plan = this.#pool.plan(cycle, stored.position)
    if (response !== null) this.#rows(response, plan, cycle, place)
    this.#moves(stored.position, cycle, plan, place)
    this.#pool.publish(plan)
  }

  async #body(position: Position): Promise<Uint8Array> {
    const request = this.#store.readRequest(position)
    if (request === undefined) throw new Error('the request is missing')
    const json = await unpackRequest(request)
    if (json.length !== request.bodyBytes)
      throw new Error(`the request unpacks to ${json.length} bytes, it came with ${request.bodyBytes}`)
    return json
  }

  #labels(stored: StoredCycle, cycle: CycleColumns, place: string): void {
    const { tell } = this.#options
    if (cycle.cycleId !== stored.cycleId) tell(`${place}: the request is that of cycle ${cycle.cycleId}`)
    if (cycle.cycleAt.ms !== stored.cycleAtMs) tell(`${place}: the request has another cycle_time`)
  }

  /** The stored answer, or null where it cannot be read. */
  #response(stored: StoredCycle, place: string): CycleResponse | null {
    const { tell } = this.#options
    try {
      const bytes = this.#store.readResponse(stored.cycleId)
      if (bytes === undefined) throw new Error('it is missing')
      const response = JSON.parse(Buffer.from(bytes).toString()) as CycleResponse
      if (response.cycle_id !== stored.cycleId)
        tell(`${place}: the response is that of cycle ${response.cycle_id}`)
      if (response.model_version !== stored.modelVersion) tell(`${place}: the response names another model`)
      if (response.weights_version !== stored.weightsVersion)
        tell(`${place}: the response names other weights`)
      verifyCounts(response, place, tell)
      return response
    } catch (error) {
      tell(`${place}: the response cannot be read: ${wordsOf(error)}`)
      return null
    }
  }

  /** The answer has one row for each post that was pending then, in order of entry, and one for each unknown one. */
  #rows({ counts, results }: CycleResponse, plan: CyclePlan, cycle: CycleColumns, place: string): void {
    const { tell } = this.#options
    const received = [cycle.candidates, cycle.engagement, cycle.candidateScores, cycle.removals]
    const told = [counts.candidates, counts.engagement, counts.candidate_scores, counts.removals]
    if (received.some(({ count }, list) => count !== told[list]))
      tell(`${place}: the response counts other rows than the request has`)
    if (!this.#complete) return
    const { next } = plan
    if (results.length !== next.count + plan.unknownRows.length)
      tell(
        `${place}: the response has ${results.length} results, the cycles so far give ${next.count + plan.unknownRows.length}`,
      )
    const other = results.findIndex(
      ({ gall_id, post_no }, slot) =>
        slot < next.count &&
        (post_no !== next.postNo[slot] || gall_id !== next.galleries[next.gallery[slot] as number]),
    )
    if (other >= 0) tell(`${place}: results[${other}] of the response is not the post that stood there`)
  }

  /** The records of posts that entered and left are those that the request makes. */
  #moves(position: Position, cycle: CycleColumns, plan: CyclePlan, place: string): void {
    const { tell } = this.#options
    const again = saveCycle(cycle, plan)
    const stored = { entered: this.#store.readEntered(position), left: this.#store.readLeft(position) }
    if (this.#complete) {
      if (!sameBytes(stored.entered, again.entered))
        tell(`${place}: the posts that are recorded as entered are not those of the request`)
      if (!sameBytes(stored.left, again.left))
        tell(`${place}: the posts that are recorded as left are not those of the request`)
      return
    }
    // Posts of expired cycles are lacking in this plan: they may enter in it once more, and never leave.
    if (!within(savedNames(stored.entered), savedNames(again.entered)))
      tell(`${place}: a post is recorded as entered that is not in the request`)
    if (!within(savedNames(again.left), savedNames(stored.left)))
      tell(`${place}: a post has left with the request and is not recorded as left`)
  }
}

function verifyCounts(
  { counts, results }: CycleResponse,
  place: string,
  tell: (problem: string) => void,
): void {
  const statuses = ['scored', 'waiting', 'not_scored'] as const
  const found = statuses.map((status) => results.filter((row) => row.status === status).length)
  const told = [counts.scored_now, counts.waiting, counts.not_scored]
  if (counts.results !== results.length)
    tell(`${place}: the response says ${counts.results} results and has ${results.length}`)
  statuses.forEach((status, index) => {
    if (found[index] !== told[index])
      tell(`${place}: the response says ${told[index]} ${status} and has ${found[index]}`)
  })
}

/** The stored pool against the one that the requests give. */
function verifyPool(
  store: Store,
  pool: Pool,
  first: Position,
  broken: boolean,
  tell: (problem: string) => void,
): void {
  let stored: Pool
  try {
    stored = loadPool(store)
  } catch (error) {
    tell(`pool: it cannot be rebuilt from its records: ${wordsOf(error)}`)
    return
  }
  if (broken) return
  const again = pool.state
  const { state } = stored
  const name = (slot: number): string =>
    `${state.galleries[state.gallery[slot] as number]}/${state.postNo[slot]}`
  const others = new Map(
    Array.from({ length: again.count }, (_, slot) => [
      `${again.galleries[again.gallery[slot] as number]}/${again.postNo[slot]}`,
      slot,
    ]),
  )
  for (let slot = 0; slot < state.count; slot++) {
    // Readings of posts from expired cycles may be of those too.
    if ((state.enteredPosition[slot] as number) < first) continue
    const other = others.get(name(slot))
    if (other === undefined) tell(`pool: post ${name(slot)} is pending, by the requests it is not`)
    else if (!sameSlot(state, slot, again, other, first === 1))
      tell(`pool: post ${name(slot)} differs from what the requests say of it`)
  }
  if (first !== 1) return
  if (state.count !== again.count)
    tell(`pool: ${state.count} posts are pending, by the requests ${again.count} are`)
  if (state.newestCycleMs !== again.newestCycleMs) tell('pool: the newest cycle is not that of the requests')
}

type State = Pool['state']

function sameSlot(a: State, slot: number, b: State, other: number, rowsToo: boolean): boolean {
  const same = (x: ArrayLike<number>, y: ArrayLike<number>): boolean => Object.is(x[slot], y[other])
  const sameGroup = (x: object, y: object): boolean =>
    Object.entries(x).every(([column, values]) =>
      same(values as Float64Array, (y as Record<string, Float64Array>)[column] ?? []),
    )
  return (
    same(a.enteredPosition, b.enteredPosition) &&
    (!rowsToo || (slot === other && same(a.enteredRow, b.enteredRow))) &&
    sameGroup(a.latest, b.latest) &&
    sameGroup(a.previous, b.previous) &&
    sameGroup(a.snapshot, b.snapshot)
  )
}

// ---- the pieces

/** Position of the first cycle that has not expired; 1 in an empty store. */
function firstPosition(store: Store): Position {
  for (const key of store.tail(1)) return key.position
  return 1
}

/** Cycles in order; where a header cannot be read, those after it are not looked at. */
function* cyclesOf(store: Store, first: Position, tell: (problem: string) => void): Generator<StoredCycle> {
  try {
    yield* store.tail(first)
  } catch (error) {
    tell(`cycles: they can be followed no further: ${wordsOf(error)}`)
  }
}

function within(part: readonly string[], whole: readonly string[]): boolean {
  const names = new Set(whole)
  return part.every((name) => names.has(name))
}

function sameBytes(stored: Uint8Array | undefined, again: Uint8Array | null): boolean {
  if (stored === undefined || again === null) return stored === undefined && again === null
  return Buffer.compare(stored, again) === 0
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
