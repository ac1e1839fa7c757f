/**
 * The tables of a report after its first screen, as rows of text: metrics of the rankers, groups, the first-score ledger,
 * outcomes.
 */
import type { GroupKind, Report } from '../../contract/index.js'
import { ndcgDepths, outcomeCounters, topDepths } from '../../history/index.js'
import { count, kstTime, minutes, number, percent } from '../format.js'
import { percentWithInterval, rankerHead, rankerRow, rankerLabel } from './wording.js'

export interface ReportTable {
  readonly title: string
  /** Explains how to read the table; may be empty. */
  readonly note: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const groupLabels: Readonly<Record<GroupKind, string>> = {
  gallery: 'gallery',
  tier: 'tier',
  source: 'source',
  gallery_type: 'gallery type',
  hour: 'hour of the decision (KST)',
  version: 'model / weights',
}

export function rankerTable({ rankers }: Report): ReportTable {
  return {
    title: 'Orders compared',
    note:
      'Means with 95 % intervals. In a random order, 50 % of the posts rank below a saved post. A pick is ' +
      'decided once its post has left the pool.',
    head: rankerHead,
    rows: rankers.map(rankerRow),
  }
}

/** The means alone, for a narrow terminal. */
export function compactRankerTable({ rankers }: Report): ReportTable {
  return {
    title: 'Orders compared',
    note:
      'Means: the share of the posts that rank below a saved post (random: 50 %); of the saved posts, those found; of the ' +
      'decided picks, those saved, and those hidden or deleted; how much earlier (median).',
    head: ['order', 'ranked below', 'found', 'saved', 'hidden', 'earlier'],
    rows: rankers.map(({ name, rank_percentile, same_budget }) => [
      rankerLabel(name),
      percent(rank_percentile.mean),
      ...[same_budget.recall, same_budget.precision].map((share) => percent(share)),
      percent(same_budget.harm, 1),
      minutes(same_budget.lead_minutes.p50),
    ]),
  }
}

/** Tables without rows are omitted. */
export function reportTables(report: Report): ReportTable[] {
  return [
    metricTable(report),
    ...(Object.keys(groupLabels) as GroupKind[]).map((kind) => groupTable(report, kind)),
    ledgerTable(report),
    pickerTable(report),
    correlationTable(report),
  ].filter(({ rows }) => rows.length > 0)
}

function metricTable({ rankers }: Report): ReportTable {
  return {
    title: 'Ranking metrics',
    note: 'Saved posts in the first k of the pool; NDCG; ROC AUC and average precision by visit.',
    head: [
      'order',
      'cycles',
      ...topDepths.map((depth) => `top ${depth}`),
      ...ndcgDepths.map((depth) => `NDCG ${depth}`),
      ...['AUC first', 'AUC last', 'AP last', 'earlier p10', 'p90'],
    ],
    rows: rankers.map((ranker) => [
      rankerLabel(ranker.name),
      count(ranker.cycles),
      ...topDepths.map((depth) => percent(ranker.saved_in_top[depth] ?? null)),
      ...ndcgDepths.map((depth) => number(ranker.ndcg[depth] ?? null)),
      ...[ranker.auc_first, ranker.auc_last, ranker.average_precision_last].map((value) => number(value)),
      ...[ranker.same_budget.lead_minutes.p10, ranker.same_budget.lead_minutes.p90].map(minutes),
    ]),
  }
}

function groupTable({ by }: Report, kind: GroupKind): ReportTable {
  return {
    title: `The model by ${groupLabels[kind]}`,
    note: '',
    head: [
      groupLabels[kind],
      'posts',
      'saved',
      'picks',
      'picks saved',
      'ranked below a saved post',
      'found',
      'decided picks saved',
    ],
    rows: by[kind].map((group) => [
      group.value ?? 'unknown',
      ...[group.visits, group.saved, group.picks, group.picked_saved].map(count),
      percentWithInterval(group.rank_percentile),
      percent(group.recall),
      percent(group.precision),
    ]),
  }
}

function ledgerTable({ first_score }: Report): ReportTable {
  const { on_time, late, never, excluded, share, target, reasons, worst } = first_score
  const causes = Object.entries(reasons).map(([reason, posts]) => `${reason} ${count(posts)}`)
  return {
    title: 'First score within two cycles',
    note:
      `${percent(share, 1)} on time, target ${percent(target)}: ${count(on_time)} on time, ${count(late)} late, ` +
      `${count(never)} never, ${count(excluded)} excluded.${causes.length > 0 ? ` Reasons: ${causes.join(', ')}.` : ''}`,
    head: [
      'latest of the late first scores',
      'extracted (KST)',
      'deadline',
      'first score',
      'late by',
      'reason',
    ],
    rows: [
      ...worst.map((lateVisit) => [
        `${lateVisit.gall_id ?? 'unknown'}/${lateVisit.post_no ?? 'unknown'}`,
        ...[lateVisit.extracted_at, lateVisit.deadline].map(kstTime),
        lateVisit.first_scored_at === null ? 'never' : kstTime(lateVisit.first_scored_at),
        minutes(lateVisit.minutes_late),
        lateVisit.reason,
      ]),
      ...(worst.length === 0 && share !== null ? [['none', '', '', '', '', '']] : []),
    ],
  }
}

function pickerTable({ outcomes }: Report): ReportTable {
  return {
    title: 'Placements: medians of the counters by age',
    note: `${count(outcomes.placements)} placements.`,
    head: ['picked by', 'placements', 'hidden', 'deleted', 'age', 'readings', ...outcomeCounters],
    rows: outcomes.by_picker.flatMap((picker) =>
      picker.ages.map((figures) => [
        picker.model_version === null ? picker.picked_by : `${picker.picked_by} ${picker.model_version}`,
        count(picker.placements),
        ...[picker.hidden_share, picker.deleted_share].map((share) => percent(share, 1)),
        `${figures.age_h} h`,
        count(figures.n),
        ...outcomeCounters.map((counter) => number(figures[counter], 0)),
      ]),
    ),
  }
}

function correlationTable({ outcomes }: Report): ReportTable {
  const rows = outcomes.score_correlation.filter(({ n }) => n > 0)
  return {
    title: 'Score at placement and later counters',
    note: 'Spearman correlation.',
    head: ['age', 'placements', ...outcomeCounters],
    rows: rows.map((figures) => [
      `${figures.age_h} h`,
      count(figures.n),
      ...outcomeCounters.map((counter) => number(figures[counter], 2)),
    ]),
  }
}
