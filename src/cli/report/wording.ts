/**
 * The texts of a report in a terminal: names of rankers, numbers with their intervals, and sentences that state whether a
 * difference is significant.
 */
import type { BudgetFigures, Difference, Estimate, Ranker, Report } from '../../contract/index.js'
import { count, counted, kstTime, minutes, percent } from '../format.js'

const baselineLabels: Readonly<Record<string, string>> = {
  views: 'views',
  up: 'recommendations',
  comment_cnt: 'comments',
  rtb_vote: 'Send-to-Best votes',
  newest: 'newest first',
  up_per_view: 'recommendations per view',
}

/** A label in a table: `model`, a version, or the counter that posts are sorted by. */
export function rankerLabel(name: string): string {
  return baselineLabels[name] ?? name.replace(/^shadow:/, '')
}

export function percentWithInterval({ mean, ci95 }: Pick<Estimate, 'mean' | 'ci95'>, digits = 0): string {
  if (mean === null) return '–'
  if (ci95 === null) return percent(mean, digits)
  return `${percent(mean, digits)} (${ci95.map((end) => (100 * end).toFixed(digits)).join(' to ')})`
}

export function windowSentence({ window }: Report): string {
  if (window.cycles === 0) return 'No cycle is stored in this window.'
  const { from, to, cycles, days, versions } = window
  const changes =
    versions.length > 1
      ? ` ${versions.length} combinations of model and weights were in force; the figures of "model" combine them: see the table by version.`
      : ''
  return (
    `${counted(cycles, 'cycle')} on ${counted(days, 'day')}, ${kstTime(from)} to ${kstTime(to)} KST. ` +
    `Model / weights: ${versions.join(', ')}.${changes}`
  )
}

/** Whether the model has ranked at least `savedMin` posts that the operators saved. */
export function isComparable({ rankers: [model] }: Pick<Report, 'rankers'>, savedMin = 1): boolean {
  if (model === undefined || model.same_budget.picks === 0) return false
  const { mean, n } = model.rank_percentile
  return mean !== null && n >= savedMin
}

/** What happened to the posts, and what the model would have done with the operators' budget. `savedMin`: as `isComparable`. */
export function pickSentences({ visits, rankers }: Report, savedMin?: number): string[] {
  const posts =
    `${counted(visits.total, 'post')} ${verb(visits.total, 'was', 'were')} pending. The operators saved ${count(visits.saved)}, hid ${count(visits.hidden)} and ` +
    `deleted ${count(visits.deleted)}; ${count(visits.aged_out)} aged out, ${count(visits.open)} ${verb(visits.open)} still pending.`
  const model = rankers[0]
  if (model === undefined || !isComparable({ rankers }, savedMin)) {
    const ranked = model?.rank_percentile.n ?? 0
    const few = ranked === 0 ? 'no post' : ranked === 1 ? 'only one post' : `only ${count(ranked)} posts`
    return [posts, `There is nothing to compare yet: the model has ranked ${few} that the operators saved.`]
  }
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
    `  ${count(hidden + deleted)} were hidden or deleted (${budgetShare(model, 'harm', 1)} of the decided picks); ` +
      `${count(aged_out)} aged out.`,
  ]
}

function verb(value: number, one = 'is', several = 'are'): string {
  return value === 1 ? one : several
}

/** A share of the picks at the same budget, with its interval. */
function budgetShare({ same_budget }: Ranker, name: keyof BudgetFigures['ci95'], digits?: number): string {
  return percentWithInterval({ mean: same_budget[name], ci95: same_budget.ci95[name] }, digits)
}

/** The estimate of a longer time would say nothing. */
const furtherDaysMax = 365

/** Whether a difference is significant, in one sentence. */
export function differenceSentence({ a, b, mean, ci95, verdict, more_days }: Difference): string {
  const [first, second] = [subject(a), subject(b)]
  if (mean === null || ci95 === null || verdict === null)
    return `${capital(first)} and ${second} cannot be compared: they have ranked no saved post in common.`
  const points = (value: number): string => (100 * value).toFixed(1)
  // "Worse by 3 points" has a positive number.
  const ends = verdict === 'worse' ? [-ci95[1], -ci95[0]] : ci95
  const size = `${points(verdict === 'worse' ? -mean : mean)} points, 95 % interval ${ends.map(points).join(' to ')}`
  if (verdict !== 'cannot be told apart')
    return `${capital(first)} ranks the saved posts ${verdict} than ${second}: ${size}. The difference is significant.`
  const wait =
    more_days === null
      ? 'More days would not change this.'
      : more_days > furtherDaysMax
        ? 'If it persists, a verdict needs more than another year.'
        : `If it persists, about ${count(more_days)} more ${more_days === 1 ? 'day is' : 'days are'} needed for a verdict.`
  return `${capital(first)} and ${second} cannot be told apart: ${size}. ${wait}`
}

/** The same for two versions of `models compare`. */
export function versionsSentence({ a, b, ...difference }: Difference): string {
  return differenceSentence({ ...difference, a: `shadow:${a}`, b: `shadow:${b}` })
}

function subject(name: string): string {
  if (name === 'newest') return 'listing the newest first'
  return name === 'model'
    ? 'the model'
    : Object.hasOwn(baselineLabels, name)
      ? `sorting by ${rankerLabel(name)}`
      : rankerLabel(name)
}

function capital(text: string): string {
  return text.replace(/^(the|sorting|listing) /, (word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
}

/** One row of the table of rankers, and its head. */
export const rankerHead = [
  'order of the posts',
  'ranked below a saved post',
  'saved posts found',
  'decided picks saved',
  'hidden or deleted',
  'earlier (median)',
]

export function rankerRow(ranker: Ranker): string[] {
  return [
    rankerLabel(ranker.name),
    percentWithInterval(ranker.rank_percentile),
    budgetShare(ranker, 'recall'),
    budgetShare(ranker, 'precision'),
    budgetShare(ranker, 'harm', 1),
    minutes(ranker.same_budget.lead_minutes.p50),
  ]
}
