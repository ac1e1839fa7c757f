/**
 * The rounds of one environment: a client sends cycles, images, outcomes and weights without a pause while a fault is injected.
 * After each round everything that was acknowledged is read again, and the recorded history is checked.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Violation, type Load } from '../crash/load.js'
import { verifyOverHttp } from '../crash/verify.js'
import type { Random } from '../harness/rng.js'
import { projectDir } from '../helpers/project.js'
import { checkHistory } from './checker.js'
import { FailoverClient, type Endpoint } from './client.js'
import type { Fault, Round } from './faults.js'
import type { History, Outage, StoredJournal } from './history.js'

/** What a round needs of a deployment. */
export interface ServedSite {
  readonly services: readonly (Endpoint & { set timeMs(ms: number) })[]
  /** Of the load balancer. */
  readonly port: number
  readonly key: string
  /** Resolves when everything serves or stands by as it should. */
  settle(): Promise<void>
  stored(): Promise<StoredJournal>
}

export interface RoundCounts {
  cycles: number
  attempts: number
  images: number
  outcomes: number
  weights: number
}

export interface RoundResult {
  readonly outages: readonly Outage[]
  /** The longest time without the acknowledgement of a new cycle: how long calls were refused. */
  readonly gapMs: number
  /** What is wrong. */
  readonly violations: readonly string[]
}

/** The history of a run with a violation, for debugging. */
export const historyFile = join(projectDir, 'build/failover-history.json')

/** Between cycles while nothing is broken, so that they are not too many to read again. */
const pauseMs = 30
const probeMs = 100
/** Before and after a fault. */
const calmMsMax = 3000
/** An outage that does not end ends the test. */
const outageMsMax = 90_000

/** The rounds of one environment. */
export class EnvironmentRun<RunSite extends ServedSite> {
  readonly #site: RunSite
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

  constructor(site: RunSite, load: Load, random: Random) {
    this.#site = site
    this.#load = load
    this.#random = random
  }

  start(): void {
    const { services, port, key } = this.#site
    this.#client = new FailoverClient({
      key,
      balancer: { name: 'balancer', port },
      processes: services,
      random: this.#random,
      onCycle: (cycleId) => this.#setClocks(cycleId),
    })
  }

  /** Injects a fault under traffic, then reads everything again. */
  async round(fault: Fault<RunSite>): Promise<RoundResult> {
    const first = this.#outages.length
    this.#resume()
    await delay(this.#random.below(calmMsMax))
    const round: Round<RunSite> = {
      site: this.#site,
      random: this.#random,
      outage: (limitMs, act) => this.#outage(fault.name, limitMs, act),
      withWrongClock: async (act) => {
        const fromMs = performance.now()
        await act()
        this.#staleReads.push({ fromMs, toMs: performance.now() })
      },
      withoutTraffic: async (act) => {
        await this.#pause()
        await act()
        this.#resume()
      },
    }
    const faultMs = performance.now()
    try {
      await fault.run(round)
      await this.#site.settle()
      await delay(this.#random.below(calmMsMax))
    } finally {
      await this.#pause()
    }
    const outages = this.#outages.slice(first)
    const gapMs = this.#connected.longestGapMs(faultMs)
    const violations = await this.#verify()
    return { outages, gapMs, violations }
  }

  async end(): Promise<void> {
    this.#client?.close()
    await this.#pause()
  }

  count(counts: RoundCounts): void {
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

export function wordsOf(error: unknown): string {
  return error instanceof Violation
    ? error.message
    : error instanceof Error
      ? (error.stack ?? '')
      : String(error)
}
