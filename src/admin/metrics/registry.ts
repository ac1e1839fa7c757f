/**
 * The registry: one prom-client metric for each row of the table, with all its series from startup on, and the default metrics
 * of prom-client for the process.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { metricTable, resultLabels, type MetricName } from './table.js'

type TypeOf<Name extends MetricName> = (typeof metricTable)[Name]['type']
/** The metrics by the names of their rows. */
export type Metrics = {
  readonly [Name in MetricName]: TypeOf<Name> extends 'counter'
    ? Counter
    : TypeOf<Name> extends 'gauge'
      ? Gauge
      : Histogram
}

type GaugeName = {
  [Name in MetricName]: (typeof metricTable)[Name]['type'] extends 'gauge' ? Name : never
}[MetricName]
export type ReadName = GaugeName | 'loadFailures' | 'shadowSkips' | 'streamsDropped'

/**
 * A record has the values by the only label of the metric; a list has the labels of an info metric, whose value is 1.
 * null: there is no value.
 */
export type GaugeValue =
  number | null | Readonly<Record<string, number>> | readonly Readonly<Record<string, string>>[]

export function createMetrics(): { readonly registry: Registry; readonly metrics: Metrics } {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // Sums of other gauges; a gauge must not have the suffix of counters.
  for (const kind of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${kind}_total`)
  const made = Object.entries(metricTable).map(([key, { type, name, help, labels, buckets }]) => {
    const options = { name, help, labelNames: Object.keys(labels), registers: [registry] }
    const series = key === 'results' ? resultLabels : combinations(labels)
    if (type === 'histogram') {
      const histogram = new Histogram({ ...options, buckets: [...buckets] })
      for (const one of series) histogram.zero(one)
      return [key, histogram]
    }
    const metric = type === 'counter' ? new Counter(options) : new Gauge(options)
    for (const one of series) metric.inc(one, 0)
    return [key, metric]
  })
  return { registry, metrics: Object.fromEntries(made) as Metrics }
}

/** Replaces all values of the metrics. */
export function setGaugeValues(metrics: Metrics, all: Readonly<Record<ReadName, GaugeValue>>): void {
  for (const [name, value] of Object.entries(all) as [ReadName, GaugeValue][]) {
    const metric: Counter | Gauge = metrics[name]
    const set = (labels: Labels, number: number): void =>
      metric instanceof Gauge ? metric.set(labels, number) : metric.inc(labels, number)
    metric.reset()
    if (typeof value !== 'object' || value === null) set({}, value ?? NaN)
    else if (value instanceof Array) for (const labels of value) set(labels, 1)
    else {
      const [label = ''] = Object.keys(metricTable[name].labels)
      for (const [labelValue, count] of Object.entries(value)) set({ [label]: labelValue }, count)
    }
  }
}

type Labels = Readonly<Record<string, string>>

/** All combinations of the values of bounded labels; none if a label is open. */
function combinations(labels: Readonly<Record<string, readonly string[] | 'open'>>): Labels[] {
  return Object.entries(labels).reduce<Labels[]>(
    (all, [label, values]) =>
      values === 'open' ? [] : all.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  )
}
