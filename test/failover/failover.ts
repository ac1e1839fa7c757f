/**
 * Rounds of faults on a site of this machine, in the order of a plan, with a new environment after some rounds.
 */
import { Load } from '../crash/load.js'
import { Random } from '../harness/rng.js'
import { cycleMs } from '../helpers/bodies.js'
import { smallJpeg } from '../harness/jpeg.js'
import { EnvironmentRun, wordsOf, type RoundCounts } from './environment-run.js'
import type { Fault } from './faults.js'
import type { Outage } from './history.js'
import { Site } from './site.js'

export interface FailoverPlan {
  /** Directory of PostgreSQL's programs. */
  readonly bin: string
  readonly seed: number
  readonly rounds: number
  readonly faults: readonly Fault[]
  /** In the order given; otherwise each pass through the faults has an order of its own. */
  readonly isOrdered?: boolean
  /** False: commits do not wait for a standby, and the checker must find what is lost. */
  readonly isSynchronous?: boolean
  readonly hasClocks?: boolean
  readonly print: (line: string) => void
}

export interface FailoverFigures {
  readonly violations: readonly string[]
  readonly outages: readonly Outage[]
  readonly counts: Readonly<RoundCounts & { rounds: number }>
}

/** Cycles of one environment are all read again after each round, so the next rounds begin with an empty one. */
const roundsPerEnvironment = 12

export async function failover(plan: FailoverPlan): Promise<FailoverFigures> {
  const { bin, print, isSynchronous = true, hasClocks = false } = plan
  const site = await Site.start(bin, { isSynchronous, hasClocks })
  const figures = {
    violations: [] as string[],
    outages: [] as Outage[],
    counts: { rounds: 0, cycles: 0, attempts: 0, images: 0, outcomes: 0, weights: 0 },
  }
  try {
    const faults = usableFaults(plan, site)
    const jpegs = await Promise.all(Array.from({ length: 12 }, (_, index) => smallJpeg(20 * index)))
    const random = new Random(plan.seed)
    let waiting: Fault[] = []
    for (let first = 0; first < plan.rounds; first += roundsPerEnvironment) {
      const seed = plan.seed + first
      const run = new EnvironmentRun(site, new Load(seed, jpegs), new Random(seed))
      await site.useNewEnvironment(first, cycleMs(0))
      run.start()
      try {
        for (let round = first; round < Math.min(plan.rounds, first + roundsPerEnvironment); round++) {
          if (waiting.length === 0) waiting = plan.isOrdered === true ? [...faults] : shuffled(faults, random)
          const fault = waiting.shift()!
          const { outages, violations } = await run.round(fault)
          print(`round ${round + 1}: ${fault.name}: ${outages.map(outageText).join(', ')}`)
          figures.outages.push(...outages)
          figures.counts.rounds++
          for (const violation of violations) figures.violations.push(`round ${round + 1}: ${violation}`)
          if (violations.length > 0) {
            print(site.logs())
            return figures
          }
        }
        await site.verifyExport()
      } catch (error) {
        figures.violations.push(`round ${figures.counts.rounds + 1}: ${wordsOf(error)}\n${site.logs()}`)
        return figures
      } finally {
        await run.end()
        run.count(figures.counts)
      }
    }
    return figures
  } finally {
    await site.dispose()
  }
}

function usableFaults({ faults, print }: FailoverPlan, site: Site): Fault[] {
  return faults.filter(({ name, skipReason }) => {
    const reason = skipReason?.(site) ?? null
    if (reason !== null) print(`skipped: ${name}: ${reason}`)
    return reason === null
  })
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const rest = [...items]
  return items.map(() => rest.splice(random.below(rest.length), 1)[0] as Item)
}

export function outageText({ startedMs, readyMs }: Outage): string {
  return readyMs === null ? 'not ready' : `ready after ${((readyMs - startedMs) / 1000).toFixed(1)} s`
}
