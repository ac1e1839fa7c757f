/** The charts of Now: one point per cycle, for the period that the service keeps. */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import type { ApiError, CyclePoint, Series } from '../service/api.js'
import { useEvent } from '../service/connection.js'
import { stageNames } from '../../contract/page-facts.js'
import { useQuery } from '../service/query.js'
import { counted, duration, integer, milliseconds, percent, score } from '../format.js'
import { t, word } from '../messages/index.js'
import { Chart, seriesOf, type ChartSeries } from '../parts/chart.js'
import { Missing, Since } from '../parts/common.js'
import { colorOfStage } from './call-details.js'

/** More than the service keeps at the usual interval: a page that is left open does not grow. */
const pointCountMax = 1000

const quantiles = ['p99', 'p90', 'p50', 'p10'] as const

interface NowChartsProps {
  /** null: not known. */
  readonly startedAt: string | null
}

export function NowCharts({ startedAt }: NowChartsProps) {
  const { points, error } = usePoints()
  return points === null ? (
    <Missing error={error} what={t.data.series} />
  ) : (
    <PointCharts points={points} startedAt={startedAt} />
  )
}

interface PointChartsProps extends NowChartsProps {
  /** Sorted by `cycle_time`. */
  readonly points: readonly CyclePoint[]
}

export function PointCharts({ points, startedAt }: PointChartsProps) {
  const times = useMemo(() => points.map(({ cycle_time }) => Date.parse(cycle_time)), [points])
  const lines = useMemo(() => linesOf(points), [points])
  const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0)
  return (
    <section class="charts" aria-label={t.now.overTime}>
      <div class="charts-head">
        <h2>
          {points.length < 2
            ? t.now.overTime
            : t.now.last(duration(spanMs), counted(points.length, t.units.cycles))}
        </h2>
        <Since startedAt={startedAt} />
      </div>
      <Chart title={t.now.latency} times={times} series={lines.stages} isStacked format={milliseconds} />
      <Chart title={t.now.results} times={times} series={lines.rows} isStacked isCount format={integer} />
      <Chart title={t.now.quantiles} times={times} series={lines.scores} format={score} />
      <Chart title={t.now.missing} times={times} series={lines.missing} format={percent} />
    </section>
  )
}

/** The points of the server, and those of the cycles since then. */
function usePoints(): { readonly points: readonly CyclePoint[] | null; readonly error: ApiError | null } {
  const { data, error } = useQuery<Series>('/api/series')
  const [known, setKnown] = useState<readonly CyclePoint[]>([])
  useEffect(() => {
    if (data !== null) setKnown((before) => merge(before, data.points))
  }, [data])
  useEvent(
    'cycle',
    useCallback((point) => setKnown((before) => merge(before, [point])), []),
  )
  return { points: data === null ? null : known, error }
}

/**
 * Sorted by `cycle_time`, each cycle once: an event and a response on its way may have the same cycle, and either may come
 * first.
 */
export function merge(before: readonly CyclePoint[], points: readonly CyclePoint[]): CyclePoint[] {
  const byId = new Map([...before, ...points].map((point) => [point.cycle_id, point]))
  return [...byId.values()]
    .sort((a, b) => Date.parse(a.cycle_time) - Date.parse(b.cycle_time))
    .slice(-pointCountMax)
}

function linesOf(
  points: readonly CyclePoint[],
): Record<'stages' | 'rows' | 'scores' | 'missing', ChartSeries[]> {
  const line = seriesOf(points)
  const reasons = new Set(
    points.flatMap(({ results }) =>
      results.filter(({ status, count }) => status === 'not_scored' && count > 0).map(({ reason }) => reason),
    ),
  )
  const countOf = ({ results }: CyclePoint, status: string, reason: string | null): number =>
    results.find((one) => one.status === status && one.reason === reason)?.count ?? 0
  return {
    // Omits sending: it ends after the point is recorded.
    stages: stageNames
      .slice(0, -1)
      .map((stage) => line(word(stage), colorOfStage(stage), ({ stages_ms }) => stages_ms[stage] ?? 0)),
    rows: [
      line(word('scored'), 1, (point) => countOf(point, 'scored', null)),
      line(word('waiting'), 3, (point) => countOf(point, 'waiting', null)),
      ...[...reasons].map((reason, i) =>
        line(word(reason ?? 'other'), 5 + i, (point) => countOf(point, 'not_scored', reason)),
      ),
    ],
    scores: quantiles.map((name, i) =>
      line(name, [5, 3, 1, 4][i] ?? 1, (point) => point.score_quantiles?.[name]),
    ),
    missing: [line(t.now.share, 1, ({ missing_feature_share }) => missing_feature_share)],
  }
}
