/**
 * Is the time of a cycle linear in its rows? `npm run bench:linear` measures 500 to 5,000 pending posts in steps of 500,
 * a tenth of them new in each cycle, and draws docs/cycle-cost.svg.
 */
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { measureCycles } from './cycles.js'
import { currentConditions, projectDir } from './project.js'
import { plotSvg, plotText, type Point } from './plot.js'
import { cycleScenarios } from './scenarios.js'
import { fitLine } from './statistics.js'

export interface LinearOptions {
  readonly rowsMax: number
  readonly steps: number
  readonly cycleCount: number
  readonly svgFile: string
}

/** Measures, prints and draws. Returns rows and median milliseconds. */
export async function linear(options: LinearOptions, print: (text: string) => void): Promise<Point[]> {
  const { commit, machine } = currentConditions()
  print(`${commit}, ${machine}`)
  const points: Point[] = []
  for (let step = 1; step <= options.steps; step++) {
    const rows = Math.round((options.rowsMax * step) / options.steps)
    const { latencyMs } = await measureCycles({
      scenario: `${rows} rows`,
      shape: { ...cycleScenarios.full.shape, pending: rows, turnover: Math.ceil(rows / 10) },
      cycleCount: options.cycleCount,
    })
    points.push([rows, latencyMs.p50])
    print(`${String(rows).padStart(6)} pending   ${latencyMs.p50.toFixed(2).padStart(7)} ms`)
  }
  const line = fitLine(points)
  print(`\n${plotText(points)}`)
  print(
    `\n${(line.slope * 1000).toFixed(2)} µs per row plus ${line.intercept.toFixed(2)} ms; ` +
      `a straight line explains ${(line.r2 * 100).toFixed(1)} % of the variance`,
  )
  writeFileSync(options.svgFile, plotSvg(points, line, `${commit}, ${machine}`))
  print(`plot: ${relative(process.cwd(), options.svgFile)}`)
  return points
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '30' },
      svg: { type: 'string', default: join(projectDir, 'docs', 'cycle-cost.svg') },
    },
  })
  await linear({ rowsMax: 5000, steps: 10, cycleCount: Number(values.cycles), svgFile: values.svg }, (text) =>
    console.log(text),
  )
}
