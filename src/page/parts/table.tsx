/**
 * A table of figures that scrolls sideways on a narrow screen. Its first column names the rows. `IntervalFigure` draws a
 * mean with its 95 % interval on a scale that the rows share.
 */
import type { ComponentChildren } from 'preact'
import type { Estimated } from '../../contract/tables.js'
import { percent, points, range } from '../format.js'
import { t } from '../messages/index.js'
import { Guarded } from './guarded.js'

export interface Column<Row> {
  readonly title: string
  readonly kind?: 'number' | 'interval' | 'effect'
  /** A telephone has no room for it. */
  readonly isWideOnly?: true
  /** Marks of the axis that all rows share, below the title. */
  readonly axis?: readonly AxisMark[]
  readonly axisScale?: Scale
  readonly cell: (row: Row) => ComponentChildren
}

/** A value and how it is written. */
type AxisMark = readonly [value: number, text: string]

interface TableProps<Row> {
  readonly caption: string
  /** The caption is for screen readers only, because a heading has the same text. */
  readonly isCaptionHidden?: boolean
  /** Its height is limited, too. */
  readonly isTall?: boolean
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly rowClass?: (row: Row) => string
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, isCaptionHidden = false, isTall = false, columns, rows, rowKey, rowClass } = props
  return (
    <div
      class={isTall ? 'wide-scroll tall' : 'wide-scroll'}
      role="region"
      aria-label={t.parts.table(caption)}
      tabIndex={0}
    >
      <table>
        <caption class={isCaptionHidden ? 'sr-only' : ''}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, kind, isWideOnly, axis, axisScale = shareScale }) => (
              <th key={title} scope="col" class={classOf(kind, isWideOnly)}>
                {title}
                {axis !== undefined && <Axis marks={axis} scale={axisScale} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} class={rowClass?.(row)}>
              {columns.map(({ title, kind, isWideOnly, cell }, i) =>
                i === 0 ? (
                  <th key={title} scope="row">
                    <Guarded of={row} draw={() => cell(row)} />
                  </th>
                ) : (
                  <td key={title} class={classOf(kind, isWideOnly)}>
                    <Guarded of={row} draw={() => cell(row)} />
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function classOf(kind = '', isWideOnly = false): string {
  return isWideOnly ? `${kind} wide-only` : kind
}

export interface Scale {
  readonly low: number
  readonly high: number
  /** A vertical line, such as "no difference". */
  readonly reference?: number
}

/** Every share is drawn on the same axis, so that figures and tables can be compared. */
export const shareScale: Scale = { low: 0, high: 1 }
/** The same, where half is chance. */
export const rankedScale: Scale = { ...shareScale, reference: 0.5 }
export const shareAxis: readonly AxisMark[] = [
  [0, '0'],
  [0.5, '50'],
  [1, '100%'],
]

const width = 160
const height = 16

/** Where a value lies within the drawing. */
function positionOf(value: number, { low, high }: Scale): number {
  return 4 + Math.max(0, Math.min(1, (value - low) / (high - low))) * (width - 8)
}

function Axis({ marks, scale }: { readonly marks: readonly AxisMark[]; readonly scale: Scale }) {
  return (
    <svg class="axis" viewBox={`0 0 ${width} 12`} aria-hidden="true">
      {marks.map(([value, text]) => {
        const share = (value - scale.low) / (scale.high - scale.low)
        const anchor = share <= 0 ? 'start' : share >= 1 ? 'end' : 'middle'
        return (
          <text key={text} x={positionOf(value, scale)} y="10" text-anchor={anchor}>
            {text}
          </text>
        )
      })}
    </svg>
  )
}

/** `unit`: a difference of shares is in percentage points. */
export function IntervalFigure({
  mean,
  ci95,
  scale,
  unit = 'share',
}: Estimated & { readonly scale: Scale; readonly unit?: 'share' | 'points' }) {
  const x = (value: number): number => positionOf(value, scale)
  return (
    <>
      <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        <path class="rail" d={`M4 8H${width - 4}`} />
        {scale.reference !== undefined && <path class="reference" d={`M${x(scale.reference)} 1V15`} />}
        {ci95 !== null && <path class="whisker" d={`M${x(ci95[0])} 8H${x(ci95[1])}`} />}
        {mean !== null && <circle cx={x(mean)} cy="8" r="3.5" />}
      </svg>
      {unit === 'points' ? points(mean) : percent(mean)}
      {ci95 !== null && <small class="muted"> {range(ci95, unit)}</small>}
    </>
  )
}

/** Spans all intervals from the smallest to the largest end, with a margin. */
export function scaleOf(rows: readonly Estimated[], reference?: number): Scale {
  const ends = rows.flatMap(({ mean, ci95 }) => [...(mean === null ? [] : [mean]), ...(ci95 ?? [])])
  if (reference !== undefined) ends.push(reference)
  if (ends.length === 0) return { low: 0, high: 1 }
  const [low, high] = [Math.min(...ends), Math.max(...ends)]
  const margin = 0.05 * (high - low) || 0.05
  return { low: low - margin, high: high + margin, ...(reference === undefined ? {} : { reference }) }
}
