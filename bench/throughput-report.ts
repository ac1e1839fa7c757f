/**
 * The table of docs/performance.md, one row per cycle scenario and per operation of the throughput scenario, and the plot of the
 * latter.
 */
import type { Measurement, ThroughputFigures } from './measurement.js'
import { escapeXml } from './plot.js'

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

const width = 720
const height = 400
const frame = { left: 72, right: 150, top: 32, bottom: 64 }
const colours = ['#1f6feb', '#cf222e', '#1a7f37', '#9a6700', '#8250df', '#bf3989', '#57606a']

/** Requests per second by connections, both axes logarithmic; dashed: the bare server. `origin`: commit and machine. */
export function throughputSvg(measurements: readonly Measurement[], origin: string): string {
  const operations = [...byOperation(measurements)]
  const rows = operations.flatMap(([, points]) => points)
  const xMax = Math.log2(Math.max(2, ...rows.map(({ connectionCount }) => connectionCount)))
  const values = rows.flatMap(({ perSecond, floorPerSecond }) => [perSecond, floorPerSecond])
  const yMin = Math.floor(Math.log10(Math.min(...values)))
  const yMax = Math.ceil(Math.log10(Math.max(...values)))
  const toX = (connections: number): string =>
    (frame.left + (Math.log2(connections) / xMax) * (width - frame.left - frame.right)).toFixed(1)
  const toY = (perSecond: number): string => {
    const part = (Math.log10(perSecond) - yMin) / (yMax - yMin)
    return (height - frame.bottom - part * (height - frame.top - frame.bottom)).toFixed(1)
  }
  const powers = Array.from({ length: yMax - yMin + 1 }, (_, step) => 10 ** (yMin + step))
  const grid = powers.map(
    (power) =>
      `<line x1="${frame.left}" x2="${width - frame.right}" y1="${toY(power)}" y2="${toY(power)}" stroke="#ddd"/>` +
      `<text x="${frame.left - 8}" y="${toY(power)}" text-anchor="end" dominant-baseline="middle">${power}</text>`,
  )
  const steps = [...new Set(rows.map(({ connectionCount }) => connectionCount))]
  const ticks = steps.map(
    (step) => `<text x="${toX(step)}" y="${height - frame.bottom + 18}" text-anchor="middle">${step}</text>`,
  )
  const lines = operations.flatMap(([operation, points], index) => {
    const colour = colours[index % colours.length] ?? ''
    const path = (value: (row: Row) => number): string =>
      points.map((row) => `${toX(row.connectionCount)},${toY(value(row))}`).join(' ')
    const y = frame.top + 18 * index
    return [
      `<polyline points="${path((row) => row.perSecond)}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      `<polyline points="${path((row) => row.floorPerSecond)}" fill="none" stroke="${colour}" stroke-dasharray="3 4"/>`,
      ...points.map(
        (row) =>
          `<circle cx="${toX(row.connectionCount)}" cy="${toY(row.perSecond)}" r="3" fill="${colour}"/>`,
      ),
      `<text x="${width - frame.right + 24}" y="${y}" fill="${colour}">${escapeXml(operation)}</text>`,
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#333">`,
    '<title>Requests per second by connections</title>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...grid,
    ...ticks,
    ...lines,
    `<text x="${frame.left}" y="${frame.top - 12}">requests per second; dashed: the bare server</text>`,
    `<text x="${width - frame.right}" y="${height - frame.bottom + 36}" text-anchor="end">connections</text>`,
    `<text x="${frame.left}" y="${height - 8}" fill="#777">${escapeXml(origin)}</text>`,
    '</svg>',
    '',
  ].join('\n')
}
