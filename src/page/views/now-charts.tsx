/** The charts of Now: one point per cycle since the start of the service, at most a day. */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import type { CyclePoint, Series } from '../service/api.js'
import { useEvent } from '../service/connection.js'
import { useQuery, type Query } from '../service/query.js'
import { integer, milliseconds, percent, score, words } from '../format.js'
import { Chart, type ChartSeries } from '../parts/chart.js'
import { Missing } from '../parts/common.js'

const windowMs = 24 * 3_600_000
/** As many as the server keeps. */
const pointCountMax = 600

const stages = ['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit']
const quantiles = ['p99', 'p90', 'p50', 'p10'] as const

export function NowCharts() {
  const { points, error } = usePoints()
  const shown = useMemo(() => (points === null ? [] : inOrder(points)), [points])
  const times = useMemo(() => shown.map(({ cycle_time }) => Date.parse(cycle_time)), [shown])
  const lines = useMemo(() => seriesOf(shown), [shown])
  if (points === null) return <Missing error={error} what="charts" />
  return (
    <section class="charts" aria-label="Cycles of the last 24 hours">
      <Chart title="Latency by stage" times={times} series={lines.stages} isStacked format={milliseconds} />
      <Chart title="Results" times={times} series={lines.rows} isStacked format={integer} />
      <Chart title="Score quantiles" times={times} series={lines.scores} format={score} />
      <Chart title="Missing features" times={times} series={lines.missing} format={percent} />
    </section>
  )
}

/** The points of the server, and those of the cycles since then. */
function usePoints(): {
  readonly points: readonly CyclePoint[] | null
  readonly error: Query<Series>['error']
} {
  const { data, error } = useQuery<Series>('/api/series')
  const [newer, setNewer] = useState<readonly CyclePoint[]>([])
  useEffect(() => setNewer([]), [data])
  useEvent(
    'cycle',
    useCallback((point) => setNewer((before) => [...before, point].slice(-pointCountMax)), []),
  )
  const points = useMemo(
    () => (data === null ? null : [...data.points, ...newer].slice(-pointCountMax)),
    [data, newer],
  )
  return { points, error }
}

/** By `cycle_time`, each cycle once, those of the newest day. */
function inOrder(points: readonly CyclePoint[]): CyclePoint[] {
  const byTime = new Map(points.map((point) => [Date.parse(point.cycle_time), point]))
  const newest = Math.max(...byTime.keys())
  return [...byTime]
    .filter(([time]) => time > newest - windowMs)
    .sort(([a], [b]) => a - b)
    .map(([, point]) => point)
}

function seriesOf(
  points: readonly CyclePoint[],
): Record<'stages' | 'rows' | 'scores' | 'missing', ChartSeries[]> {
  const line = (label: string, color: number, value: (point: CyclePoint) => number | null): ChartSeries => ({
    label,
    color,
    values: points.map(value),
  })
  const reasons = new Set(
    points.flatMap(({ results }) =>
      results.filter(({ status, count }) => status === 'not_scored' && count > 0).map(({ reason }) => reason),
    ),
  )
  const countOf = ({ results }: CyclePoint, status: string, reason: string | null): number =>
    results.find((one) => one.status === status && one.reason === reason)?.count ?? 0
  return {
    stages: stages.map((stage, i) => line(stage, i + 1, ({ stages_ms }) => stages_ms[stage] ?? 0)),
    rows: [
      line('scored', 1, (point) => countOf(point, 'scored', null)),
      line('waiting', 3, (point) => countOf(point, 'waiting', null)),
      ...[...reasons].map((reason, i) =>
        line(words(reason ?? 'other'), 5 + i, (point) => countOf(point, 'not_scored', reason)),
      ),
    ],
    scores: quantiles.map((name, i) =>
      line(name, [5, 3, 1, 4][i] ?? 1, (point) => point.score_quantiles?.[name] ?? null),
    ),
    missing: [line('share', 1, ({ missing_feature_share }) => missing_feature_share)],
  }
}
