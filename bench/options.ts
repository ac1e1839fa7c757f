/**
 * The command line of `npm run bench`, checked in one place.
 */
import { parseArgs } from 'node:util'
import { scenarioNames, type RunSize, type ScenarioName } from './scenarios.js'

export interface BenchOptions extends RunSize {
  readonly scenarios: readonly ScenarioName[]
  readonly floor: boolean
  /** A git revision, or the directory of a built checkout, to measure against. */
  readonly compareWith?: string
  /** Where the servers of cycle scenarios leave CPU profiles (`node --cpu-prof`). Slows them a little. */
  readonly profileDir?: string
  /** Where the figures go. Default: a new file in bench/results. */
  readonly jsonFile?: string
}

export const usage = `npm run bench -- [options]
  --scenario a,b   of ${scenarioNames.join(', ')}; all by default
  --cycles N       counted cycles of a cycle scenario
  --seconds S      time of each other scenario (5)
  --no-floor       without the floor beside the cycle scenarios
  --compare REV    cycle scenarios against another revision, or a built checkout's directory, in turn
  --scale PART     a part of the posts, for a quick look (1)
  --profile DIR    CPU profiles of the servers of cycle scenarios, for Chrome's developer tools or speedscope
  --json FILE      where the figures go (a new file in bench/results)
  --help`

/** Null: help was asked for. Throws, with a sentence, for what it does not understand. */
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
  if (found === undefined) throw new Error(`no scenario ${name}: there are ${scenarioNames.join(', ')}`)
  return found
}

function numberOf(flag: string, text: string, minimum: number, maximum: number): number {
  const value = Number(text)
  if (!(value >= minimum && value <= maximum)) {
    throw new Error(`${flag} takes a number from ${minimum} to ${maximum}, not ${text}`)
  }
  return value
}
