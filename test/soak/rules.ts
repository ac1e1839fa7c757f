/**
 * The rules that a soak test checks: each is a sentence with numbers, and whether it holds. Levels compare the last
 * quarter of the measured cycles with the second one, medians against medians.
 */
import type { RecordCounts } from '../../src/store/records/inspect.js'
import type { Bounds, ExpectedRecords } from './expected-records.js'
import type { Sample } from './samples.js'

export interface Verdict {
  readonly holds: boolean
  readonly words: string
}

/** Shares by which memory and the file may grow. */
const memoryGrowthMax = 0.05
const fileGrowthMax = 0.02
/** Below this many MiB, growth is the noise of a garbage collector. */
const memoryNoiseMib = 8
/** Code that is mapped: Node, ONNX Runtime, libvips. */
const programMib = 128
const loopGrowthMax = 0.25
const loopNoiseMs = 5

/** Rules that need a long run. `samples` are of the measured cycles alone. */
export function levelRules(samples: readonly Sample[]): Verdict[] {
  const quarter = Math.floor(samples.length / 4)
  const second = samples.slice(quarter, 2 * quarter)
  const last = samples.slice(-quarter)
  const medians = (name: keyof Sample): [number, number] => [medianOf(second, name), medianOf(last, name)]
  const flat = (name: keyof Sample, what: string, unit: string, part: number, noise: number): Verdict => {
    const [before, after] = medians(name)
    return {
      holds: after <= Math.max(before * (1 + part), before + noise),
      words:
        `${what}: median of the last quarter ${after.toFixed(1)} ${unit}, of the second ${before.toFixed(1)}; ` +
        `at most ${percent(part)} or ${noise} ${unit} more`,
    }
  }
  const equal = (name: keyof Sample, what: string): Verdict => {
    const [before, after] = [new Set(second.map((one) => one[name])), new Set(last.map((one) => one[name]))]
    const most = (values: ReadonlySet<number>): number => Math.max(...values)
    return {
      holds: most(after) <= most(before),
      words: `${what}: ${listed(after)} in the last quarter, ${listed(before)} in the second; not more`,
    }
  }
  return [
    flat('ownMib', 'memory of the server', 'MiB', memoryGrowthMax, memoryNoiseMib),
    mappedRule(samples),
    flat('modelsMib', 'memory of the processes of models', 'MiB', memoryGrowthMax, memoryNoiseMib),
    equal('descriptors', 'descriptors with no client connected'),
    equal('processes', 'processes of models'),
    flat('loopP99Ms', 'delay of the event loop at p99', 'ms', loopGrowthMax, loopNoiseMs),
    flat('liveMib', 'pages with records', 'MiB', fileGrowthMax, 1),
    flat('fileMib', 'data file', 'MiB', fileGrowthMax, 1),
  ]
}

/**
 * Pages of the file that were read stay mapped until the system reclaims them, so RSS rises at most by the size of the
 * file.
 */
function mappedRule(samples: readonly Sample[]): Verdict {
  const beyond = samples.map(({ rssMib, ownMib, fileMib }) => rssMib - ownMib - fileMib)
  const last = samples.at(-1)
  return {
    holds: Math.max(...beyond) <= programMib,
    words:
      `RSS of the server: ${(last?.rssMib ?? NaN).toFixed(1)} MiB at the end, ${(samples[0]?.rssMib ?? NaN).toFixed(1)} at the beginning; ` +
      `never more than its own memory, the data file and ${programMib} MiB of program`,
  }
}

export interface Held {
  readonly sound: boolean
  readonly problems: readonly string[]
  readonly counts: RecordCounts | null
}

/** Compares the counts in the data directory with the expected ones. */
export function recordRules(
  { sound, problems, counts }: Held,
  held: ExpectedRecords,
  weights: number,
): Verdict[] {
  const found = (name: keyof RecordCounts): number => counts?.[name] ?? NaN
  const within = (name: keyof RecordCounts, { least, most }: Bounds): Verdict => ({
    holds: found(name) >= least && found(name) <= most,
    words: `${name}: ${found(name)} stored; expected ${least} to ${most}`,
  })
  const exactly = (name: keyof RecordCounts, count: number): Verdict =>
    within(name, { least: count, most: count })
  return [
    { holds: sound, words: `understudy verify: ${sound ? 'no problems found' : problems.join('; ')}` },
    within('cycles', held.cycleRecords()),
    within('responses', held.responses()),
    exactly('requests', found('responses')),
    exactly('cycle_ids', held.cycleIdCount()),
    within('images', held.images()),
    exactly('image_bytes', found('images')),
    within('outcomes', held.outcomes()),
    exactly('weights', weights),
  ]
}

export function medianOf(samples: readonly Sample[], name: keyof Sample): number {
  return samples.map((one) => one[name]).sort((a, b) => a - b)[samples.length >> 1] ?? NaN
}

function percent(part: number): string {
  return `${(100 * part).toFixed(0)} %`
}

function listed(values: ReadonlySet<number>): string {
  return [...values].sort((a, b) => a - b).join(', ')
}
