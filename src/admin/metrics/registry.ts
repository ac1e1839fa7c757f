/**
 * The registry: one prom-client metric for each row of the table, with all its series from the start.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
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

export function createMetrics(): { readonly registry: Registry; readonly metrics: Metrics } {
  const registry = new Registry()
  const made = Object.entries(metricTable).map(([key, row]) => {
    const { type, name, help, labels, buckets } = row
    const options = { name, help, labelNames: Object.keys(labels), registers: [registry] }
    const series = key === 'results' ? resultLabels : combinations(labels)
    return [key, create(type, options, buckets, series)]
  })
  return { registry, metrics: Object.fromEntries(made) as Metrics }
}

type Labels = Readonly<Record<string, string>>

interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: string[]
  readonly registers: Registry[]
}

function create(
  type: 'counter' | 'gauge' | 'histogram',
  options: MetricOptions,
  buckets: readonly number[],
  series: readonly Labels[],
): Counter | Gauge | Histogram {
  switch (type) {
    case 'counter': {
      const counter = new Counter(options)
      for (const labels of series) counter.inc(labels, 0)
      return counter
    }
    case 'gauge': {
      const gauge = new Gauge(options)
      for (const labels of series) gauge.set(labels, 0)
      return gauge
    }
    case 'histogram': {
      const histogram = new Histogram({ ...options, buckets: [...buckets] })
      for (const labels of series) histogram.zero(labels)
      return histogram
    }
  }
}

/** All combinations of the values of bounded labels; none where a label is open. */
function combinations(labels: Readonly<Record<string, readonly string[] | 'open'>>): Labels[] {
  return Object.entries(labels).reduce<Labels[]>(
    (all, [label, values]) =>
      values === 'open' ? [] : all.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  )
}
