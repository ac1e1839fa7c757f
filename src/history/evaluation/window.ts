/**
 * First pass over a window: collects its visits with their fates, the visit of each scored row, the budget of each cycle and
 * the decision cycle of each visit. The second pass (evaluate.ts) evaluates the rankers.
 */
import type { StoredCycle } from '../../store/index.js'
import type { RecordedCycles } from '../recorded/recorded-cycles.js'
import type { RecordedEntries } from '../recorded/recorded-entries.js'
import { budgets, DecisionCycles, type ScoredCycle, type VisitFates } from './ranker-evaluation.js'
import { Visits } from '../recorded/visits.js'

export interface EvaluationWindow {
  /** Ordered by cycle_time. */
  readonly cycles: readonly StoredCycle[]
  readonly scored: readonly ScoredCycle[]
  readonly visits: Visits
  readonly fates: VisitFates
  readonly decisions: DecisionCycles
  /** How many visits the operators picked, for each cycle. */
  readonly budget: Uint32Array
  readonly entries: RecordedEntries
}

export function readWindow(stored: RecordedCycles, cycles: readonly StoredCycle[]): EvaluationWindow {
  const startMs = cycles[0]?.cycleAtMs ?? -Infinity
  const { entries } = stored
  const visits = new Visits(stored)
  for (const cycle of stored.cycles) if (cycle.cycleAtMs < startMs) visits.addBefore(stored.readEvents(cycle))
  const scored: ScoredCycle[] = []
  for (const [index, cycle] of cycles.entries()) {
    const visitOfRow = visits.add(stored.read(cycle))
    const nextMs = cycles[index + 1]?.cycleAtMs ?? Infinity
    scored.push({ cycleMs: cycle.cycleAtMs, nextMs, visits: visitOfRow })
  }
  const fates = visits.fates()
  const decisions = new DecisionCycles(fates)
  for (const [index, cycle] of scored.entries()) decisions.add(index, cycle)
  const times = cycles.map(({ cycleAtMs }) => cycleAtMs)
  return { cycles, scored, visits, fates, decisions, budget: budgets(times, fates), entries }
}
