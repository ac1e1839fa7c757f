/**
 * Rounds of faults on a site, in the order of a plan, with a new environment after some rounds.
 */
import { Load } from '../crash/load.js'
import { Random } from '../harness/rng.js'
import { cycleMs } from '../helpers/bodies.js'
import { smallJpeg } from '../harness/jpeg.js'
import { EnvironmentRun, wordsOf, type RoundCounts, type ServedSite } from './environment-run.js'
import type { Fault } from './faults.js'
import type { Outage } from './history.js'

export interface FailoverSite extends ServedSite {
  /** Lets processes of a new environment serve, at a time of theirs. */
  useNewEnvironment(number: number, timeMs: number): Promise<void>
  /** Copies the journal to a data directory, and verifies it. Rejects with what is wrong. */
  verifyExport(): Promise<void>
  /** The end of each log. */
  logs(): string
  dispose(): Promise<void>
}

export interface FailoverPlan<Site extends FailoverSite> {
  readonly openSite: () => Promise<Site>
  readonly seed: number
  readonly rounds: number
  readonly faults: readonly Fault<Site>[]
  /** In the order given; otherwise each pass through the faults has an order of its own. */
  readonly isOrdered?: boolean
  /** Cycles of one environment are all read again after each round, so the next rounds begin with an empty one. */
  readonly roundsPerEnvironment?: number
  readonly print: (line: string) => void
}

export interface FailoverFigures {
  readonly violations: readonly string[]
  readonly outages: readonly Outage[]
  readonly counts: Readonly<RoundCounts & { rounds: number }>
}

export async function failover<Site extends FailoverSite>(
  plan: FailoverPlan<Site>,
): Promise<FailoverFigures> {
  const { openSite, print, roundsPerEnvironment = 12 } = plan
  const site = await openSite()
  const figures = {
    violations: [] as string[],
    outages: [] as Outage[],
    counts: { rounds: 0, cycles: 0, attempts: 0, images: 0, outcomes: 0, weights: 0 },
  }
  try {
    const faults = usableFaults(plan, site)
    const jpegs = await Promise.all(Array.from({ length: 12 }, (_, index) => smallJpeg(20 * index)))
    const random = new Random(plan.seed)
    let waiting: Fault<Site>[] = []
    for (let first = 0; first < plan.rounds; first += roundsPerEnvironment) {
      const seed = plan.seed + first
      const run = new EnvironmentRun(site, new Load(seed, jpegs), new Random(seed))
      await site.useNewEnvironment(first, cycleMs(0))
      run.start()
      try {
        for (let round = first; round < Math.min(plan.rounds, first + roundsPerEnvironment); round++) {
          if (waiting.length === 0) waiting = plan.isOrdered === true ? [...faults] : shuffled(faults, random)
          const fault = waiting.shift()!
          const { outages, gapMs, violations } = await run.round(fault)
          const times = [`refused for ${(gapMs / 1000).toFixed(1)} s`, ...outages.map(outageText)]
          print(`round ${round + 1}: ${fault.name}: ${times.join(', ')}`)
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

function usableFaults<Site extends FailoverSite>(
  { faults, print }: FailoverPlan<Site>,
  site: Site,
): Fault<Site>[] {
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

function outageText({ startedMs, readyMs }: Outage): string {
  return readyMs === null ? 'not ready' : `ready after ${((readyMs - startedMs) / 1000).toFixed(1)} s`
}
