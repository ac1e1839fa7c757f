/** A report as text for a terminal: sentences on what happened, then its tables. */
import {
  isComparable,
  reportSections,
  reportWords,
  type BudgetFigures,
  type Ranker,
  type Report,
} from '../../contract/index.js'
import { cellText, paragraphs, tableText } from '../text/data-table.js'
import { count, counted, kstTime, minutes } from '../text/format.js'

/** `columns`: width of the terminal. */
export function reportText(report: Report, columns: number | undefined): string {
  const paragraph = paragraphs(columns)
  const { last_hash } = report.window
  const sections = reportSections(report, 'en').map(({ title, note, facts, tables }) =>
    [
      paragraph(title),
      ...(note === null ? [] : [paragraph(note)]),
      ...(facts.length === 0
        ? []
        : [paragraph(`${facts.map(([name, cell]) => `${name} ${cellText(cell)}`).join(', ')}.`)]),
      tables.map((table) => paragraph(`${table.caption}:`) + tableText(table, columns)).join('\n'),
    ].join(''),
  )
  return [
    [windowSentence(report), ...pickSentences(report)].map(paragraph).join(''),
    ...sections,
    ...(last_hash === null ? [] : [paragraph(`Hash of cycle ${last_hash.cycle_id}: ${last_hash.hash}`)]),
  ].join('\n')
}

export function windowSentence({ window }: Report): string {
  if (window.cycles === 0) return 'No cycle is stored in this window.'
  const { from, to, cycles, days, versions } = window
  const changes =
    versions.length > 1
      ? ` ${versions.length} combinations of model and weights were in force; the figures of "model" combine them: see the table by version.`
      : ''
  const span = reportWords.en.window(
    counted(cycles, 'cycle'),
    counted(days, 'day'),
    kstTime(from),
    kstTime(to),
  )
  return `${span}. Model / weights: ${versions.join(', ')}.${changes}`
}

/** What happened to the posts, and what the model would have done with the operators' budget. `savedMin`: as `isComparable`. */
export function pickSentences({ visits, rankers }: Report, savedMin?: number): string[] {
  const posts =
    `${counted(visits.total, 'post')} ${verb(visits.total, 'was', 'were')} pending. The operators saved ${count(visits.saved)}, hid ${count(visits.hidden)} and ` +
    `deleted ${count(visits.deleted)}; ${count(visits.aged_out)} aged out, ${count(visits.open)} ${verb(visits.open)} still pending.`
  const model = rankers[0]
  if (model === undefined || !isComparable({ rankers }, savedMin))
    return [posts, reportWords.en.nothingToCompare(model?.rank_percentile.n ?? 0)]
  const { picks, saved, hidden, deleted, aged_out, open, lead_minutes } = model.same_budget
  const decided = saved + hidden + deleted + aged_out
  const earlier =
    saved === 0 ? '' : `, half of them at least ${minutes(lead_minutes.p50)} before the operators`
  return [
    posts,
    `With as many picks in each cycle as the operators, the model would have picked ${counted(picks, 'post')}. ` +
      `${count(decided)} of these ${counted(picks, 'pick')} ${verb(decided)} decided; ${count(open)} ${verb(open)} still pending.`,
    `  ${count(saved)} were saved (${budgetShare(model, 'precision')} of the decided picks, ${budgetShare(model, 'recall')} of all ` +
      `saved posts)${earlier};`,
    `  ${count(hidden + deleted)} were hidden or deleted (${budgetShare(model, 'harm')} of the decided picks); ` +
      `${count(aged_out)} aged out.`,
  ]
}

function verb(value: number, one = 'is', several = 'are'): string {
  return value === 1 ? one : several
}

/** A share of the picks at the same budget, with its interval. */
function budgetShare({ same_budget }: Ranker, name: keyof BudgetFigures['ci95']): string {
  return cellText({ kind: 'estimate', value: { mean: same_budget[name], ci95: same_budget.ci95[name] } })
}
