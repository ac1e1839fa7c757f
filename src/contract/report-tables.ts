/**
 * The tables of a report: every figure with its title and kind, for the text, the page and the document alike. docs/evaluation.md
 * defines the figures, `report-words.ts` has the words.
 */
import type {
  AgeFigures,
  Difference,
  Estimate,
  Group,
  GroupKind,
  LateVisit,
  OutcomeFigures,
  Ranker,
  Report,
} from './history-api.js'
import { reportWords } from './report-words.js'
import { dataTable, type Cell, type CellValues, type ColumnOf, type DataTable } from './tables.js'
import { wordOf, words as identifiers, type WordsLanguage } from './words.js'

/** A part of a report, under one heading. */
export interface ReportSection {
  readonly title: string
  readonly note: string | null
  readonly facts: readonly (readonly [name: string, cell: Cell])[]
  readonly tables: readonly DataTable[]
  /** Titles of tables of which a reader opens one at a time. */
  readonly tableTitles: readonly string[] | null
}

/** Counters of placed posts, and what a report has of each. */
export const outcomeCounters = ['views', 'up', 'down', 'comment_cnt'] as const

/** Simple orders that a model is compared with. */
export const baselineNames = ['views', 'up', 'comment_cnt', 'rtb_vote', 'newest', 'up_per_view'] as const
export type Baseline = (typeof baselineNames)[number]

export function isBaseline(name: string): name is Baseline {
  return (baselineNames as readonly string[]).includes(name)
}

/** Whether the model has ranked at least `savedMin` posts that the operators saved. */
export function isComparable({ rankers: [model] }: Pick<Report, 'rankers'>, savedMin = 1): boolean {
  if (model === undefined || model.same_budget.picks === 0) return false
  const { mean, n } = model.rank_percentile
  return mean !== null && n >= savedMin
}

/** What readers call the orders of a report: the model with its version, if it is known. */
export function rankerNames(
  rankers: readonly Pick<Ranker, 'name' | 'versions'>[],
  language: WordsLanguage,
): (name: string) => string {
  const { modelOf, baselines } = reportWords[language]
  const served = rankers.find(({ name }) => name === 'model')?.versions ?? []
  const versions = [...new Set(served.map((pair) => pair.split(' / ')[0] ?? pair))]
  return (name) => {
    if (name === 'model') return modelOf(versions.join(', '))
    return isBaseline(name) ? baselines[name] : name.replace(/^shadow:/, '')
  }
}

function ordersOf(
  rankers: readonly Ranker[],
  language: WordsLanguage,
): (name: string) => CellValues['order'] {
  const nameOf = rankerNames(rankers, language)
  return (name) => ({ name: nameOf(name), isBaseline: isBaseline(name) })
}

/** All parts after the summary, in order. Parts without figures are omitted. */
export function reportSections(report: Report, language: WordsLanguage): ReportSection[] {
  if (report.window.cycles === 0) return []
  const t = reportWords[language]
  const { rankers, differences, by, outcomes } = report
  const groups = groupKinds.filter((kind) => by[kind].length > 0)
  const compared: ReportSection[] = [
    section(t.orders, [rankerTable(rankers, t.ordersCaption, language)], { note: t.ordersText }),
    section(t.comparison, [differenceTable(differences, rankers, language)], {
      note: t.comparisonText,
    }),
    section(t.metrics, [metricTable(rankers, language)]),
    section(
      t.byGroup,
      groups.map((kind) => groupTable(kind, by[kind], language)),
      { tableTitles: groups.map((kind) => t.groups[kind]) },
    ),
  ]
  return [
    // Without a save there is nothing to compare any order with.
    ...(report.visits.saved > 0 ? compared : []),
    firstScoreSection(report, language),
    section(t.placements, outcomes.placements === 0 ? [] : outcomeTables(outcomes, language)),
  ].filter(({ facts, tables }) => facts.length > 0 || tables.some(({ rows }) => rows.length > 0))
}

function section(
  title: string,
  tables: readonly DataTable[],
  more: Partial<ReportSection> = {},
): ReportSection {
  const filled = tables.filter(({ rows }) => rows.length > 0)
  return { title, note: null, facts: [], tableTitles: null, ...more, tables: filled }
}

/** The figures of a report for each order or version. */
export function rankerTable(rankers: readonly Ranker[], caption: string, language: WordsLanguage): DataTable {
  const t = reportWords[language]
  const orderOf = ordersOf(rankers, language)
  const budget =
    (name: 'recall' | 'precision' | 'harm') =>
    ({ same_budget }: Ranker): Pick<Estimate, 'mean' | 'ci95'> => ({
      mean: same_budget[name],
      ci95: same_budget.ci95[name],
    })
  return dataTable(caption, rankers, [
    { title: t.order, kind: 'order', of: ({ name }) => orderOf(name) },
    { title: t.rankedBelow, kind: 'ranked', of: ({ rank_percentile }) => rank_percentile },
    { title: t.postsFound, kind: 'estimate', of: budget('recall') },
    { title: t.picksSaved, kind: 'estimate', of: budget('precision') },
    { title: t.hiddenOrDeleted, kind: 'estimate', of: budget('harm') },
    { title: t.earlier, kind: 'minutes', of: ({ same_budget }) => same_budget.lead_minutes.p50 },
  ])
}

/** Each pair of orders, and what follows from its difference. */
export function differenceTable(
  differences: readonly Difference[],
  rankers: readonly Ranker[],
  language: WordsLanguage,
): DataTable {
  const t = reportWords[language]
  const orderOf = ordersOf(rankers, language)
  return dataTable(t.comparisonCaption, differences, [
    { title: t.order, kind: 'order', of: ({ a }) => orderOf(a) },
    { title: t.against, kind: 'order', of: ({ b }) => orderOf(b) },
    { title: t.difference, kind: 'difference', of: (difference) => difference },
    { title: t.verdict, kind: 'state', of: ({ verdict }) => verdict ?? 'nothing_in_common' },
    { title: t.posts, kind: 'count', of: ({ n }) => n },
    { title: t.moreDays, kind: 'daysNeeded', of: daysNeeded },
  ])
}

/** Nothing is needed for a verdict that there is. */
function daysNeeded({ verdict, more_days }: Difference): number | null {
  return verdict === 'cannot be told apart' ? more_days : null
}

function metricTable(rankers: readonly Ranker[], language: WordsLanguage): DataTable {
  const t = reportWords[language]
  const orderOf = ordersOf(rankers, language)
  const depthsOf = (figures: object = {}): number[] => Object.keys(figures).map(Number)
  const [first] = rankers
  return dataTable<Ranker>(t.metricsCaption, rankers, [
    { title: t.order, kind: 'order', of: ({ name }) => orderOf(name) },
    { title: t.cycles, kind: 'count', of: ({ cycles }) => cycles },
    ...depthsOf(first?.saved_in_top).map((depth): ColumnOf<Ranker> => ({
      title: t.top(depth),
      kind: 'share',
      of: ({ saved_in_top }) => saved_in_top[depth] ?? null,
    })),
    ...depthsOf(first?.ndcg).map((depth): ColumnOf<Ranker> => ({
      title: t.ndcg(depth),
      kind: 'decimal',
      of: ({ ndcg }) => ndcg[depth] ?? null,
    })),
    { title: t.aucFirst, kind: 'decimal', of: ({ auc_first }) => auc_first },
    { title: t.aucLast, kind: 'decimal', of: ({ auc_last }) => auc_last },
    { title: t.apLast, kind: 'decimal', of: ({ average_precision_last }) => average_precision_last },
    { title: t.earlierP10, kind: 'minutes', of: ({ same_budget }) => same_budget.lead_minutes.p10 },
    { title: t.earlierP90, kind: 'minutes', of: ({ same_budget }) => same_budget.lead_minutes.p90 },
  ])
}

const groupKinds: readonly GroupKind[] = ['gallery', 'tier', 'source', 'gallery_type', 'hour', 'version']

function groupTable(kind: GroupKind, groups: readonly Group[], language: WordsLanguage): DataTable {
  const t = reportWords[language]
  const title = t.groups[kind]
  const value: ColumnOf<Group> =
    kind === 'source' || kind === 'gallery_type'
      ? { title, kind: 'word', of: (group) => group.value }
      : { title, kind: 'name', of: (group) => group.value ?? identifiers[language].unknown }
  return dataTable(t.groupCaption(title), groups, [
    value,
    { title: t.rankedBelow, kind: 'ranked', of: ({ rank_percentile }) => rank_percentile },
    { title: t.postsFound, kind: 'share', of: ({ recall }) => recall },
    { title: t.picksSaved, kind: 'share', of: ({ precision }) => precision },
    { title: t.saved, kind: 'count', isWideOnly: true, of: ({ saved }) => saved },
    { title: t.picked, kind: 'count', isWideOnly: true, of: ({ picks }) => picks },
    { title: t.pickedSaved, kind: 'count', isWideOnly: true, of: ({ picked_saved }) => picked_saved },
    { title: t.posts, kind: 'count', isWideOnly: true, of: ({ visits }) => visits },
  ])
}

function firstScoreSection({ first_score }: Report, language: WordsLanguage): ReportSection {
  const t = reportWords[language]
  const { share, target, reasons, worst } = first_score
  const results = ['on_time', 'late', 'never', 'excluded'] as const
  const count = (name: string, value: number): readonly [string, Cell] => [
    wordOf(identifiers[language], name),
    { kind: 'count', value },
  ]
  const table = dataTable<LateVisit>(t.latestCaption, worst, [
    { title: t.post, kind: 'post', of: (late) => late },
    { title: t.result, kind: 'state', of: ({ result }) => result },
    { title: t.reason, kind: 'word', of: ({ reason }) => reason },
    { title: t.extracted, kind: 'time', of: ({ extracted_at }) => extracted_at },
    { title: t.deadline, kind: 'time', of: ({ deadline }) => deadline },
    { title: t.firstScore, kind: 'time', of: ({ first_scored_at }) => first_scored_at },
    { title: t.lateBy, kind: 'minutes', of: ({ minutes_late }) => minutes_late },
  ])
  return section(t.firstScores, [table], {
    note: worst.length === 0 && share !== null ? t.allOnTime : null,
    facts: [
      [t.shareOnTime, { kind: 'rate', value: share }],
      [t.target, { kind: 'share', value: target }],
      ...results.map((name) => count(name, first_score[name])),
      ...Object.entries(reasons).map(([reason, posts]) => count(reason, posts)),
    ],
  })
}

function outcomeTables(outcomes: OutcomeFigures, language: WordsLanguage): DataTable[] {
  const t = reportWords[language]
  const word = identifiers[language]
  const medians = outcomes.by_picker.flatMap((picker) =>
    picker.ages.map((figures) => ({ ...picker, ...figures })),
  )
  const counters = <Row extends AgeFigures>(kind: 'count' | 'correlation'): ColumnOf<Row>[] =>
    outcomeCounters.map((name) => ({ title: word[name], kind, of: (row) => row[name] }))
  return [
    dataTable<(typeof medians)[number]>(t.placementsCaption(outcomes.placements), medians, [
      {
        title: t.pickedBy,
        kind: 'name',
        of: ({ picked_by, model_version }) => `${word[picked_by]} ${model_version ?? ''}`.trim(),
      },
      { title: t.placements, kind: 'count', of: ({ placements }) => placements },
      { title: t.hidden, kind: 'rate', of: ({ hidden_share }) => hidden_share },
      { title: t.deleted, kind: 'rate', of: ({ deleted_share }) => deleted_share },
      { title: t.age, kind: 'hours', of: ({ age_h }) => age_h },
      { title: t.readings, kind: 'count', of: ({ n }) => n },
      ...counters<(typeof medians)[number]>('count'),
    ]),
    dataTable<AgeFigures>(
      t.correlationCaption,
      outcomes.score_correlation.filter(({ n }) => n > 0),
      [
        { title: t.age, kind: 'hours', of: ({ age_h }) => age_h },
        { title: t.placements, kind: 'count', of: ({ n }) => n },
        ...counters<AgeFigures>('correlation'),
      ],
    ),
  ]
}
