/** The tables of the contract on the page: how a cell of each kind is drawn. `cli/text/data-table.ts` writes the same ones as text. */
import type { ComponentChildren } from 'preact'
import { inputLabel } from '../../contract/input-words.js'
import {
  furtherDaysMax,
  type Cell,
  type CellKind,
  type CellValues,
  type DataTable,
} from '../../contract/tables.js'
import { cycleLabel, dayClock, decimal, formatSigned, integer, minutes, percent, rank } from '../format.js'
import { language, t, word } from '../messages/index.js'
import { postAddress } from '../router.js'
import { inputText } from './input-text.js'
import { Badge, colorOf, Text, type Tone } from './common.js'
import {
  IntervalFigure,
  rankedScale,
  scaleOf,
  shareAxis,
  shareScale,
  Table,
  type Column,
  type Scale,
} from './table.js'

interface DataTableProps {
  readonly table: DataTable
  readonly isCaptionHidden?: boolean
  readonly isTall?: boolean
  /** A document has no links into the page. */
  readonly isDocument?: boolean
}

type Row = readonly Cell[]

export function DataTableView({ table, isDocument = false, ...rest }: DataTableProps) {
  const { caption, columns, rows } = table
  return (
    <Table
      {...rest}
      caption={caption}
      rows={rows}
      rowKey={(row) => String(rows.indexOf(row))}
      rowClass={([first]) => (first?.kind === 'order' && first.value.isBaseline ? 'baseline' : '')}
      columns={columns.map(({ title, kind, isWideOnly }, i): Column<Row> => {
        const cells = rows.flatMap((row) => row[i] ?? [])
        const drawing = drawingOf(kind, cells)
        return {
          title,
          ...classOf(kind),
          ...(isWideOnly && { isWideOnly }),
          ...(drawing.axis !== undefined && { axis: drawing.axis, axisScale: drawing.scale }),
          cell: (row) => {
            const cell = row[i]
            return cell && <CellView cell={cell} scale={drawing.scale} isDocument={isDocument} />
          },
        }
      })}
    />
  )
}

const texts: readonly CellKind[] = [
  'name',
  'text',
  'order',
  'word',
  'state',
  'time',
  'cycle',
  'post',
  'input',
]
const intervals: readonly CellKind[] = ['estimate', 'ranked', 'difference']

function classOf(kind: CellKind): Pick<Column<Row>, 'kind'> {
  if (texts.includes(kind)) return {}
  return { kind: intervals.includes(kind) ? 'interval' : kind === 'effect' ? 'effect' : 'number' }
}

interface Drawing {
  readonly scale: Scale
  readonly axis?: Column<Row>['axis']
}

/** All rows of a column are drawn on one scale. */
function drawingOf(kind: CellKind, cells: readonly Cell[]): Drawing {
  if (kind === 'estimate') return { scale: shareScale, axis: shareAxis }
  if (kind === 'ranked') return { scale: rankedScale, axis: shareAxis }
  const differences = cells.flatMap((cell) => (cell.kind === 'difference' ? [cell.value] : []))
  if (kind === 'difference') return { scale: scaleOf(differences, 0), axis: [[0, '0']] }
  const effects = cells.flatMap((cell) => (cell.kind === 'effect' ? [Math.abs(cell.value ?? 0)] : []))
  const largest = Math.max(1e-9, ...effects)
  return { scale: { low: -largest, high: largest } }
}

interface CellProps {
  readonly cell: Cell
  readonly scale?: Scale
  readonly isDocument?: boolean
}

export function CellView({ cell, scale = shareScale, isDocument = false }: CellProps): ComponentChildren {
  switch (cell.kind) {
    case 'name':
      return <Text>{cell.value ?? '–'}</Text>
    case 'text':
      return <Text>{cell.value}</Text>
    case 'order':
      return <Text>{cell.value.name}</Text>
    case 'word':
      return word(cell.value ?? 'unknown')
    case 'state':
      return <Badge tone={stateTones[cell.value] ?? 'plain'}>{word(cell.value)}</Badge>
    case 'count':
      return integer(cell.value)
    case 'share':
      return percent(cell.value, 0)
    case 'rate':
      return percent(cell.value)
    case 'decimal':
      return decimal(cell.value)
    case 'correlation':
      return decimal(cell.value, 2)
    case 'score':
      return decimal(cell.value, 4)
    case 'estimate':
    case 'ranked':
      return <IntervalFigure {...cell.value} scale={scale} />
    case 'difference':
      return <IntervalFigure {...cell.value} scale={scale} unit="points" />
    case 'daysNeeded':
      return cell.value !== null && cell.value > furtherDaysMax ? t.report.moreThanYear : integer(cell.value)
    case 'minutes':
      return minutes(cell.value)
    case 'hours':
      return t.units.hour(integer(cell.value))
    case 'time':
      return dayClock(cell.value)
    case 'cycle':
      return cell.value === null ? '–' : cycleLabel(cell.value)
    case 'post':
      return <PostName post={cell.value} isLink={!isDocument} />
    case 'rank':
      return t.units.ofCount(rank(cell.value.rank), integer(cell.value.of))
    case 'input':
      return <span title={cell.value.name}>{inputLabel(cell.value.shown, language)}</span>
    case 'inputValue': {
      const { shown, value, instead } = cell.value
      if (instead !== null) return <Text>{instead}</Text>
      return value === null ? '–' : inputText(shown, value)
    }
    case 'change':
      return cell.value === null ? '–' : formatSigned(cell.value, 4)
    case 'effect':
      return <Effect effect={cell.value} largest={scale.high} />
  }
}

/** Of outcomes, verdicts and first scores. */
export const stateTones: Readonly<Record<string, Tone>> = {
  saved: 'ok',
  hidden: 'warn',
  deleted: 'fail',
  open: 'accent',
  better: 'ok',
  worse: 'fail',
  late: 'warn',
  never: 'fail',
}

function PostName({ post, isLink }: { readonly post: CellValues['post']; readonly isLink: boolean }) {
  const { gall_id, post_no } = post
  const name = (
    <>
      <Text>{gall_id ?? word('unknown')}</Text> · {post_no ?? word('unknown')}
    </>
  )
  if (!isLink || gall_id === null || post_no === null) return name
  return <a href={postAddress(gall_id, post_no)}>{name}</a>
}

function Effect({ effect, largest }: { readonly effect: number | null; readonly largest: number }) {
  const width = (50 * Math.abs(effect ?? 0)) / largest
  const isMinus = effect !== null && effect < 0
  return (
    <>
      <span class="effect-bar" aria-hidden="true">
        <span
          style={{
            width: `${width}%`,
            left: `${isMinus ? 50 - width : 50}%`,
            background: colorOf(isMinus ? 5 : 2),
          }}
        />
      </span>
      {effect === null ? '–' : formatSigned(effect, 4)}
    </>
  )
}
