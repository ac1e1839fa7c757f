/**
 * Parses the command line of `npm run bench`.
 */
import { parseArgs } from 'node:util'
import { scenarioNames, type RunSize, type ScenarioName } from './scenarios.js'

export interface BenchOptions extends RunSize {
  readonly scenarios: readonly ScenarioName[]
  readonly floor: boolean
  /** A git revision, or the directory of a built checkout, to measure against. */
  readonly compareWith?: string
  /** Directory for CPU profiles of the servers of cycle scenarios (`node --cpu-prof`), which slow them slightly. */
  readonly profileDir?: string
  /** File for the figures. Default: a new file in bench/results. */
  readonly jsonFile?: string
}

export const usage = `npm run bench -- [options]
  --scenario a,b   of ${scenarioNames.join(', ')}; default: all
  --cycles N       number of counted cycles of a cycle scenario
  --seconds S      duration of each other scenario (default: 5)
  --no-floor       do not measure the floor of cycle scenarios
  --compare REV    compare cycle scenarios with another revision, or with the directory of a built checkout
  --scale PART     use only this part of the posts, 0.001 to 1 (default: 1)
  --profile DIR    write CPU profiles of the servers of cycle scenarios, for Chrome's developer tools or speedscope
  --json FILE      write the figures to this file (default: a new file in bench/results)
  --help`

/** Null: `--help`. Throws an error that names an invalid argument. */
export function parseOptions(args: readonly string[]): BenchOptions | null {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      scenario: { type: 'string' },
      cycles: { type: 'string' },
      seconds: { type: 'string', default: '5' },
      floor: { type: 'boolean', default: true },
      compare: { type: 'string' },
      scale: { type: 'string', default: '1' },
      profile: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return null
  return {
    scenarios: values.scenario === undefined ? scenarioNames : values.scenario.split(',').map(scenarioOf),
    seconds: numberOf('--seconds', values.seconds, 0.1, 3600),
    scale: numberOf('--scale', values.scale, 0.001, 1),
    floor: values.floor,
    ...(values.cycles === undefined
      ? {}
      : { cycleCount: Math.floor(numberOf('--cycles', values.cycles, 1, 100_000)) }),
    ...(values.compare === undefined ? {} : { compareWith: values.compare }),
    ...(values.profile === undefined ? {} : { profileDir: values.profile }),
    ...(values.json === undefined ? {} : { jsonFile: values.json }),
  }
}

function scenarioOf(name: string): ScenarioName {
  const found = scenarioNames.find((known) => known === name)
  if (found === undefined)
    throw new Error(`no scenario ${name}; the scenarios are ${scenarioNames.join(', ')}`)
  return found
}

function numberOf(flag: string, text: string, minimum: number, maximum: number): number {
  const value = Number(text)
  if (!(value >= minimum && value <= maximum)) {
    throw new Error(`${flag} takes a number from ${minimum} to ${maximum}, not ${text}`)
  }
  return value
}
