/**
 * The bench: runs the selected scenarios one after the other and reports their figures.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { buildRevision, compareCycles, type Comparison } from './compare.js'
import { measureCycles } from './cycles.js'
import { measureEncoders } from './encoders.js'
import { FloorProbe } from './floor/floor-probe.js'
import type { Measurement } from './measurement.js'
import { measureMixed } from './mixed.js'
import type { BenchOptions } from './options.js'
import { currentConditions, projectDir, type Conditions } from './project.js'
import {
  comparisonTable,
  floorLines,
  legend,
  measurementTable,
  memoryLine,
  noteLine,
  stageBars,
} from './report.js'
import { cycleScenarios, isCycleScenario, scaledShape, type ScenarioName } from './scenarios.js'
import type { ServerOptions } from './server-under-test.js'
import { measureWithAdmin } from './with-admin.js'
import { measureWithReport } from './with-report.js'
import { measureStartUp } from './start-up.js'
import { measureSwap } from './swap.js'
import { measureThroughput } from './throughput.js'
import { throughputTable } from './throughput-report.js'

/** Contents of the JSON file. */
export interface BenchResults {
  readonly conditions: Conditions
  readonly options: BenchOptions
  readonly measurements: readonly Measurement[]
  readonly comparisons: readonly Comparison[]
}

/** Measures, prints progress, and writes the JSON file. Rejects at the first wrong response. */
export async function bench(options: BenchOptions, print: (text: string) => void): Promise<BenchResults> {
  const conditions = currentConditions()
  print(`${conditions.commit}, ${conditions.machine}, Node ${conditions.node}`)
  if (options.scale !== 1) print(`! scale ${options.scale}: the scenarios do not have their nominal size`)
  const comparing = options.compareWith !== undefined
  const measurements = comparing ? [] : await measureAll(options, print)
  const comparisons = comparing ? await compareAll(options, options.compareWith, print) : []
  const results = { conditions, options, measurements, comparisons }
  if (comparing) print(`\n${comparisonTable(comparisons)}`)
  else printMeasurements(measurements, print)
  print(`\nfigures: ${relative(process.cwd(), writeResults(results))}`)
  return results
}

async function measureAll(options: BenchOptions, print: (text: string) => void): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const scenario of options.scenarios) {
    print(`… ${scenario}`)
    measurements.push(...(await measure(scenario, options)))
  }
  return measurements
}

async function measure(scenario: ScenarioName, options: BenchOptions): Promise<Measurement[]> {
  switch (scenario) {
    case 'throughput':
      return measureThroughput(options)
    case 'mixed':
      return measureMixed(options)
    case 'start-up':
      return [await measureStartUp(options)]
    case 'swap':
      return measureSwap(options)
    case 'with-report':
      return measureWithReport(options)
    case 'with-admin':
      return measureWithAdmin(options)
    case 'encoders':
      return measureEncoders(options)
    default: {
      const { shape, cycleCount } = cycleScenarios[scenario]
      return [
        await measureCycles({
          scenario,
          shape: scaledShape(shape, options.scale),
          cycleCount: options.cycleCount ?? cycleCount,
          ...(options.profileDir === undefined ? {} : { server: profiled(options.profileDir) }),
          ...(options.floor
            ? { openFloor: ({ scratchDir }: { scratchDir: string }) => FloorProbe.open(scratchDir) }
            : {}),
        }),
      ]
    }
  }
}

/** `bin/understudy` ends with exec, so NODE_OPTIONS applies to the server. */
function profiled(dir: string): ServerOptions {
  return { env: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${JSON.stringify(resolve(dir))}` } }
}

async function compareAll(
  options: BenchOptions,
  revision: string,
  print: (text: string) => void,
): Promise<Comparison[]> {
  print(`… building ${revision}`)
  const other = buildRevision(revision)
  const comparisons: Comparison[] = []
  try {
    for (const scenario of options.scenarios.filter(isCycleScenario)) {
      print(`… ${scenario}`)
      const { shape, cycleCount } = cycleScenarios[scenario]
      comparisons.push(
        await compareCycles(
          {
            scenario,
            shape: scaledShape(shape, options.scale),
            cycleCount: options.cycleCount ?? cycleCount,
          },
          other,
        ),
      )
    }
  } finally {
    other.remove()
  }
  return comparisons
}

function printMeasurements(measurements: readonly Measurement[], print: (text: string) => void): void {
  print(`\n${measurementTable(measurements)}\n${legend}`)
  for (const lines of [noteLine, floorLines, memoryLine, stageBars]) {
    // Rows of one scenario may share a note.
    const text = [...new Set(measurements.map(lines))].filter((line) => line !== '')
    if (text.length > 0) print(`\n${text.join(lines === stageBars ? '\n\n' : '\n')}`)
  }
  const throughput = throughputTable(measurements)
  if (throughput !== '') print(`\n${throughput}\n\nper second (part of the bare server) · p50 / p99 in ms`)
}

function writeResults(results: BenchResults): string {
  const stamp = results.conditions.startedAt.slice(0, 19).replaceAll(/[-:]/g, '')
  const file = resolve(
    results.options.jsonFile ??
      join(projectDir, 'bench', 'results', `${stamp}-${results.conditions.commit}.json`),
  )
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  return file
}
