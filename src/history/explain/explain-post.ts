/**
 * `understudy explain`: everything that the store has about one post, why it has its score at one cycle, and why its score
 * differs from that at another one. Read `explainPost` first.
 */
import type { Codec } from '../../codec/index.js'
import {
  formatInstant,
  removalReasonCodes,
  tierCodes,
  type Candidate,
  type EngagementRow,
  type Weights,
} from '../../contract/index.js'
import { catalogue, ModelError } from '../../model/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import type { ArrivalVisit } from '../arrival-visits.js'
import type { PostKey } from '../pool-list.js'
import { replayCycles, type ReplayedCycle } from '../replay.js'
import { weightsOf } from '../score-pairs.js'
import {
  describeInputs,
  explainChange,
  explainScore,
  type ExplainedChange,
  type ExplainedInput,
} from './explain-score.js'
import {
  candidateOf,
  cyclesOf,
  imagesOf,
  lastReading,
  outcomesOf,
  visitsOf,
  type PostCycle,
} from './post-history.js'
import { cycleInputs, type CycleInputs, type Scorer } from './scored-inputs.js'

export interface ExplainOptions {
  readonly codec: Codec
  /** By default the last cycle of the last visit that scored the post. */
  readonly cycleId: string | null
  /** Include the body of the post. */
  readonly texts: boolean
  /** Compare with this cycle. */
  readonly againstId: string | null
  /** Loads the model of a version. Rejects with a `ModelError`; then no change of a score is computed. */
  readonly load: (version: string) => Promise<Scorer>
}

export interface Explanation extends PostKey {
  /** As received with the visit that is explained; its body only with `texts`. Null: the record has expired. */
  readonly candidate: Omit<Candidate, 'gall_id' | 'post_no'> | null
  /** The newest counters of the visit in the stored cycles. Null: none of its last cycles has any. */
  readonly last_reading: Omit<EngagementRow, 'gall_id' | 'post_no' | 'status'> | null
  /** Those that are stored. */
  readonly images: readonly { readonly position: number; readonly sha256: string }[]
  readonly visits: readonly VisitSummary[]
  /** Index of the visit that is explained. */
  readonly visit: number
  /** Of that visit, in order of `cycle_time`. */
  readonly cycles: readonly CycleSummary[]
  /** Null where no cycle of the visit scored the post. */
  readonly explained: ExplainedCycle | null
  readonly against: ExplainedAgainst | null
  /** As stored, with the time of the last report. */
  readonly outcomes: readonly Readonly<Record<string, unknown>>[]
}

export interface VisitSummary {
  /** Null where the cycle that brought the post has expired. */
  readonly entered_cycle: string | null
  /** Null while the post is pending. */
  readonly left_cycle: string | null
  readonly fate: string
  readonly tier: string | null
  readonly decided_at: string | null
  /** Arrival of the cycle that reported the removal: it was not known earlier. */
  readonly known_at: string | null
}

export interface CycleSummary {
  readonly cycle_id: string
  readonly status: PostCycle['status']
  readonly reason: PostCycle['reason']
  readonly score: number | null
  /** 1 for the highest score; ties share their average rank. */
  readonly rank: number | null
  /** Scored posts of the cycle. */
  readonly scored: number
  readonly heads: PostCycle['heads']
  readonly weights_version: string
  readonly model_version: string
}

export interface ExplainedCycle extends CycleSummary {
  readonly weights: Weights
  /** Computed now from the recorded inputs; null without the model. */
  readonly score_now: number | null
  /** Why no change of the score is known: the model cannot be loaded. */
  readonly problem: string | null
  readonly inputs: readonly ExplainedInput[]
}

export interface ExplainedAgainst extends CycleSummary {
  readonly weights: Weights
  readonly problem: string | null
  /** From this cycle to the explained one; null without the models. */
  readonly change: ExplainedChange | null
}

/** Null where no stored cycle has the post. Throws an `Error` for a cycle that did not score it. */
export async function explainPost(
  store: Store,
  key: PostKey,
  options: ExplainOptions,
): Promise<Explanation | null> {
  const visits = visitsOf(store, key)
  const index = chosenVisit(store, visits, options.cycleId)
  const visit = visits[index]
  if (visit === undefined) return null
  const models = new Models(options.load)
  const expected = options.cycleId ?? store.lastCycle()?.cycleId
  const likely = expected === undefined ? undefined : store.findCycle(expected)
  // The process of the model starts while the responses are read.
  if (likely !== undefined) void models.scorer(likely.modelVersion)
  const cycles = cyclesOf(store, visit, key)
  const chosen =
    options.cycleId === null
      ? cycles.findLast(({ status }) => status === 'scored')
      : scoredAt(cycles, options.cycleId, key)
  const other = options.againstId === null ? undefined : scoredAt(otherCycles(), options.againstId, key)
  const explained =
    chosen === undefined ? null : await explainCycles(store, key, { chosen, other, models, ...options })
  const candidate = await candidateOf(store, visit)
  const reading = await lastReading(store, cycles, key)
  return {
    ...key,
    candidate: candidate === null ? null : withoutKey(candidate, options.texts ? [] : ['body_html']),
    last_reading: reading === null ? null : withoutKey(reading, ['status']),
    images: imagesOf(store, key),
    visits: visits.map((each) => visitSummary(store, each)),
    visit: index,
    cycles: cycles.map(cycleSummary),
    explained: explained?.explained ?? null,
    against: explained?.against ?? null,
    outcomes: outcomesOf(store, key),
  }

  /** The cycle to compare with may be of another visit. */
  function otherCycles(): PostCycle[] {
    const otherVisit = visits[chosenVisit(store, visits, options.againstId)]
    return otherVisit === undefined || otherVisit === visit ? cycles : cyclesOf(store, otherVisit, key)
  }
}

/** The visit that holds a cycle, or the last one. */
function chosenVisit(store: Store, visits: readonly ArrivalVisit[], cycleId: string | null): number {
  const position = cycleId === null ? undefined : store.findCycle(cycleId)?.position
  const holds = ({ entered, left }: ArrivalVisit): boolean =>
    position !== undefined && position >= (entered?.position ?? 0) && position < (left?.position ?? Infinity)
  const found = visits.findIndex(holds)
  return found < 0 ? visits.length - 1 : found
}

function scoredAt(cycles: readonly PostCycle[], cycleId: string, { gall_id, post_no }: PostKey): PostCycle {
  const found = cycles.find(({ cycle }) => cycle.cycleId === cycleId)
  if (found?.status === 'scored') return found
  const why = found === undefined ? 'it was not pending' : (found.reason ?? found.status)
  throw new Error(`cycle ${cycleId} has no score of ${gall_id}/${post_no}: ${why}`)
}

interface ChosenCycles extends ExplainOptions {
  readonly chosen: PostCycle
  readonly other: PostCycle | undefined
  readonly models: Models
}

async function explainCycles(
  store: Store,
  key: PostKey,
  { chosen, other, models, codec }: ChosenCycles,
): Promise<{ readonly explained: ExplainedCycle; readonly against: ExplainedAgainst | null }> {
  const history = store.listWeights()
  const weights = weightsOf(history, chosen.cycle)
  const own = await models.scorer(chosen.cycle.modelVersion)
  const earlier = other === undefined ? null : await models.scorer(other.cycle.modelVersion)
  const found = new Map<string, CycleInputs>()
  const requested = [chosen, ...(other === undefined ? [] : [other])].map(({ cycle }) => cycle)
  for await (const replayed of replays(store, codec, requested)) {
    for (const scorer of new Set([own, ...(earlier === null ? [] : [earlier])])) {
      const inputs = await cycleInputs(store, codec, scorer.scorer ?? withoutModel, replayed, key)
      if (inputs !== null) found.set(placeOf(replayed.position, scorer), inputs)
    }
  }
  const inputs = found.get(placeOf(chosen.cycle.position, own))
  const score =
    own.scorer === null || inputs === undefined ? null : await explainScore(own.scorer, weights, inputs)
  const explained = {
    ...cycleSummary(chosen),
    weights,
    score_now: score?.score ?? null,
    problem: inputs === undefined ? notReplayed : own.problem,
    inputs: score?.inputs ?? (inputs === undefined ? [] : describeInputs(catalogue, inputs)),
  }
  if (other === undefined || earlier === null) return { explained, against: null }
  const otherWeights = weightsOf(history, other.cycle)
  const before = found.get(placeOf(other.cycle.position, earlier))
  const after = found.get(placeOf(chosen.cycle.position, earlier))
  const change =
    own.scorer === null || earlier.scorer === null || !before || !after || !inputs
      ? null
      : await explainChange(
          { scorer: earlier.scorer, weights: otherWeights },
          { scorer: own.scorer, weights },
          { before: before.own, after: after.own, afterOwn: inputs.own },
        )
  const problem = own.problem ?? earlier.problem ?? (change === null ? notReplayed : null)
  return { explained, against: { ...cycleSummary(other), weights: otherWeights, problem, change } }
}

const notReplayed = 'the records of this cycle do not reproduce its inputs: earlier cycles have expired'
const withoutModel = { model: { text: null, image: null }, features: catalogue }

/** The replays of some cycles, in order of arrival. */
async function* replays(
  store: Store,
  codec: Codec,
  cycles: readonly StoredCycle[],
): AsyncGenerator<ReplayedCycle> {
  const requested = new Set(cycles.map(({ position }) => position))
  const range = { from: Math.min(...requested), to: Math.max(...requested), codec }
  for await (const cycle of replayCycles(store, range)) if (requested.has(cycle.position)) yield cycle
}

function placeOf(position: Position, { version }: LoadedScorer): string {
  return `${position} ${version}`
}

interface LoadedScorer {
  readonly version: string
  readonly scorer: Scorer | null
  readonly problem: string | null
}

/** Each version is loaded once. */
class Models {
  readonly #load: ExplainOptions['load']
  readonly #loaded = new Map<string, Promise<LoadedScorer>>()

  constructor(load: ExplainOptions['load']) {
    this.#load = load
  }

  scorer(version: string): Promise<LoadedScorer> {
    const known = this.#loaded.get(version)
    if (known !== undefined) return known
    const loading = this.#load(version).then(
      (scorer) => ({ version, scorer, problem: null }),
      (error: unknown) => {
        if (!(error instanceof ModelError)) throw error
        return { version, scorer: null, problem: `${version} cannot be loaded: ${error.message}` }
      },
    )
    // Until it is awaited, a failure is not unhandled.
    loading.catch(() => undefined)
    this.#loaded.set(version, loading)
    return loading
  }
}

function withoutKey<Row extends PostKey, Name extends keyof Row>(
  row: Row,
  others: readonly Name[],
): Omit<Row, keyof PostKey | Name> {
  const left = Object.entries(row).filter(([name]) => !['gall_id', 'post_no', ...others].includes(name))
  return Object.fromEntries(left) as Omit<Row, keyof PostKey | Name>
}

function visitSummary(store: Store, { entered, left }: ArrivalVisit): VisitSummary {
  const cycleAt = (position: Position | undefined): StoredCycle | undefined => {
    if (position === undefined) return undefined
    const [cycle] = store.tail(position)
    return cycle?.position === position ? cycle : undefined
  }
  const leftCycle = cycleAt(left?.position)
  return {
    entered_cycle: cycleAt(entered?.position)?.cycleId ?? null,
    left_cycle: leftCycle?.cycleId ?? null,
    fate: left === null ? 'open' : (removalReasonCodes[left.reason] ?? 'unknown'),
    tier: left === null ? null : (tierCodes[left.tier] ?? null),
    decided_at: left === null ? null : formatInstant(left.decidedMs),
    known_at: leftCycle === undefined ? null : formatInstant(Date.parse(leftCycle.receivedAt)),
  }
}

function cycleSummary({ cycle, status, reason, score, rank, scored, heads }: PostCycle): CycleSummary {
  return {
    cycle_id: cycle.cycleId,
    ...{ status, reason, score, rank, scored, heads },
    weights_version: cycle.weightsVersion,
    model_version: cycle.modelVersion,
  }
}
