/**
 * Evaluates a window: how the model, other versions and simple orders rank the posts that the operators picked, and what
 * each would have picked. docs/evaluation.md defines the figures. Read `evaluate` first.
 */
import { assert, formatInstant, type Report } from '../../contract/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { RecordedCycles } from '../recorded/recorded-cycles.js'
import type { ReplayedScores } from '../replay/version-scores.js'
import { breakdowns } from './breakdowns.js'
import { kstDay, Units } from './estimates.js'
import { firstScoreFigures } from './first-score-ledger.js'
import { outcomeFigures } from './outcomes.js'
import { fates, poolOf, RankerEvaluation } from './ranker-evaluation.js'
import { difference, rankerFigures, type EvaluatedRanker } from './ranker-figures.js'
import { baselineRankers, modelRanker, versionRanker, type Ranker } from './rankers.js'
import { hashOf } from '../recorded/records.js'
import { readWindow, type EvaluationWindow } from './window.js'

export interface EvaluationOptions {
  /** Cycles with from ≤ cycle_time ≤ to, milliseconds since 1970; everything if absent. */
  readonly fromMs?: number
  readonly toMs?: number
  /** Versions to rank in addition to the model that served. Without them: those that left shadow scores in the window. */
  readonly versions?: readonly string[]
  /** Ranks also the version that served every cycle. Otherwise it is the model, and is not compared with itself. */
  readonly ranksServed?: boolean
  /** Scores of cycles that a version neither served nor scored as a shadow. */
  readonly replayed?: ReplayedScores
}

/** Throws if the record of a cycle is damaged. */
export function evaluate(store: Store, options: EvaluationOptions = {}): Report {
  const { fromMs = -Infinity, toMs = Infinity } = options
  const stored = new RecordedCycles(store)
  const cycles = stored.window(fromMs, toMs)
  const window = readWindow(stored, cycles)
  const models = new Set(cycles.map(({ modelVersion }) => modelVersion))
  const isModel = (version: string): boolean =>
    options.ranksServed !== true && models.size === 1 && models.has(version)
  const versions = (options.versions ?? shadowVersions(store, cycles)).filter((version) => !isModel(version))
  const served = [...new Set(cycles.map(versionsOf))]
  const [model, ...others] = evaluateRankers(stored, window, [
    modelRanker(served),
    ...versions.map((version) => versionRanker(version, store, options.replayed)),
    ...baselineRankers(window),
  ])
  assert(model !== undefined, 'the model is a ranker')
  const units = new Units(window)
  const days = new Set(cycles.map(({ cycleAtMs }) => kstDay(cycleAtMs))).size
  const shadows = others.slice(0, versions.length)
  const baselines = others.slice(versions.length)
  const pairs = [
    ...others.map((b) => [model, b] as const),
    ...shadows.flatMap((a) => baselines.map((b) => [a, b] as const)),
    ...shadows.flatMap((a, index) => shadows.slice(index + 1).map((b) => [a, b] as const)),
  ]
  return {
    window: {
      from: timeOf(cycles[0]),
      to: timeOf(cycles.at(-1)),
      cycles: cycles.length,
      days,
      unit: units.isDays ? 'day' : 'cycle',
      versions: served,
      last_hash: hashOf(store, lastArrived(cycles)),
    },
    visits: visitCounts(window),
    rankers: [model, ...others].map((ranker) => rankerFigures(ranker, window, units)),
    differences: pairs.map(([a, b]) => difference(a, b, units, days)),
    first_score: firstScoreFigures(window),
    outcomes: outcomeFigures(store.outcomes(), { fromMs, toMs }),
    by: breakdowns(window, model.evaluation, units),
  }
}

function lastArrived(cycles: readonly StoredCycle[]): StoredCycle | undefined {
  return cycles.reduce<StoredCycle | undefined>(
    (last, cycle) => (cycle.position > (last?.position ?? 0) ? cycle : last),
    undefined,
  )
}

function timeOf(cycle: StoredCycle | undefined): string | null {
  return cycle === undefined ? null : formatInstant(cycle.cycleAtMs)
}

/** The second reading of the window. */
export function evaluateRankers(
  stored: RecordedCycles,
  { cycles, scored: ofRows, fates: visitFates, decisions, budget }: EvaluationWindow,
  rankers: readonly Ranker[],
): EvaluatedRanker[] {
  const evaluated = rankers.map((ranker) => ({
    ...ranker,
    evaluation: new RankerEvaluation(visitFates),
    cycles: 0,
  }))
  for (const [index, cycle] of cycles.entries()) {
    const rows = ofRows[index]
    if (rows === undefined || rows.visits.length === 0) continue
    const pool = poolOf(index, rows, visitFates, decisions)
    const scored = stored.readScored(cycle)
    for (const ranker of evaluated) {
      const scores = ranker.scores(scored, cycle, rows.visits)
      if (scores === null) continue
      ranker.cycles++
      ranker.evaluation.add(index, rows, pool, scores, budget[index]!)
    }
  }
  return evaluated
}

function versionsOf({ modelVersion, weightsVersion }: StoredCycle): string {
  return `${modelVersion} / ${weightsVersion}`
}

function shadowVersions(store: Store, cycles: readonly StoredCycle[]): string[] {
  const versions = new Set<string>()
  for (const { position } of cycles)
    for (const version of store.models.shadowVersions(position)) versions.add(version)
  return [...versions].sort()
}

function visitCounts({ fates: { fate, count }, decisions }: EvaluationWindow): Report['visits'] {
  const none = { saved: 0, hidden: 0, deleted: 0, aged_out: 0, open: 0 }
  const visits = { total: count, ...none, unranked_saved: 0 }
  for (let visit = 0; visit < count; visit++) {
    const end = fates[fate[visit]!]!
    visits[end]++
    if (end === 'saved' && decisions.cycle[visit]! < 0) visits.unranked_saved++
  }
  return visits
}
