/**
 * Rounds of faults while a client sends cycles, images, outcomes and weights without a pause. After each round everything that
 * was acknowledged is read again, and the recorded history is checked.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Load, Violation } from '../crash/load.js'
import { verifyOverHttp } from '../crash/verify.js'
import { Random } from '../fuzz/random.js'
import { cycleMs } from '../helpers/bodies.js'
import { smallJpeg } from '../helpers/jpegs.js'
import { projectDir } from '../helpers/server-process.js'
import { checkHistory } from './checker.js'
import { FailoverClient } from './client.js'
import type { Fault, Round } from './faults.js'
import type { History, Outage } from './history.js'
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
  readonly counts: Readonly<
    Record<'rounds' | 'cycles' | 'attempts' | 'images' | 'outcomes' | 'weights', number>
  >
}

/** The history of a run with a violation, for debugging. */
export const historyFile = join(projectDir, 'build/failover-history.json')

/** Cycles of one environment are all read again after each round, so the next rounds begin with an empty one. */
const roundsPerEnvironment = 12
/** Between cycles while nothing is broken, so that they are not too many to read again. */
const pauseMs = 30
const probeMs = 100
/** Before and after a fault. */
const calmMsMax = 3000
/** An outage that does not end ends the test. */
const outageMsMax = 90_000

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
          const fault = waiting.shift() as Fault
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

/** The rounds of one environment. */
class EnvironmentRun {
  readonly #site: Site
  readonly #load: Load
  readonly #random: Random
  readonly #outages: Outage[] = []
  readonly #staleReads: { fromMs: number; toMs: number }[] = []
  #client: FailoverClient | null = null
  #timeMs = -Infinity
  #isCalm = true
  #traffic: Promise<void> = Promise.resolve()
  #stopped = new AbortController()
  #problem: Error | null = null

  constructor(site: Site, load: Load, random: Random) {
    this.#site = site
    this.#load = load
    this.#random = random
  }

  start(): void {
    const { services, port } = this.#site
    this.#client = new FailoverClient({
      key: services[0]?.server.key ?? '',
      balancer: { name: 'balancer', port },
      processes: services,
      random: this.#random,
      onCycle: (cycleId) => this.#setClocks(cycleId),
    })
  }

  /** Injects a fault under traffic, then reads everything again. Resolves with its outages, and what is wrong. */
  async round(fault: Fault): Promise<{ outages: readonly Outage[]; violations: readonly string[] }> {
    const first = this.#outages.length
    this.#resume()
    await delay(this.#random.below(calmMsMax))
    const round: Round = {
      site: this.#site,
      random: this.#random,
      outage: (limitMs, act) => this.#outage(fault.name, limitMs, act),
      withWrongClock: async (act) => {
        const fromMs = performance.now()
        await act()
        this.#staleReads.push({ fromMs, toMs: performance.now() })
      },
    }
    try {
      await fault.run(round)
      await this.#site.settle()
      await delay(this.#random.below(calmMsMax))
    } finally {
      await this.#pause()
    }
    const outages = this.#outages.slice(first)
    const violations = await this.#verify()
    return { outages, violations }
  }

  async end(): Promise<void> {
    this.#client?.close()
    await this.#pause()
  }

  count(counts: Record<keyof FailoverFigures['counts'], number>): void {
    counts.cycles += this.#load.cycles.size
    counts.images += this.#load.images.size
    counts.outcomes += this.#load.outcomes.size
    counts.weights += this.#load.weights.length
    counts.attempts += this.#client?.attempts.length ?? 0
  }

  async #outage(fault: string, limitMs: number, act: () => Promise<void> | void): Promise<void> {
    const outage: Outage = { fault, startedMs: performance.now(), limitMs, readyMs: null }
    this.#outages.push(outage)
    this.#isCalm = false
    await act()
    const ready = this.#throughout(this.#connected.nextCycle(outage.startedMs, outageMsMax))
    outage.readyMs = await ready.catch((error: unknown) => {
      throw this.#problem ?? error
    })
    this.#isCalm = true
  }

  /** Rejects early if the traffic has ended with a violation. */
  async #throughout<Result>(work: Promise<Result>): Promise<Result> {
    const failed = this.#traffic.then(() => {
      throw this.#problem ?? new Error('the traffic has ended')
    })
    failed.catch(() => undefined)
    return Promise.race([work, failed])
  }

  get #connected(): FailoverClient {
    if (this.#client === null) throw new Error('the client was not started')
    return this.#client
  }

  #resume(): void {
    this.#stopped = new AbortController()
    const { signal } = this.#stopped
    this.#isCalm = true
    this.#traffic = Promise.all([this.#sendLoad(signal), this.#probe(signal)]).then(
      () => undefined,
      (error: unknown) => {
        this.#problem = error as Error
      },
    )
  }

  async #pause(): Promise<void> {
    this.#stopped.abort()
    await this.#traffic
  }

  async #sendLoad(signal: AbortSignal): Promise<void> {
    const client = this.#connected
    while (!signal.aborted) {
      await this.#load.step(client)
      if (this.#load.unacknowledgedCount > 0) throw new Violation('calls had no response for a long time')
      if (this.#isCalm) await delay(pauseMs)
    }
  }

  /** Reads the newest acknowledged data from each process in turn, regardless of the load balancer. */
  async #probe(signal: AbortSignal): Promise<void> {
    const client = this.#connected
    for (let count = 0; !signal.aborted; count++) {
      const service = this.#site.services[count % this.#site.services.length]
      const cycleId = client.newestCycle
      if (service !== undefined && cycleId !== null) {
        void client.probe(service, { method: 'GET', path: `/v1/scores/${cycleId}` })
        void client.probe(service, { method: 'GET', path: '/v1/weights' })
      }
      await delay(probeMs)
    }
  }

  async #verify(): Promise<readonly string[]> {
    if (this.#problem !== null) return [wordsOf(this.#problem)]
    const client = this.#connected
    const readAgainMs = performance.now()
    const found: string[] = []
    try {
      await verifyOverHttp(this.#load, client)
    } catch (error) {
      found.push(wordsOf(error))
    }
    const history: History = {
      attempts: client.attempts,
      outages: this.#outages,
      staleReads: this.#staleReads,
      readAgainMs,
      stored: await this.#site.stored(),
    }
    const violations = [...found, ...checkHistory(history)]
    if (violations.length > 0) writeFileSync(historyFile, JSON.stringify(history, null, 1))
    return violations
  }

  /** The clocks follow the cycles, so that weights apply to the next cycle after they are set. */
  #setClocks(cycleId: string): void {
    const [, year, month, day, hour, minute] = /^(....)(..)(..)T(..)(..)$/.exec(cycleId)?.map(Number) ?? []
    const kstMs = Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute)
    this.#timeMs = Math.max(this.#timeMs, kstMs - 9 * 3_600_000 + 1000)
    for (const service of this.#site.services) service.timeMs = this.#timeMs
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const rest = [...items]
  return items.map(() => rest.splice(random.below(rest.length), 1)[0] as Item)
}

function outageText({ startedMs, readyMs }: Outage): string {
  return readyMs === null ? 'not ready' : `ready after ${((readyMs - startedMs) / 1000).toFixed(1)} s`
}

function wordsOf(error: unknown): string {
  return error instanceof Violation
    ? error.message
    : error instanceof Error
      ? (error.stack ?? '')
      : String(error)
}
