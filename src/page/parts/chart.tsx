/**
 * A chart over time by uPlot: lines, or areas stacked on each other. The legend is HTML and shows the values under the
 * pointer, else the newest ones. For screen readers the chart is an image whose text contains the newest values.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { clock, dayClock, monthDay, timeZone } from '../format.js'
import { t } from '../messages/index.js'
import { colorOf, Swatch } from './common.js'
import { useThemeVersion } from './theme.js'

export interface ChartSeries {
  readonly label: string
  /** 1 to 9: a colour of the style sheet. */
  readonly color: number
  readonly values: readonly (number | null)[]
}

/** Makes series of what a function returns for each point. */
export function seriesOf<Point>(points: readonly Point[]) {
  return (label: string, color: number, value: (point: Point) => number | null | undefined): ChartSeries => ({
    label,
    color,
    values: points.map((point) => value(point) ?? null),
  })
}

export interface ChartProps {
  readonly title: string
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[]
  /** Stacked from the first one upwards. */
  readonly series: readonly ChartSeries[]
  readonly isStacked?: boolean
  readonly format: (value: number | null) => string
  /** Integers: the axis has no fractions. */
  readonly isCount?: boolean
  /** Start of the axis; null: the least value. */
  readonly min?: number | null
  /** The largest value at the bottom: for ranks. */
  readonly isUpsideDown?: boolean
}

const height = 150
/** Distances between the lines of an axis of counts. */
const countSteps = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power))

const minuteS = 60
const hourS = 60 * minuteS
const dayS = 24 * hourS
/** Distances between the labels of the time axis, which have no seconds. */
const timeSteps = [
  ...[1, 5, 10, 15, 30].map((count) => count * minuteS),
  ...[1, 2, 3, 4, 6, 8, 12].map((count) => count * hourS),
  ...[1, 2, 5, 10, 30].map((count) => count * dayS),
]

export function Chart(props: ChartProps) {
  const { title, times, series, format } = props
  const [pointed, setPointed] = useState<number | null>(null)
  const index = pointed !== null && pointed < times.length ? pointed : times.length - 1
  const time = times[index]
  const newest = series.map(({ label, values }) => `${label} ${format(values[times.length - 1] ?? null)}`)
  return (
    <figure class="chart panel">
      <figcaption>
        <h3>{title}</h3>
        <span class="muted">{time === undefined ? '' : dayClock(time)}</span>
      </figcaption>
      {times.length < 2 ? (
        <p class="empty">{t.parts.twoCycles}</p>
      ) : (
        <div role="img" aria-label={t.parts.newest(title, newest.join(', '))}>
          <Plot {...props} onPointed={setPointed} />
        </div>
      )}
      <ul class="legend">
        {series.map(({ label, color, values }) => (
          <li key={label}>
            <Swatch color={color} /> {label} <b>{format(values[index] ?? null)}</b>
          </li>
        ))}
      </ul>
    </figure>
  )
}

function Plot(props: ChartProps & { readonly onPointed: (index: number | null) => void }) {
  const { times, series, isStacked = false, onPointed } = props
  const elementRef = useRef<HTMLDivElement>(null)
  const plotRef = useRef<uPlot | null>(null)
  const themeVersion = useThemeVersion()
  const data = useMemo(() => plotData(times, series, isStacked), [times, series, isStacked])
  const labels = series.map(({ label, color }) => `${label}:${color}`).join()
  useEffect(() => {
    const element = elementRef.current
    if (element === null) return
    const plot = new uPlot(plotOptions(props, element, onPointed), data, element)
    plotRef.current = plot
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
      plotRef.current = null
    }
    // What else changes is data, which the effect below sets.
  }, [themeVersion, labels, isStacked])
  useEffect(() => plotRef.current?.setData(data), [data])
  return <div class="plot" ref={elementRef} />
}

/** uPlot draws in order, so the highest of the stacked areas comes first. */
export function plotData(
  times: readonly number[],
  series: readonly ChartSeries[],
  isStacked: boolean,
): uPlot.AlignedData {
  const seconds = times.map((ms) => ms / 1000)
  if (!isStacked) return [seconds, ...series.map(({ values }) => [...values])]
  const sums = times.map(() => 0)
  const layers = series.map(({ values }) =>
    values.map((value, i) => (sums[i] = (sums[i] ?? 0) + (value ?? 0))),
  )
  return [seconds, ...layers.reverse()]
}

export function plotOptions(
  { series, isStacked = false, isCount = false, format, min = 0, isUpsideDown = false }: ChartProps,
  element: HTMLElement,
  onPointed: (index: number | null) => void,
): uPlot.Options {
  const lines = canvasColor(element, 'var(--line)')
  const text = canvasColor(element, 'var(--muted)')
  const font = `11px ${getComputedStyle(element).fontFamily}`
  const ordered = isStacked ? [...series].reverse() : series
  const axis = { stroke: text, font, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    // The ticks are round times of Korea, wherever the reader is.
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), timeZone),
    cursor: {
      sync: { key: 'time' },
      points: { show: !isStacked, size: 6 },
      drag: { x: false, y: false },
      y: false,
    },
    scales: {
      y: {
        dir: isUpsideDown ? -1 : 1,
        range: (_plot, low, high) => {
          const bottom = min ?? (Number.isFinite(low) ? low : 0)
          const top = Number.isFinite(high) ? high : 1
          return [bottom, top > bottom ? top + 0.05 * (top - bottom) : bottom + 1]
        },
      },
    },
    axes: [
      {
        ...axis,
        size: 22,
        gap: 4,
        space: 60,
        incrs: timeSteps,
        grid: { show: false },
        values: (_plot, splits) => splits.map((seconds) => tick(seconds * 1000)),
      },
      {
        ...axis,
        size: 54,
        ...(isCount ? { incrs: countSteps } : {}),
        gap: 6,
        space: 30,
        grid: { stroke: lines, width: 1 },
        values: (_plot, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...ordered.map(({ label, color }) => {
        const area = `color-mix(in srgb, ${colorOf(color)} 45%, var(--panel))`
        return {
          label,
          stroke: canvasColor(element, colorOf(color)),
          width: isStacked ? 1 : 1.5,
          points: { show: false, ...(isStacked ? {} : { size: 4, filter: isolatedIn }) },
          ...(isStacked ? { fill: canvasColor(element, area) } : {}),
        }
      }),
    ],
    hooks: { setCursor: [(plot) => onPointed(plot.cursor.idx ?? null)] },
  }
}

/** The values that no line shows: both neighbours are missing. They are drawn as points. */
export function isolatedIn({ data }: Pick<uPlot, 'data'>, seriesIndex: number): number[] {
  const values = data[seriesIndex] ?? []
  const isMissing = (index: number): boolean => (values[index] ?? null) === null
  return [...values.keys()].filter((i) => !isMissing(i) && isMissing(i - 1) && isMissing(i + 1))
}

/** `14:05`; midnight has its date. */
function tick(ms: number): string {
  const text = clock(ms)
  return text === '00:00' ? monthDay(ms) : text
}

/** A colour of the style sheet as one that a canvas knows. */
function canvasColor(element: HTMLElement, value: string): string {
  const probe = document.createElement('span')
  probe.style.color = value
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
