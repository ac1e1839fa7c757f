/**
 * Reports for the terminal: a table, the stages of a cycle as bars, and each cycle scenario with its floor.
 */
import { stageNames } from '../src/contract/page-facts.js'
import type { Comparison } from './compare.js'
import type { Measurement } from './measurement.js'

/** Above this, the client may have limited the figures. */
const clientBusyShareMax = 0.85
const barWidth = 40

const columns: readonly (readonly [head: string, text: (row: Measurement) => string])[] = [
  ['scenario', (row) => row.scenario],
  ['count', (row) => String(row.latencyMs.count)],
  ['p50 ms', (row) => ms(row.latencyMs.p50)],
  ['p90', (row) => ms(row.latencyMs.p90)],
  ['p99', (row) => ms(row.latencyMs.p99)],
  ['max', (row) => ms(row.latencyMs.max)],
  ['per s', (row) => number(row.perSecond)],
  ['MB/s', (row) => number(row.megabytesPerSecond)],
  ['CPU ms', (row) => (row.serverCpuMsPerRequest === null ? '-' : ms(row.serverCpuMsPerRequest))],
  ['RSS MiB', (row) => (row.serverRssPeakMib === null ? '-' : row.serverRssPeakMib.toFixed(0))],
  ['client', (row) => `${Math.round(row.clientBusyShare * 100)} %`],
]

/** The table, with a warning for each row that the client may have limited. */
export function measurementTable(rows: readonly Measurement[]): string {
  const table = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, text]) => text(row)))]
  const busy = rows
    .filter((row) => row.clientBusyShare > clientBusyShareMax)
    .map(
      (row) =>
        `! ${row.scenario}: the client used the CPU ${Math.round(row.clientBusyShare * 100)} % of the time; the server may be faster than this`,
    )
  return [...alignColumns(table), ...busy].join('\n')
}

export const legend = [
  'CPU ms: all threads of the server, per request. RSS: its peak. loop p99: event-loop delay in ms since its start.',
  'client: CPU utilisation of the client; near 100 %, the client limits the figures.',
].join('\n')

/** The time of the median cycle by stage; empty for rows without stages. */
export function stageBars({ scenario, latencyMs, details }: Measurement): string {
  const { stages } = details
  if (stages === undefined) return ''
  const medians = stageNames.flatMap((stage) => {
    const figures = stages[stage]
    return figures === undefined ? [] : [{ name: stage, p50: figures.p50, p99: figures.p99 }]
  })
  const inside = medians.reduce((total, { p50 }) => total + p50, 0)
  // Time outside the stages: the network and the client.
  const outside = { name: 'outside', p50: Math.max(0, latencyMs.p50 - inside), p99: null }
  const whole = inside + outside.p50
  const lines = [...medians, outside].map(({ name, p50, p99 }) => [
    name,
    ms(p50),
    p99 === null ? '' : `p99 ${ms(p99)}`,
    `${Math.round((p50 / whole) * 100)} %`,
    bar(p50 / whole),
  ])
  return [`${scenario}: stages of the median cycle, ms`, ...alignColumns(lines, [0, 4])].join('\n')
}

/** The parts of the floor; empty for rows without one. */
export function floorLines({ scenario, latencyMs, details }: Measurement): string {
  const { floor, stages } = details
  if (floor === undefined) return ''
  const lines = [
    `${scenario}: measured ${ms(latencyMs.p50)} / floor ${ms(floor.totalMs)} = ${floor.ratio.toFixed(2)}` +
      `   transport ${ms(floor.transportMs)} + walk ${ms(floor.walkMs)} (${floor.walkNote})` +
      ` + infer ${ms(floor.inferMs)} + write ${ms(floor.writeMs)}` +
      ` (into a growing file ${ms(floor.growingWriteMs)})`,
  ]
  if (stages?.decode !== undefined) {
    // Decoding includes the work of the walk.
    if (stages.decode.p50 < floor.walkMs)
      lines.push(`! ${scenario}: decode is faster than the walk; the floor is too high`)
    lines.push(
      `${' '.repeat(scenario.length)}  decode ${ms(stages.decode.p50)} / walk = ${(stages.decode.p50 / floor.walkMs).toFixed(2)}`,
    )
  }
  return lines.join('\n')
}

/** The note of a scenario, which all of its rows share. */
export function noteLine({ scenario, details }: Measurement): string {
  return details.note === undefined ? '' : `${scenario.split(':', 1)[0] ?? ''}: ${details.note}`
}

/** Resident memory over the run, which shows whether it grows. */
export function memoryLine({ scenario, details }: Measurement): string {
  const { rssMib = [] } = details
  if (rssMib.length < 2) return ''
  return `${scenario}: resident MiB over the run: ${rssMib.map((value) => value.toFixed(0)).join(' ')}`
}

/** Two revisions side by side. */
export function comparisonTable(rows: readonly Comparison[]): string {
  const [first] = rows
  if (first === undefined) return ''
  return alignColumns([
    [
      'scenario',
      'pairs',
      `${first.nameA} p50 ms`,
      `${first.nameB} p50 ms`,
      'B / A',
      'p10',
      'p90',
      'CPU B / A',
    ],
    ...rows.map((row) => [
      row.scenario,
      String(row.pairCount),
      ms(row.medianMsA),
      ms(row.medianMsB),
      row.ratio.toFixed(3),
      row.ratioP10.toFixed(3),
      row.ratioP90.toFixed(3),
      row.cpuRatio === null ? '-' : row.cpuRatio.toFixed(2),
    ]),
  ]).join('\n')
}

/** Aligns the listed columns to the left and all others to the right. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  leftColumns: readonly number[] = [0],
): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows.map((row) =>
    row
      .map((text, column) => {
        const width = widths[column] ?? 0
        return leftColumns.includes(column) ? text.padEnd(width) : text.padStart(width)
      })
      .join('  ')
      .trimEnd(),
  )
}

/** A bar whose length is a part of the whole, in eighths of a character. */
export function bar(part: number): string {
  const eighths = Math.round(Math.max(0, Math.min(1, part)) * barWidth * 8)
  return ('█'.repeat(Math.floor(eighths / 8)) + ' ▏▎▍▌▋▊▉'.charAt(eighths % 8)).trimEnd()
}

function ms(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value.toFixed(value >= 10 ? 1 : 2)
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1)
}
