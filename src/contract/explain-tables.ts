/**
 * The tables of an explanation: the visits of a post, its scores, and the inputs of its model, for the text of
 * `understudy explain` and for the page. docs/explain.md defines the figures.
 */
import type { HeadName } from './columns.js'
import { explainWords } from './explain-words.js'
import type { CycleSummary, ExplainedInput, Explanation, VisitSummary } from './history-api.js'
import { dataTable, effectOf, type ColumnOf, type DataTable } from './tables.js'
import type { WordsLanguage } from './words.js'

export function visitTable({ visits, visit }: Explanation, language: WordsLanguage): DataTable {
  const t = explainWords[language]
  const rows = visits.map((one, i) => ({ ...one, number: i + 1, isShown: i === visit }))
  return dataTable<VisitSummary & { readonly number: number; readonly isShown: boolean }>(
    t.visitsCaption,
    rows,
    [
      {
        title: t.visit,
        kind: 'text',
        of: ({ number, isShown }) => (isShown ? t.shownBelow(number) : String(number)),
      },
      { title: t.entered, kind: 'cycle', of: ({ entered_cycle }) => entered_cycle ?? t.expiredCycle },
      { title: t.left, kind: 'cycle', of: ({ left_cycle }) => left_cycle },
      { title: t.outcome, kind: 'state', of: ({ fate }) => fate },
      { title: t.tier, kind: 'name', of: ({ tier }) => tier },
      { title: t.decided, kind: 'time', isWideOnly: true, of: ({ decided_at }) => decided_at },
    ],
  )
}

/** The last `cyclesMax` cycles of the visit, with the heads that one of them has. */
export function scoreTable({ cycles }: Explanation, cyclesMax: number, language: WordsLanguage): DataTable {
  const t = explainWords[language]
  const rows = cycles.slice(-cyclesMax).reverse()
  const heads = (Object.keys(t.heads) as HeadName[]).filter((name) =>
    rows.some((cycle) => cycle.heads[name] !== undefined),
  )
  return dataTable<CycleSummary>(t.scoresCaption, rows, [
    { title: t.cycle, kind: 'cycle', of: ({ cycle_id }) => cycle_id },
    { title: t.status, kind: 'word', of: ({ reason, status }) => reason ?? status },
    { title: t.score, kind: 'score', of: ({ score }) => score },
    { title: t.rank, kind: 'rank', of: ({ rank, scored }) => ({ rank, of: scored }) },
    ...heads.map((name): ColumnOf<CycleSummary> => ({
      title: t.heads[name],
      kind: 'score',
      isWideOnly: true,
      of: (cycle) => cycle.heads[name] ?? null,
    })),
    { title: t.model, kind: 'name', isWideOnly: true, of: ({ model_version }) => model_version },
    { title: t.weights, kind: 'name', isWideOnly: true, of: ({ weights_version }) => weights_version },
  ])
}

export function inputTable(
  inputs: readonly ExplainedInput[],
  gallId: string,
  language: WordsLanguage,
): DataTable {
  const t = explainWords[language]
  return dataTable(t.whyCaption, inputs, [
    { title: t.input, kind: 'input', of: (input) => input },
    {
      title: t.value,
      kind: 'inputValue',
      of: ({ kind, shown, missing, value }) => {
        const instead = missing ? t.missing : kind === 'gallery' ? gallId : value === null ? t.present : null
        return { shown, value, instead }
      },
    },
    {
      title: t.median,
      kind: 'inputValue',
      isWideOnly: true,
      of: ({ shown, median }) => ({ shown, value: median, instead: null }),
    },
    { title: t.percentile, kind: 'share', isWideOnly: true, of: ({ percentile }) => percentile },
    { title: t.effect, kind: 'effect', of: effectOf },
    { title: t.overMissing, kind: 'change', isWideOnly: true, of: ({ over_missing }) => over_missing },
  ])
}
