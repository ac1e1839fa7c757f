/**
 * `npm run test:sim`: SIM_SEEDS seeds (10,000 without it) from SIM_FIRST (1) on, or the one of SIM_SEED, over as many
 * processes as there are cores. Prints the first failing seed of each process with its last steps; exits 1 on any.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { simulate, type RunFigures } from './simulation.js'

interface Range {
  readonly first: number
  readonly count: number
  readonly stride: number
}

const numberOf = (name: string, other: number): number => Number(process.env[name] ?? other)

/** Figures of all seeds of a range, summed up. */
async function runRange({ first, count, stride }: Range): Promise<RunFigures & { seeds: number }> {
  const sum = { ...(await simulate(first)), seeds: 1 }
  for (let seed = first + stride; seed < first + count; seed += stride) {
    const figures = await simulate(seed)
    for (const name of Object.keys(figures) as (keyof RunFigures)[]) sum[name] += figures[name]
    sum.seeds++
  }
  return sum
}

async function runChild(): Promise<void> {
  const range = JSON.parse(process.env.SIM_RANGE ?? '') as Range
  try {
    process.send?.(await runRange(range))
  } catch (error) {
    console.error(`simulation: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    if (error instanceof Error && error.cause instanceof Error) console.error(error.cause)
    process.exitCode = 1
  }
}

async function runAll(): Promise<void> {
  const startedMs = performance.now()
  const one = process.env.SIM_SEED
  const first = one === undefined ? numberOf('SIM_FIRST', 1) : Number(one)
  const count = one === undefined ? numberOf('SIM_SEEDS', 10_000) : 1
  const stride = Math.min(count, numberOf('SIM_PROCESSES', availableParallelism()))
  const sums: (RunFigures & { seeds: number })[] = []
  const ends = Array.from({ length: stride }, async (_, i) => {
    const range: Range = { first: first + i, count: count - i, stride }
    const child = fork(new URL(import.meta.url), {
      env: { ...process.env, SIM_RANGE: JSON.stringify(range) },
    })
    child.on('message', (sum) => sums.push(sum as RunFigures & { seeds: number }))
    await once(child, 'exit')
    if (child.exitCode !== 0) process.exitCode = 1
  })
  await Promise.all(ends)
  const total = (name: keyof RunFigures | 'seeds'): string =>
    sums.reduce((all, sum) => all + sum[name], 0).toLocaleString('en')
  const s = ((performance.now() - startedMs) / 1000).toFixed(1)
  console.log(
    `simulation: ${total('seeds')} seeds, ${total('steps')} steps, ${total('calls')} calls, ` +
      `${total('stored')} cycles stored, ${total('acknowledged')} responses, ${total('crashes')} crashes, ` +
      `${total('faults')} faults, ${total('shadowScores')} scores of shadows, ${total('savedPools')} saved pools, ${total('savedPoolsDamaged')} damaged, ${total('expired')} records expired, ${s} s` +
      (process.exitCode === undefined ? '' : ', FAILED'),
  )
}

await (process.env.SIM_RANGE === undefined ? runAll() : runChild())
