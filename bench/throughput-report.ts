/**
 * The table of docs/performance.md, one row per cycle scenario and per operation of the throughput scenario.
 */
import type { Measurement, ThroughputFigures } from './measurement.js'

interface Row extends ThroughputFigures {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Cycle scenarios whose floor was measured: cycles one after the other over one connection. */
function cycleRows(measurements: readonly Measurement[]): [string, readonly Row[]][] {
  return measurements.flatMap(({ scenario, details: { floor }, perSecond, latencyMs }) => {
    if (floor === undefined) return []
    const operation = `${scenario} cycle`
    const row = { operation, connectionCount: 1, floorPerSecond: perSecond * floor.ratio, perSecond }
    return [[operation, [{ ...row, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99 }]]]
  })
}

/** Rows of the throughput scenario by operation, in their order. */
function byOperation(measurements: readonly Measurement[]): ReadonlyMap<string, readonly Row[]> {
  const rows = measurements.flatMap(({ details, perSecond, latencyMs }): Row[] =>
    details.throughput === undefined
      ? []
      : [{ ...details.throughput, perSecond, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99 }],
  )
  return Map.groupBy(rows, ({ operation }) => operation)
}

/** In Markdown: requests per second, in parentheses their part of the floor, and p50 / p99. '' without rows. */
export function throughputTable(measurements: readonly Measurement[]): string {
  const operations = [...cycleRows(measurements), ...byOperation(measurements)]
  if (operations.length === 0) return ''
  const rows = operations.flatMap(([, points]) => points)
  const steps = [...new Set(rows.map(({ connectionCount }) => connectionCount))]
  const lines = operations.map(([operation, points]) => {
    const cells = steps.map((step) => {
      const row = points.find(({ connectionCount }) => connectionCount === step)
      if (row === undefined) return ''
      const { perSecond, floorPerSecond, p50Ms, p99Ms } = row
      const share = (perSecond / floorPerSecond).toFixed(2)
      return `${Math.round(perSecond).toLocaleString('en')} (${share}) · ${rounded(p50Ms)} / ${rounded(p99Ms)}`
    })
    return `| ${[operation, ...cells].join(' | ')} |`
  })
  const heads = ['operation', ...steps.map((step) => `${step} connection${step === 1 ? '' : 's'}`)]
  return [`| ${heads.join(' | ')} |`, `|${' --- |'.repeat(heads.length)}`, ...lines].join('\n')
}

function rounded(ms: number): string {
  return String(Number(ms.toPrecision(2)))
}
