/**
 * An evaluation written from docs/evaluation.md with objects and full sorts over requests and responses: the oracle of
 * `understudy report`. Slow and obvious; it shares no code with src/history.
 */
import type { Candidate, CycleRequest, CycleResponse, ResultRow } from '../../src/contract/index.js'
import { kstDay, naiveInterval, naiveVerdict, type Observation } from './naive-intervals.js'
import { instantOf, naiveLedger, type LedgerVisit } from './naive-ledger.js'

export interface NaiveCycle {
  readonly request: CycleRequest
  readonly response: CycleResponse
  /** Scores of shadows, by version, in the order of the scored results. */
  readonly shadows?: Readonly<Record<string, readonly number[]>>
}

interface Visit extends LedgerVisit {
  readonly key: string
  fate: string
  d: number
  tier: string | null
  readonly scoredIn: number[]
  readonly results: [cycle: number, result: string][]
}

interface Row {
  readonly visit: Visit
  readonly values: Readonly<Record<string, number | null>>
}

const key = (row: { gall_id: string; post_no: number }): string => `${row.gall_id}/${row.post_no}`
const below = (value: number | null | undefined): number => value ?? -Infinity
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : sum(values) / values.length

export interface NaiveOptions {
  readonly fromMs?: number
  readonly toMs?: number
}

/** The report of stored cycles in any order. Cycles after the window do not count. */
export function naiveReport(
  stored: readonly NaiveCycle[],
  { fromMs = -Infinity, toMs = Infinity }: NaiveOptions = {},
): object {
  const time = ({ request }: NaiveCycle): number => Date.parse(request.cycle_time)
  const all = [...stored].sort((a, b) => time(a) - time(b))
  const cycles = all.filter((cycle) => time(cycle) >= fromMs && time(cycle) <= toMs)
  const before = all.filter((cycle) => time(cycle) < fromMs)
  const times = cycles.map(time)
  const pendingBefore = new Map(
    readVisits(before, null).visits.flatMap((visit) =>
      visit.fate === 'open' && visit.candidate !== undefined ? [[visit.key, visit.candidate]] : [],
    ),
  )
  const { visits, rows } = readVisits(cycles, before.length > 0 ? pendingBefore : null)
  const poolOf = (c: number): Row[] => (rows[c] ?? []).filter(({ visit }) => visit.d > (times[c] ?? 0))
  const picksOf = (c: number): Visit[] =>
    visits.filter(({ fate, d }) => fate === 'saved' && d > (times[c] ?? 0) && d <= (times[c + 1] ?? Infinity))
  const decisionOf = (visit: Visit): number =>
    times.findLastIndex((t, c) => t < visit.d && poolOf(c).some((row) => row.visit === visit))
  const saved = visits.filter(({ fate }) => fate === 'saved')
  const isByDay = new Set(saved.map(({ d }) => kstDay(d))).size >= 5
  const unitOfCycle = (c: number): string => {
    const at = times[c]
    if (at === undefined) return ''
    return isByDay ? kstDay(at) : new Date(at).toISOString()
  }
  /** Of a saved visit. One without a decision cycle counts with the last cycle before d. */
  const unitOfVisit = (visit: Visit): string => {
    if (isByDay) return kstDay(visit.d)
    const c = decisionOf(visit)
    return unitOfCycle(c >= 0 ? c : times.findLastIndex((t) => t < visit.d))
  }
  const interval = (observations: readonly Observation[]) => naiveInterval(observations)
  const ofVisits = (values: readonly (readonly [Visit, number])[]) =>
    interval(values.map(([visit, value]) => ({ unit: unitOfVisit(visit), value })))
  const shadowNames = [...new Set(cycles.flatMap(({ shadows = {} }) => Object.keys(shadows)))].sort()
  const names = [
    'model',
    ...shadowNames.map((name) => `shadow:${name}`),
    ...['views', 'up', 'comment_cnt', 'rtb_vote', 'newest', 'up_per_view'],
  ]
  const versions = cycles.map(({ response: r }) => `${r.model_version} / ${r.weights_version}`)

  const evaluated = names.map((name) => {
    const value = (row: Row): number => below(row.values[name])
    const scores = (c: number): boolean => (rows[c] ?? []).some(({ values }) => name in values)
    /** Also of posts that belong to no visit, because their candidates came late. */
    const hasScores = ({ response, shadows = {} }: NaiveCycle): boolean =>
      response.results.some(({ status }) => status === 'scored') &&
      (!name.startsWith('shadow:') || name.slice('shadow:'.length) in shadows)
    const percentiles = new Map<Visit, number>()
    const ranks: [Visit, number][] = []
    for (const visit of saved) {
      const c = decisionOf(visit)
      if (c < 0 || !scores(c)) continue
      const pool = poolOf(c)
      const own = value(pool.find((row) => row.visit === visit)!)
      const higher = pool.filter((row) => value(row) > own).length
      ranks.push([visit, higher + (pool.filter((row) => value(row) === own).length + 1) / 2])
      const negatives = pool.filter((row) => !picksOf(c).includes(row.visit))
      if (negatives.length === 0) continue
      const lower = negatives.filter((row) => value(row) < own).length
      const tied = negatives.filter((row) => value(row) === own).length
      percentiles.set(visit, (lower + tied / 2) / negatives.length)
    }
    const gains: Record<number, [c: number, gain: number][]> = { 10: [], 50: [] }
    const picked = new Map<Visit, number>()
    cycles.forEach((_, c) => {
      if (!scores(c)) return
      const list = [...poolOf(c)].sort((a, b) => value(b) - value(a) || 0)
      const relevant = list.filter((row) => picksOf(c).includes(row.visit)).length
      for (const k of [10, 50]) {
        if (relevant === 0) continue
        const dcg = list
          .slice(0, k)
          .map((row, i) => (picksOf(c).includes(row.visit) ? 1 / Math.log2(i + 2) : 0))
        const ideal = Array.from({ length: Math.min(k, relevant) }, (_, i) => 1 / Math.log2(i + 2))
        gains[k]?.push([c, sum(dcg) / sum(ideal)])
      }
      const free = list.filter((row) => !picked.has(row.visit)).slice(0, picksOf(c).length)
      for (const row of free) picked.set(row.visit, c)
    })
    const isModel = name === 'model' || name.startsWith('shadow:')
    const decided = visits.filter(({ fate }) => fate !== 'open')
    const scored = (which: (visit: Visit) => number): { score: number; isSaved: boolean }[] =>
      decided.flatMap((visit) => {
        const c = which(visit)
        const row = (rows[c] ?? []).find((each) => each.visit === visit)
        return row === undefined || !(name in row.values)
          ? []
          : [{ score: below(row.values[name]), isSaved: visit.fate === 'saved' }]
      })
    const last = scored(decisionOf)
    const count = (fate: string): number => [...picked.keys()].filter((visit) => visit.fate === fate).length
    const closed = picked.size - count('open')
    const closedPicks = [...picked].filter(([visit]) => visit.fate !== 'open')
    const ofPicks = (isCounted: (fate: string) => boolean) =>
      interval(
        closedPicks.map(([visit, c]) => ({ unit: unitOfCycle(c), value: isCounted(visit.fate) ? 1 : 0 })),
      )
    const inTop = (k: number): [Visit, number][] => ranks.map(([visit, rank]) => [visit, rank <= k ? 1 : 0])
    const leads = [...picked]
      .filter(([visit]) => visit.fate === 'saved')
      .map(([visit, c]) => (visit.d - (times[c] ?? 0)) / 60_000)
    return {
      percentiles,
      picked,
      figures: {
        name,
        versions: name === 'model' ? [...new Set(versions)] : isModel ? [name.slice('shadow:'.length)] : [],
        cycles: cycles.filter(hasScores).length,
        without_negatives: ranks.length - percentiles.size,
        rank_percentile: {
          mean: mean([...percentiles.values()]),
          n: percentiles.size,
          ci95: ofVisits([...percentiles]),
        },
        saved_in_top: byDepth([10, 50, 100], (k) => mean(inTop(k).map(([, hit]) => hit))),
        saved_in_top_ci95: byDepth([10, 50, 100], (k) => ofVisits(inTop(k))),
        ndcg: byDepth([10, 50], (k) => mean((gains[k] ?? []).map(([, gain]) => gain))),
        ndcg_ci95: byDepth([10, 50], (k) =>
          interval((gains[k] ?? []).map(([c, gain]) => ({ unit: unitOfCycle(c), value: gain }))),
        ),
        auc_first: isModel ? auc(scored((visit) => visit.scoredIn[0] ?? -1)) : null,
        auc_last: isModel ? auc(last) : null,
        average_precision_last: isModel ? averagePrecision(last) : null,
        same_budget: {
          picks: picked.size,
          ...Object.fromEntries(['saved', 'hidden', 'deleted', 'aged_out', 'open'].map((f) => [f, count(f)])),
          precision: closed === 0 ? null : count('saved') / closed,
          recall: saved.length === 0 ? null : count('saved') / saved.length,
          harm: closed === 0 ? null : (count('hidden') + count('deleted')) / closed,
          ci95: {
            precision: ofPicks((fate) => fate === 'saved'),
            recall: ofVisits(saved.map((visit) => [visit, picked.has(visit) ? 1 : 0])),
            harm: ofPicks((fate) => fate === 'hidden' || fate === 'deleted'),
          },
          lead_minutes: { p10: quantile(leads, 0.1), p50: quantile(leads, 0.5), p90: quantile(leads, 0.9) },
        },
      },
    }
  })
  const model = evaluated[0]!
  const modelAndShadows = evaluated.slice(1, 1 + shadowNames.length)
  const pairs = [
    ...evaluated.slice(1).map((b) => [model, b] as const),
    ...modelAndShadows.flatMap((a) => evaluated.slice(1 + shadowNames.length).map((b) => [a, b] as const)),
    ...modelAndShadows.flatMap((a, i) => modelAndShadows.slice(i + 1).map((b) => [a, b] as const)),
  ]
  const group = (of: (visit: Visit) => string | null, ofPick: (visit: Visit, c: number) => string | null) => {
    const picked = [...model.picked]
    const values = new Set([...visits.map(of), ...picked.map(([visit, c]) => ofPick(visit, c))])
    return [...values]
      .sort((a, b) => (a === null ? 1 : b === null ? -1 : a < b ? -1 : 1))
      .map((value) => {
        const members = visits.filter((visit) => of(visit) === value)
        const savedHere = members.filter(({ fate }) => fate === 'saved')
        const picks = picked.filter(([visit, c]) => ofPick(visit, c) === value).map(([visit]) => visit)
        const good = picks.filter(({ fate }) => fate === 'saved').length
        const closed = picks.filter(({ fate }) => fate !== 'open').length
        const ranked = [...model.percentiles].filter(([visit]) => savedHere.includes(visit))
        return {
          value,
          visits: members.length,
          saved: savedHere.length,
          picks: picks.length,
          picked_saved: good,
          rank_percentile: {
            mean: mean(ranked.map(([, percentile]) => percentile)),
            n: ranked.length,
            ci95: ofVisits(ranked),
          },
          precision: closed === 0 ? null : good / closed,
          recall:
            savedHere.length === 0
              ? null
              : savedHere.filter((visit) => model.picked.has(visit)).length / savedHere.length,
        }
      })
  }
  const same = (of: (visit: Visit) => string | null) => group(of, of)
  return {
    window: {
      from: instantOf(times[0]),
      to: instantOf(times.at(-1)),
      cycles: cycles.length,
      days: new Set(times.map(kstDay)).size,
      unit: isByDay ? 'day' : 'cycle',
      versions: [...new Set(versions)],
    },
    visits: {
      total: visits.length,
      ...Object.fromEntries(
        ['saved', 'hidden', 'deleted', 'aged_out', 'open'].map((f) => [
          f,
          visits.filter(({ fate }) => fate === f).length,
        ]),
      ),
      unranked_saved: saved.filter((visit) => decisionOf(visit) < 0).length,
    },
    rankers: evaluated.map(({ figures }) => figures),
    differences: pairs.map(([a, b]) => {
      const both = [...a.percentiles].flatMap(([visit, p]): [Visit, number][] => {
        const other = b.percentiles.get(visit)
        return other === undefined ? [] : [[visit, p - other]]
      })
      const observed = both.map(([visit, value]) => ({ unit: unitOfVisit(visit), value }))
      return {
        a: a.figures.name,
        b: b.figures.name,
        mean: mean(observed.map(({ value }) => value)),
        n: both.length,
        ci95: interval(observed),
        verdict: naiveVerdict(observed),
      }
    }),
    first_score: naiveLedger(visits, times),
    by: {
      gallery: same(({ gallId }) => gallId),
      tier: same(({ tier }) => tier),
      source: same(({ candidate }) => candidate?.source ?? null),
      gallery_type: same(({ candidate }) => candidate?.gallery_type ?? null),
      hour: same(({ d }) =>
        d === Infinity ? null : new Date(d + 9 * 3_600_000).toISOString().slice(11, 13),
      ),
      version: group(
        (visit) => versions[decisionOf(visit)] ?? null,
        (_, c) => versions[c] ?? null,
      ),
    },
  }
}

function byDepth<T>(depths: readonly number[], of: (depth: number) => T): Record<string, T> {
  return Object.fromEntries(depths.map((depth) => [depth, of(depth)]))
}

/** `before`: candidates of the posts that were pending before the first cycle; null if the window is the whole history. */
function readVisits(
  cycles: readonly NaiveCycle[],
  before: ReadonlyMap<string, Candidate> | null,
): { visits: Visit[]; rows: Row[][] } {
  const visits: Visit[] = []
  const open = new Map<string, Visit>()
  const begin = (
    row: { gall_id: string; post_no: number },
    began: number,
    candidate: Candidate | undefined,
  ): Visit => {
    const visit: Visit = {
      key: key(row),
      gallId: row.gall_id,
      candidate,
      began,
      fate: 'open',
      d: Infinity,
      tier: null,
      scoredIn: [],
      results: [],
    }
    visits.push(visit)
    open.set(visit.key, visit)
    return visit
  }
  const rows = cycles.map(({ request, response, shadows = {} }, c) => {
    // A post that was pending before the window and is sent again in it: its visit began before.
    for (const candidate of request.candidates)
      if (before?.has(key(candidate)) === true && !visits.some((visit) => visit.key === key(candidate)))
        begin(candidate, -1, before.get(key(candidate)))
    for (const candidate of request.candidates) if (!open.has(key(candidate))) begin(candidate, c, candidate)
    for (const removal of request.removals) {
      // A post that the window has not shown was pending before it, if the history has its candidate.
      const earlier = visits.some((visit) => visit.key === key(removal))
        ? undefined
        : before?.get(key(removal))
      const visit = open.get(key(removal)) ?? (earlier && begin(removal, -1, earlier))
      if (visit === undefined) continue
      visit.fate = removal.reason
      visit.d = Date.parse(removal.decided_at)
      visit.tier = removal.tier ?? null
      open.delete(visit.key)
    }
    const scored: Row[] = []
    let place = 0
    for (const result of response.results) {
      if (result.reason === 'unknown_post') continue
      const isFirst = before?.has(key(result)) === true && !visits.some((visit) => visit.key === key(result))
      const visit =
        open.get(key(result)) ?? (isFirst ? begin(result, -1, before.get(key(result))) : undefined)
      const number = result.status === 'scored' ? place++ : -1
      visit?.results.push([c, result.reason ?? result.status])
      if (visit === undefined || number < 0) continue
      visit.scoredIn.push(c)
      scored.push({ visit, values: valuesOf(result, request, visit, shadows, number) })
    }
    return scored
  })
  return { visits, rows }
}

function valuesOf(
  result: ResultRow,
  request: CycleRequest,
  { candidate }: Visit,
  shadows: NonNullable<NaiveCycle['shadows']>,
  place: number,
): Row['values'] {
  const readings = request.engagement.filter((row) => key(row) === key(result))
  const latest = Math.max(...readings.map(({ observed_at }) => Date.parse(observed_at)))
  const used = readings.filter(({ observed_at }) => Date.parse(observed_at) === latest).at(-1)
  const { views = null, up = null, comment_cnt = null, rtb_vote = null } = used ?? {}
  const created = candidate?.created_at ?? null
  return {
    model: result.score,
    views,
    up,
    comment_cnt,
    rtb_vote,
    newest: created === null ? null : Date.parse(created),
    up_per_view: up === null || views === null ? null : up / Math.max(views, 1),
    ...Object.fromEntries(
      Object.entries(shadows).map(([name, scores]) => [`shadow:${name}`, scores[place] ?? null]),
    ),
  }
}

type Labelled = readonly { readonly score: number; readonly isSaved: boolean }[]

function auc(rows: Labelled): number | null {
  const [positives, negatives] = [rows.filter((r) => r.isSaved), rows.filter((r) => !r.isSaved)]
  if (positives.length === 0 || negatives.length === 0) return null
  const wins = positives.flatMap((p) =>
    negatives.map((n) => (p.score > n.score ? 1 : p.score === n.score ? 0.5 : 0)),
  )
  return mean(wins)
}

function averagePrecision(rows: Labelled): number | null {
  const positives = rows.filter(({ isSaved }) => isSaved).length
  if (positives === 0) return null
  const thresholds = [...new Set(rows.map(({ score }) => score))].sort((a, b) => b - a)
  let [recallBefore, total] = [0, 0]
  for (const threshold of thresholds) {
    const above = rows.filter(({ score }) => score >= threshold)
    const hits = above.filter(({ isSaved }) => isSaved).length
    total += (hits / positives - recallBefore) * (hits / above.length)
    recallBefore = hits / positives
  }
  return total
}

function quantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  return low === undefined || high === undefined ? null : low + (high - low) * (place - Math.floor(place))
}
