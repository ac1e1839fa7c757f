/**
 * `understudy explain`: everything that the store has about one post, why it has its score at one cycle, and why its score
 * differs from that at another one. Read `explainPost` first.
 */
import {
  formatInstant,
  type CycleSummary,
  type ExplainedAgainst,
  type ExplainedCycle,
  type Explanation,
  type PostKey,
  type VisitSummary,
} from '../../contract/index.js'
import {
  catalogue,
  featureNames,
  findFeature,
  missingEmbeddings,
  ModelError,
  readManifest,
} from '../../model/index.js'
import type { Store } from '../../store/index.js'
import { endOf } from '../recorded/departures.js'
import { HistoryError } from '../history-error.js'
import { positionOf, type History } from '../recorded/session.js'
import { candidateOf, isPendingAt, StoredVisits, type StoredVisit } from '../recorded/stored-visits.js'
import { replayCycles } from '../replay/replay.js'
import { weightsOf } from '../replay/version-scores.js'
import { describeInputs, explainChange, explainScore } from './explain-score.js'
import { cyclesOf, imagesOf, lastReading, outcomesOf, scoredCycle } from './post-history.js'
import { cycleInputs, type CycleInputs, type Scorer } from './scored-inputs.js'

export interface ExplainOptions {
  /** Null: the last cycle of the last visit that scored the post. */
  readonly cycleId: string | null
  /** Include the body of the post. */
  readonly texts: boolean
  /** Compare with this cycle. */
  readonly againstId: string | null
}

/** Rejects with a `HistoryError` if no stored cycle has the post, and for a cycle that is not stored or did not score it. */
export async function explainPost(
  history: History,
  { gall_id, post_no }: PostKey,
  { cycleId, againstId, texts }: ExplainOptions,
): Promise<Explanation> {
  const { store } = history
  const key = { gall_id, post_no }
  for (const id of [cycleId, againstId]) if (id !== null) positionOf(store, id)
  const visits = new StoredVisits(store).list(key)
  const index = chosenVisit(store, visits, cycleId)
  const visit = visits[index]
  if (visit === undefined) throw new HistoryError({ code: 'never_candidate', post: `${gall_id}/${post_no}` })
  const load = loadOnce((version) => loadScorer(history, version))
  const likely = store.findCycle(cycleId ?? store.lastCycle()?.cycleId ?? '')
  // The process of the model starts while the responses are read.
  if (likely !== undefined) load(likely.modelVersion).catch(() => undefined)
  const cycles = cyclesOf(store, visit, key)
  const chosen =
    cycleId === null ? cycles.findLast(({ status }) => status === 'scored') : scoredCycle(store, cycleId, key)
  const other = againstId === null ? null : scoredCycle(store, againstId, key)
  const explained = chosen === undefined ? null : await explainCycles(store, key, { chosen, other, load })
  const candidate = await candidateOf(store, visit)
  const reading = await lastReading(store, cycles, key)
  return {
    ...key,
    candidate: candidate === null ? null : withoutKey(candidate, texts ? [] : ['body_html']),
    last_reading: reading === null ? null : withoutKey(reading, ['status']),
    images: imagesOf(store, key),
    visits: visits.map((each) => visitSummary(each)),
    visit: index,
    cycles,
    explained: explained?.explained ?? null,
    against: explained?.against ?? null,
    outcomes: outcomesOf(store, key),
  }
}

/** Index of the visit that holds a cycle, or of the last one. */
function chosenVisit(store: Store, visits: readonly StoredVisit[], cycleId: string | null): number {
  const cycle = cycleId === null ? undefined : store.findCycle(cycleId)
  const holding = visits.findIndex((visit) => cycle !== undefined && isPendingAt(visit, cycle))
  return holding < 0 ? visits.length - 1 : holding
}

/** Rejects with a `ModelError` for a version that cannot be loaded, or whose files are not those of the server. */
async function loadScorer({ settings, load }: History, version: string): Promise<Scorer> {
  const { manifest } = await readManifest(settings.modelsDir, version)
  const model = await load(version).catch((error: unknown) => {
    throw error instanceof HistoryError ? new ModelError(error.message, { cause: error }) : error
  })
  return {
    model,
    features: featureNames(manifest)
      .map(findFeature)
      .filter((feature) => feature !== undefined),
    galleries: manifest.galleries ?? [],
    missing: manifest.missing ?? 'imputed',
    missingEmbedding: missingEmbeddings(manifest),
  }
}

interface LoadedScorer {
  readonly version: string
  readonly scorer: Scorer | null
  /** Why there is none. */
  readonly problem: string | null
}

function loadOnce(load: (version: string) => Promise<Scorer>): (version: string) => Promise<LoadedScorer> {
  const loaded = new Map<string, Promise<LoadedScorer>>()
  return (version) => {
    const known = loaded.get(version)
    if (known !== undefined) return known
    const loading = load(version).then(
      (scorer) => ({ version, scorer, problem: null }),
      (error: unknown) => {
        if (!(error instanceof ModelError)) throw error
        return { version, scorer: null, problem: `${version} cannot be loaded: ${error.message}` }
      },
    )
    // Until it is awaited, a failure is not unhandled.
    loading.catch(() => undefined)
    loaded.set(version, loading)
    return loading
  }
}

interface ChosenCycles {
  readonly chosen: CycleSummary
  readonly other: CycleSummary | null
  readonly load: (version: string) => Promise<LoadedScorer>
}

async function explainCycles(
  store: Store,
  key: PostKey,
  { chosen, other, load }: ChosenCycles,
): Promise<{ readonly explained: ExplainedCycle; readonly against: ExplainedAgainst | null }> {
  const weights = weightsOf(store, chosen.weights_version)
  const laterModel = await load(chosen.model_version)
  const earlierModel = other === null ? laterModel : await load(other.model_version)
  const inputsOf = await replayedInputsOf(store, key, {
    cycles: [chosen, other ?? chosen],
    scorers: [laterModel, earlierModel],
  })
  const inputs = inputsOf(chosen, laterModel)
  const score = laterModel.scorer && inputs && (await explainScore(laterModel.scorer, weights, inputs))
  const explained = {
    ...chosen,
    weights,
    score_now: score?.score ?? null,
    problem: inputs === undefined ? notReplayed : laterModel.problem,
    inputs: score?.inputs ?? (inputs === undefined ? [] : describeInputs(catalogue, inputs)),
  }
  if (other === null) return { explained, against: null }
  const otherWeights = weightsOf(store, other.weights_version)
  const [before, after] = [inputsOf(other, earlierModel), inputsOf(chosen, earlierModel)]
  const change =
    laterModel.scorer === null || earlierModel.scorer === null || !before || !after || !inputs
      ? null
      : await explainChange(
          { scorer: earlierModel.scorer, weights: otherWeights },
          { scorer: laterModel.scorer, weights },
          { before: before.postRow, after: after.postRow, afterOwn: inputs.postRow },
        )
  const problem = laterModel.problem ?? earlierModel.problem ?? (change === null ? notReplayed : null)
  return { explained, against: { ...other, weights: otherWeights, problem, change } }
}

const notReplayed = 'the records of this cycle do not reproduce its inputs: earlier cycles have expired'
const withoutModel = { model: { text: null, image: null }, features: catalogue, galleries: [] }

type InputsOf = (cycle: CycleSummary, scorer: LoadedScorer) => CycleInputs | undefined

/** The inputs of each scorer in each cycle; undefined if the replay does not score the post. */
async function replayedInputsOf(
  store: Store,
  key: PostKey,
  {
    cycles,
    scorers,
  }: { readonly cycles: readonly CycleSummary[]; readonly scorers: readonly LoadedScorer[] },
): Promise<InputsOf> {
  const nameOf = (cycleId: string, version: string): string => `${cycleId} ${version}`
  const byName = new Map<string, CycleInputs>()
  const positions = cycles.map(({ cycle_id }) => store.findCycle(cycle_id)!.position)
  const range = { from: Math.min(...positions), to: Math.max(...positions) }
  for await (const replayed of replayCycles(store, range)) {
    if (!positions.includes(replayed.position)) continue
    for (const { version, scorer } of new Set(scorers)) {
      const inputs = await cycleInputs(store, scorer ?? withoutModel, replayed, key)
      if (inputs !== null) byName.set(nameOf(replayed.cycle.cycleId, version), inputs)
    }
  }
  return ({ cycle_id }, { version }) => byName.get(nameOf(cycle_id, version))
}

function withoutKey<Row extends PostKey, Name extends keyof Row>(
  row: Row,
  others: readonly Name[],
): Omit<Row, keyof PostKey | Name> {
  const kept = Object.entries(row).filter(([name]) => !['gall_id', 'post_no', ...others].includes(name))
  return Object.fromEntries(kept) as Omit<Row, keyof PostKey | Name>
}

function visitSummary({ begin, departure }: StoredVisit): VisitSummary {
  const end = departure && endOf(departure)
  return {
    entered_cycle: begin?.cycleId ?? null,
    left_cycle: departure?.cycle.cycleId ?? null,
    fate: end?.reason ?? 'open',
    tier: end?.tier ?? null,
    decided_at: end?.decided_at ?? null,
    known_at: departure === null ? null : formatInstant(Date.parse(departure.cycle.receivedAt)),
  }
}
