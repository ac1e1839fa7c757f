/**
 * The client of the failover tests. It sends each call until it gets a response, through the load balancer or directly to a
 * process, as a client with a stale address does, and records every attempt. An attempt that takes too long is repeated, and
 * its response is still recorded when it arrives.
 */
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { send, type Call, type Reply } from '../harness/http.js'
import type { Random } from '../harness/rng.js'
import { contentOf, operationOf, sha256Of, type Attempt, type Operation } from './history.js'

export interface Endpoint {
  readonly name: string
  /** Default: this machine. */
  readonly host?: string
  readonly port: number
}

const retryMs = 50
/** After this time a call is sent again, and the first attempt stays open. A process may hang; the balancer notices. */
const patienceMs = { direct: 1000, balancer: 3000 }
/** An attempt without a response after this time never gets one. */
const attemptMsMax = 90_000
/** A call that gets no response for so long ends the test. */
const callMsMax = 120_000
const directShare = 0.2

export interface ClientOptions {
  readonly key: string
  readonly balancer: Endpoint
  readonly processes: readonly Endpoint[]
  readonly random: Random
  /** Called before each cycle is sent. */
  readonly onCycle: (cycleId: string) => void
}

export class FailoverClient {
  readonly attempts: Attempt[] = []
  readonly #options: ClientOptions
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 16 })
  readonly #cycleIds = new Set<string>()
  /** The attempts that got the first acknowledgement of a cycle. */
  readonly #newCycles: { readonly startedMs: number; readonly endedMs: number }[] = []
  #isClosed = false

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** Resolves with the first response that is not a temporary refusal; null if there is none for a long time. */
  async send(call: Call): Promise<Reply | null> {
    const { random, balancer, processes } = this.#options
    const operation = operationOf(call)
    if (operation.kind === 'cycle') this.#options.onCycle(operation.cycleId)
    const deadline = performance.now() + callMsMax
    while (performance.now() < deadline && !this.#isClosed) {
      const isDirect = random.chance(directShare)
      const attempt = this.#attempt(call, operation, isDirect ? random.pick(processes) : balancer)
      const response = await Promise.race([
        attempt,
        delay(patienceMs[isDirect ? 'direct' : 'balancer'], null),
      ])
      if (response !== null && response.status < 500) return response
      await delay(retryMs)
    }
    return null
  }

  /** One attempt at one endpoint. Resolves with its end. */
  async probe(endpoint: Endpoint, call: Call): Promise<void> {
    await this.#attempt(call, operationOf(call), endpoint)
  }

  /**
   * Resolves with the time at which the first cycle was acknowledged by an attempt that began after `sinceMs`. Rejects after
   * `msMax`.
   */
  async nextCycle(sinceMs: number, msMax: number): Promise<number> {
    const deadline = performance.now() + msMax
    for (;;) {
      const found = this.#newCycles.find(({ startedMs }) => startedMs >= sinceMs)
      if (found !== undefined) return found.endedMs
      if (performance.now() > deadline) throw new Error(`no cycle was acknowledged for ${msMax} ms`)
      await delay(10)
    }
  }

  /** The longest time without the acknowledgement of a new cycle since `sinceMs`. */
  longestGapMs(sinceMs: number): number {
    const ends = this.#newCycles.map(({ endedMs }) => endedMs).filter((endedMs) => endedMs > sinceMs)
    const instants = [sinceMs, ...ends.sort((a, b) => a - b)]
    return Math.max(...instants.slice(1).map((instant, index) => instant - instants[index]!))
  }

  /** The cycle that was acknowledged last. */
  get newestCycle(): string | null {
    return [...this.#cycleIds].at(-1) ?? null
  }

  /** Forgets what was recorded. */
  clear(): void {
    this.attempts.length = 0
    this.#newCycles.length = 0
    this.#cycleIds.clear()
  }

  close(): void {
    this.#isClosed = true
    this.#agent.destroy()
  }

  async #attempt(call: Call, operation: Operation, endpoint: Endpoint): Promise<Reply | null> {
    const attempt: Attempt = {
      operation,
      sent: call.body === undefined ? null : sha256Of(call.body),
      via: endpoint.name,
      startedMs: performance.now(),
      endedMs: null,
      status: null,
      content: null,
    }
    this.attempts.push(attempt)
    const response = await this.#fetch(call, endpoint)
    attempt.endedMs = performance.now()
    attempt.status = response?.status ?? null
    attempt.content = response === null ? null : contentOf(operation, response)
    if (operation.kind === 'cycle' && attempt.content !== null && !this.#cycleIds.has(operation.cycleId)) {
      this.#cycleIds.add(operation.cycleId)
      this.#newCycles.push({ startedMs: attempt.startedMs, endedMs: attempt.endedMs })
    }
    return response
  }

  #fetch({ method, path, body }: Call, { host = '127.0.0.1', port }: Endpoint): Promise<Reply | null> {
    const type = path.startsWith('/v1/images/') ? 'image/jpeg' : 'application/json'
    const headers = {
      Authorization: this.#options.key,
      ...(body === undefined ? {} : { 'Content-Type': type }),
    }
    const signal = AbortSignal.timeout(attemptMsMax)
    return send({ host, port, method, path, agent: this.#agent, signal, headers }, body).catch(() => null)
  }
}
