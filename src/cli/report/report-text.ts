/** A report as text for a terminal: one screen of sentences, then tables. */
import type { Report } from '../../contract/index.js'
import { formatTable, tableCells, wrapCells } from '../text-table.js'
import { compactRankerTable, rankerTable, reportTables, type ReportTable } from './tables.js'
import { differenceSentence, isComparable, pickSentences, windowSentence } from './wording.js'

const cellsDefault = 100

/** `columns`: width of the terminal. */
export function reportText(report: Report, columns: number | undefined): string {
  const paragraph = paragraphs(columns)
  const tables = report.window.cycles === 0 ? [] : reportTables(report)
  const { last_hash } = report.window
  return [
    firstScreen(report, columns),
    ...tables.map((table) => tableText(table, columns, paragraph)),
    ...(last_hash === null ? [] : [paragraph(`Hash of cycle ${last_hash.cycle_id}: ${last_hash.hash}`)]),
  ].join('\n')
}

/** What an editor needs: the counts, the picks of the model next to the baselines, and whether the differences are significant. */
function firstScreen(report: Report, columns: number | undefined): string {
  const paragraph = paragraphs(columns)
  const first = [windowSentence(report), ...pickSentences(report)].map(paragraph).join('')
  if (!isComparable(report)) return first
  const verdicts = report.differences
    .filter(({ a, b }) => a === 'model' || isVersion(b))
    .map((each) => paragraph(differenceSentence(each)))
    .join('')
  const table = rankerTable(report)
  const fitting =
    tableCells(table.head, table.rows) > (columns ?? Infinity) ? compactRankerTable(report) : table
  return [first, tableText(fitting, columns, paragraph), verdicts].join('\n')
}

/** The verdicts of other versions against the baselines are on the page and in the JSON. */
function isVersion(ranker: string): boolean {
  return ranker.startsWith('shadow:')
}

/** Sentences as lines that fit a terminal of `columns` cells; a space before a sentence indents it. */
export function paragraphs(columns = cellsDefault): (text: string) => string {
  return (text) =>
    wrapCells(text.trimStart(), columns - 2)
      .map((line) => `${text.startsWith(' ') ? '  ' : ''}${line}\n`)
      .join('')
}

function tableText(
  { title, note, head, rows }: ReportTable,
  columns: number | undefined,
  paragraph: (text: string) => string,
): string {
  const table = formatTable(head, rows, { cellsMax: columns, column: 0 })
  return `${paragraph(title)}${note === '' ? '' : paragraph(note)}${table}`
}
