/**
 * `npm run test:soak`: seven simulated days (2,016 cycles; SOAK_CYCLES) of the documented client, after nine days of warm-up
 * (SOAK_WARM_UP_CYCLES), until cycles and images expire as fast as new ones arrive. Prints figures; exits with 1 if a rule
 * is violated.
 */
import type { BlockCost, RemovalCost } from './cost.js'
import type { Sample } from './samples.js'
import { soak } from './soak.js'

const numberOf = (name: string, other: number): number => Number(process.env[name] ?? other)
const print = (line: string): void => console.log(line)

const plan = {
  seed: numberOf('SOAK_SEED', 1),
  postsPerDay: 2200,
  imageShare: numberOf('SOAK_IMAGE_SHARE', 0.25),
  // The minimum for cycles, because the pool remembers removals for seven days.
  keptDays: { cycles: 8, images: 7, outcomes: 3 },
  warmUpCycles: numberOf('SOAK_WARM_UP_CYCLES', 9 * 288),
  leapMs: numberOf('SOAK_LEAP_CYCLES', 0) * 300_000,
  measuredCycles: numberOf('SOAK_CYCLES', 2016),
  sampleCycles: numberOf('SOAK_SAMPLE_CYCLES', 36),
  costCycles: numberOf('SOAK_COST_CYCLES', 96),
}
const startedAt = performance.now()

const columns: readonly (readonly [string, (sample: Sample) => string])[] = [
  ['cycle', ({ cycle }) => String(cycle)],
  ['s', () => ((performance.now() - startedAt) / 1000).toFixed(0)],
  ['own MiB', ({ ownMib }) => ownMib.toFixed(1)],
  ['RSS MiB', ({ rssMib }) => rssMib.toFixed(1)],
  ['models MiB', ({ modelsMib }) => modelsMib.toFixed(1)],
  ['descriptors', ({ descriptors }) => String(descriptors)],
  ['loop p99 ms', ({ loopP99Ms }) => loopP99Ms.toFixed(1)],
  ['loop max ms', ({ loopMaxMs }) => loopMaxMs.toFixed(1)],
  ['cycle p50 ms', ({ postP50Ms }) => postP50Ms.toFixed(1)],
  ['cycle p99 ms', ({ postP99Ms }) => postP99Ms.toFixed(1)],
  ['records MiB', ({ liveMib }) => liveMib.toFixed(1)],
  ['file MiB', ({ fileMib }) => fileMib.toFixed(1)],
]
const line = (cells: readonly string[]): string =>
  cells.map((cell, index) => cell.padStart(columns[index]?.[0].length ?? 0)).join('  ')

/** Times of one kind, in ms. */
function costWords(cost: BlockCost | RemovalCost): string {
  const ms = (value: number): string => value.toFixed(1)
  const loop = `event loop p99 ${'cycles' in cost ? ms(cost.loopP99Ms) : '-'} max ${ms(cost.loopMaxMs)} ms`
  return 'cycles' in cost
    ? `${cost.name}: ${cost.cycles} cycles, p50 ${ms(cost.p50Ms)} p99 ${ms(cost.p99Ms)} max ${ms(cost.maxMs)} ms; ${loop}`
    : `${cost.name} removed: ${cost.transactions} transactions, p50 ${ms(cost.p50Ms)} max ${ms(cost.maxMs)} ms; of it on the event loop p50 ${ms(cost.loopP50Ms)} max ${ms(cost.loopMaxMs)} ms`
}

print(`${plan.warmUpCycles} cycles of warm-up, ${plan.measuredCycles} measured, seed ${plan.seed}`)
print(line(columns.map(([name]) => name)))
const costs: (BlockCost | RemovalCost)[] = []
const { verdicts, counts } = await soak(plan, {
  onCost: (cost) => costs.push(cost),
  onSample: (sample) => print(line(columns.map(([, cell]) => cell(sample)))),
})
print(
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join(', '),
)
for (const cost of costs) print(costWords(cost))
for (const { holds, words } of verdicts) print(`${holds ? 'ok    ' : 'VIOLATION'} ${words}`)
const violations = verdicts.filter(({ holds }) => !holds).length
print(
  `${violations === 0 ? 'no violations' : `${violations} violations`}, ${((performance.now() - startedAt) / 60_000).toFixed(1)} minutes`,
)
process.exitCode = violations === 0 ? 0 : 1
