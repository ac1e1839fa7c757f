/** A report as one HTML file: the sentences of the first screen, plots as inline SVG, and the tables. No script. */
import type { Estimate, Evaluation, GroupKind, RankerFigures } from '../../history/index.js'
import { kstTime } from '../format.js'
import { escapeText, intervalPlot, type PlottedEstimate } from './plots.js'
import { rankerTable, reportTables, type ReportTable } from './tables.js'
import { differenceSentence, pickSentences, rankerLabel, windowSentence } from './wording.js'

const style = `
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; font-size: .85rem; margin: .5rem 0 } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd }
td:not(:first-child) { font-variant-numeric: tabular-nums } .note { color: #555; font-size: .85rem } .item { margin-left: 1.5rem }
svg { width: 100%; max-width: 36rem; height: auto } .table { overflow-x: auto }
@media print { body { margin: 0; max-width: none; font-size: 11px } h2, svg, tr { break-inside: avoid } h2 { break-after: avoid } .table { overflow: visible } svg { max-width: 28rem } }
`

export function reportHtml(evaluation: Evaluation): string {
  const { window, rankers, differences } = evaluation
  const title = `Rehearsal ${kstTime(window.fromMs)} to ${kstTime(window.toMs)} KST`
  const sentences = [windowSentence(evaluation), ...pickSentences(evaluation)]
  const ofRankers = (estimateOf: (ranker: RankerFigures) => Estimate): PlottedEstimate[] =>
    rankers.map((ranker) => ({ label: rankerLabel(ranker.name), ...estimateOf(ranker) }))
  const ofGroups = (kind: GroupKind): PlottedEstimate[] =>
    evaluation.by[kind].map(({ value, rankPercentile }) => ({ label: value ?? 'unknown', ...rankPercentile }))
  const percentiles = { from: 0, to: 1, mark: 0.5 }
  const plots = [
    intervalPlot(
      'Posts ranked below a saved post',
      ofRankers(({ rankPercentile }) => rankPercentile),
      percentiles,
    ),
    intervalPlot(
      'Saved posts found with the same budget',
      ofRankers(({ sameBudget }) => sameBudget.recall),
      { from: 0, to: 1 },
    ),
    intervalPlot(
      'Picks that were hidden or deleted',
      ofRankers(({ sameBudget }) => sameBudget.harm),
      { from: 0 },
    ),
    intervalPlot('The model by gallery: posts ranked below a saved post', ofGroups('gallery'), percentiles),
    intervalPlot('The model by hour of the decision (KST)', ofGroups('hour'), percentiles),
  ]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeText(title)}</title><style>${style}</style></head><body>
<h1>${escapeText(title)}</h1>
${sentences.map((text) => `<p${text.startsWith(' ') ? ' class="item"' : ''}>${escapeText(text.trimStart())}</p>`).join('\n')}
<ul>
${differences.map((each) => `<li>${escapeText(differenceSentence(each))}</li>`).join('\n')}
</ul>
${plots.join('\n')}
${[rankerTable(evaluation), ...reportTables(evaluation)].map(tableHtml).join('\n')}
</body></html>
`
}

function tableHtml({ title, note, head, rows }: ReportTable): string {
  const cells = (tag: string, row: readonly string[]): string =>
    row.map((cell) => `<${tag}>${escapeText(cell)}</${tag}>`).join('')
  return `<h2>${escapeText(title)}</h2>
${note === '' ? '' : `<p class="note">${escapeText(note)}</p>`}
<div class="table"><table><thead><tr>${cells('th', head)}</tr></thead><tbody>
${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n')}
</tbody></table></div>`
}
