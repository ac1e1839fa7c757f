/** The tables of the contract as text: how a cell of each kind is written, and a table on a terminal. */
import {
  furtherDaysMax,
  reportWords,
  wordOf,
  words,
  type Cell,
  type DataTable,
} from '../../contract/index.js'
import { count, kstTime, minutes, number, percent } from './format.js'
import { formatTable, tableCells, wrapCells } from './text-table.js'

const dash = '–'
const cellsDefault = 100

/** `withInterval`: an estimate has its interval. */
export function cellText(cell: Cell, withInterval = true): string {
  switch (cell.kind) {
    case 'name':
      return cell.value ?? dash
    case 'text':
      return cell.value
    case 'input':
      // As a manifest names it.
      return cell.value.name
    case 'order':
      return cell.value.name
    case 'word':
      return cell.value === null ? words.en.unknown : wordOf(words.en, cell.value)
    case 'state':
      return wordOf(words.en, cell.value)
    case 'count':
      return cell.value === null ? dash : count(cell.value)
    case 'share':
      return percent(cell.value)
    case 'rate':
      return percent(cell.value, 1)
    case 'decimal':
      return number(cell.value)
    case 'correlation':
      return number(cell.value, 2)
    case 'score':
      return number(cell.value, 4)
    case 'estimate':
    case 'ranked': {
      const { mean, ci95 } = cell.value
      return mean === null || ci95 === null || !withInterval
        ? percent(mean, 1)
        : `${percent(mean, 1)} (${ci95.map((end) => (100 * end).toFixed(1)).join(' to ')})`
    }
    case 'difference': {
      const { mean, ci95 } = cell.value
      if (mean === null) return dash
      const interval = ci95 === null || !withInterval ? '' : ` (${ci95.map(points).join(' to ')})`
      return `${points(mean)} pp${interval}`
    }
    case 'daysNeeded':
      if (cell.value === null) return dash
      return cell.value > furtherDaysMax ? reportWords.en.moreThanYear : count(cell.value)
    case 'minutes':
      return minutes(cell.value)
    case 'hours':
      return cell.value === null ? dash : `${cell.value} h`
    case 'time':
      return kstTime(cell.value)
    case 'cycle':
      return cell.value ?? dash
    case 'post':
      return `${cell.value.gall_id ?? words.en.unknown}/${cell.value.post_no ?? words.en.unknown}`
    case 'rank':
      return cell.value.rank === null ? dash : `${cell.value.rank} of ${count(cell.value.of)}`
    case 'inputValue': {
      const { value, instead } = cell.value
      return instead ?? (value === null ? dash : inputNumber(value))
    }
    case 'change':
    case 'effect':
      return cell.value === null ? dash : signed(cell.value, 4)
  }
}

/** As the model takes it. */
export function inputNumber(value: number): string {
  return String(Number(value.toPrecision(5)))
}

function points(share: number): string {
  return signed(100 * share, 1)
}

export function signed(value: number, digits: number): string {
  const text = value.toFixed(digits)
  return Number(text) > 0 ? `+${text}` : text
}

/** The table, without its caption. On a narrow terminal, estimates have no intervals. */
export function tableText({ columns, rows }: DataTable, cellsMax: number | undefined): string {
  const head = columns.map(({ title }) => title)
  const textsOf = (withInterval: boolean): string[][] =>
    rows.map((row) => row.map((cell) => cellText(cell, withInterval)))
  const whole = textsOf(true)
  const isWide = cellsMax !== undefined && tableCells(head, whole) > cellsMax
  return formatTable(head, isWide ? textsOf(false) : whole, { cellsMax, column: 0 })
}

/** Sentences as lines that fit a terminal of `columns` cells; a space before a sentence indents it. */
export function paragraphs(columns = cellsDefault): (text: string) => string {
  return (text) =>
    wrapCells(text.trimStart(), columns - 2)
      .map((line) => `${text.startsWith(' ') ? '  ' : ''}${line}\n`)
      .join('')
}
