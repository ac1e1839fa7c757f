/**
 * A journal in memory with the faults of a replicated PostgreSQL, on a virtual clock: commits that wait for a standby, get lost, or are
 * executed after the client has given up; replies that get lost; crashes of the primary, after which commits are visible that no
 * standby has; promotions that lose them; jumps of the database's clock.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { cyclesOf } from '../../src/store/journal/packed-changes.js'
import type { Change } from '../../src/store/records/index.js'
import {
  originMark,
  leaseMs,
  Refusal,
  type EntryMark,
  type FollowResult,
  type Journal,
  type Lease,
} from '../../src/store/journal/journal.js'
import { StoreError } from '../../src/store/store-error.js'

function refusal(): Refusal {
  return new Refusal('the journal refused a statement', false, null)
}

/** Integers from 0, below `limit`. */
export type RandomBelow = (limit: number) => number

interface Timer {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

/** The virtual time of all processes. */
export class World {
  nowMs = 0
  /** When each step was taken: runs with equal ones took the same steps. */
  readonly stepsMs: number[] = []
  #order = 0
  #timers: Timer[] = []

  after(ms: number, run: () => void): void {
    this.#timers.push({ atMs: this.nowMs + ms, order: this.#order++, run })
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** Runs everything that is due until then. */
  async runUntil(endMs: number): Promise<void> {
    for (;;) {
      await turn()
      const next = this.#timers.reduce<Timer | null>(
        (first, timer) =>
          first === null ||
          timer.atMs < first.atMs ||
          (timer.atMs === first.atMs && timer.order < first.order)
            ? timer
            : first,
        null,
      )
      if (next === null || next.atMs > endMs) break
      this.#timers.splice(this.#timers.indexOf(next), 1)
      this.nowMs = Math.max(this.nowMs, next.atMs)
      this.stepsMs.push(this.nowMs)
      next.run()
    }
    this.nowMs = endMs
  }
}

/** One process: it can be stopped and continued, or end at any moment. */
export class SimProcess {
  isDead = false
  #waiting: (() => void)[] | null = null
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  pause(): void {
    this.#waiting ??= []
  }

  resume(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = null
    waiting.forEach((run) => run())
  }

  /** Resolves in this process, when it runs; never after its end. */
  async in<Value>(value: Promise<Value>): Promise<Value> {
    const settled = await value.then(
      (result) => () => result,
      (error: unknown) => () => {
        throw error
      },
    )
    if (this.#waiting !== null) await new Promise<void>((resolve) => this.#waiting?.push(resolve))
    if (this.isDead) await new Promise<never>(() => undefined)
    return settled()
  }

  readonly now = (): number => this.#world.nowMs

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted === true) return Promise.resolve()
    const ended = new Promise<void>((resolve) => {
      this.#world.after(ms, resolve)
      signal?.addEventListener('abort', () => resolve())
    })
    return this.in(ended)
  }
}

interface State {
  readonly head: EntryMark
  readonly epoch: number
  readonly owner: string | null
  readonly leaseUntil: number
  readonly tokens: ReadonlyMap<number, string>
  readonly cycles: ReadonlySet<string>
  readonly records: ReadonlyMap<string, { readonly entry: number; readonly change: Change }>
}

const statementMsMax = 10_000
const lockMsMax = 8000

/** The servers: states after each commit, of which some are on a standby, and some are visible. */
export class SimServers {
  /** Added to the clock. */
  clockOffsetMs = 0
  canReplicate = true
  #states: State[] = [
    {
      head: originMark,
      epoch: 0,
      owner: null,
      leaseUntil: 0,
      tokens: new Map(),
      cycles: new Set(),
      records: new Map(),
    },
  ]
  #durable = 0
  #visible = 0
  /** Counts promotions and crashes: each ends all connections. */
  #generation = 0
  readonly #world: World
  readonly #random: RandomBelow
  /** Of 100 statements that write. */
  faultPercent = 0

  constructor(world: World, random: RandomBelow) {
    this.#world = world
    this.#random = random
  }

  /** The primary ends and starts again: what it has committed becomes visible. */
  crash(): void {
    this.#generation++
    this.#visible = this.#states.length - 1
  }

  /** A standby becomes the primary: it has at least what was confirmed. */
  promote(): void {
    this.#generation++
    const last = this.#durable + this.#random(this.#states.length - this.#durable)
    this.#states.length = last + 1
    this.#durable = this.#visible = last
    this.canReplicate = true
  }

  journalFor(process: SimProcess): Journal {
    return {
      environment: 'sim',
      id: 'sim',
      append: ({ epoch, after, token, changes: given }) => {
        // As they are sent: a call that has failed may still be stored, and its caller uses the bytes again.
        const changes = given.map((change) => ({ ...change, value: change.value?.slice() ?? null }))
        return this.#write(process, (state) => {
          if (state.epoch !== epoch || state.head.number !== after) return { state, result: false }
          const cycles = cyclesOf(changes)
          if (cycles.some(({ cycleId }) => state.cycles.has(cycleId))) throw refusal()
          const number = after + 1
          const records = new Map(state.records)
          for (const change of changes)
            records.set(`${change.kind} ${String(change.key)}`, { entry: number, change })
          const next: State = {
            ...state,
            records,
            head: { number, token },
            leaseUntil: this.#clock() + leaseMs,
            tokens: new Map(state.tokens).set(number, token),
            cycles: new Set([...state.cycles, ...cycles.map(({ cycleId }) => cycleId)]),
          }
          return { state: next, result: true }
        })
      },
      renew: (epoch) =>
        this.#write<Lease | null>(process, (state) =>
          state.epoch === epoch
            ? {
                state: { ...state, leaseUntil: this.#clock() + leaseMs },
                result: { epoch, head: state.head, isSynchronous: true },
              }
            : { state, result: null },
        ),
      acquire: (node) =>
        this.#write<Lease | null>(process, (state) => {
          if (!this.#isFree(state) && state.owner !== node) return { state, result: null }
          const epoch = state.epoch + 1
          const next = { ...state, epoch, owner: node, leaseUntil: this.#clock() + leaseMs }
          return { state: next, result: { epoch, head: state.head, isSynchronous: true } }
        }),
      release: (epoch) =>
        this.#write(process, (state) => ({
          state: state.epoch === epoch ? { ...state, owner: null } : state,
          result: undefined,
        })),
      state: () =>
        this.#statement(process, () => {
          const { head, epoch, owner, leaseUntil } = this.#seen()
          const leaseMsLeft = leaseUntil - this.#clock()
          const isFree = this.#isFree(this.#seen())
          const state = { head, epoch, owner, leaseMsLeft, isFree, isSynchronous: true, problem: null }
          return Promise.resolve(state)
        }),
      follow: (from, apply, partial) =>
        this.#statement<FollowResult>(process, async () => {
          const { head, tokens, records } = this.#seen()
          for (const mark of [from, partial ?? originMark])
            if (mark.number > 0 && tokens.get(mark.number) !== mark.token) return { kind: 'diverged' }
          const changes = [...records.values()]
            .filter(({ entry }) => entry > from.number)
            .map(({ change }) => change)
          const middle = this.#random(changes.length + 1)
          await apply(changes.slice(0, middle), false, head)
          await process.in(this.#world.wait(this.#random(50)))
          if (this.#random(100) < this.faultPercent)
            throw new StoreError('failed', 'the connection ended while it was read')
          await apply(changes.slice(middle), true, head)
          return { kind: 'followed', head }
        }),
      prune: () => Promise.resolve(true),
      close: () => Promise.resolve(),
    }
  }

  /** All that was ever confirmed, and what a reader sees now. */
  #seen(): State {
    return this.#states[this.#visible]!
  }

  #clock(): number {
    return this.#world.nowMs + this.clockOffsetMs
  }

  #isFree({ owner, leaseUntil }: State): boolean {
    const leftMs = leaseUntil - this.#clock()
    return owner === null || leftMs < 0 || leftMs > 2 * leaseMs
  }

  /** A statement with its way there and back; it fails when its connection ends. */
  async #statement<Result>(process: SimProcess, work: () => Promise<Result>): Promise<Result> {
    const generation = this.#generation
    await process.in(this.#world.wait(1 + this.#random(20)))
    if (generation !== this.#generation) throw new Error('the connection has ended')
    const result = await work()
    await process.in(this.#world.wait(1 + this.#random(20)))
    if (generation !== this.#generation) throw new Error('the connection has ended')
    return result
  }

  async #write<Result>(
    process: SimProcess,
    change: (state: State) => { readonly state: State; readonly result: Result },
  ): Promise<Result> {
    const fault = this.#random(100) < this.faultPercent ? this.#random(4) : -1
    if (fault === 3) return this.#statement(process, () => Promise.reject(refusal()))
    const lostRequest = fault === 0
    if (lostRequest) return process.in(this.#fail(this.#random(statementMsMax)))
    if (fault === 1) {
      // The client gives up, and the server executes the statement later.
      this.#world.after(
        this.#random(3 * statementMsMax),
        () => void this.#commit(change).catch(() => undefined),
      )
      return process.in(this.#fail(this.#random(statementMsMax)))
    }
    const given = this.#statement(process, () => this.#commit(change))
    given.catch(() => undefined)
    const limited = Promise.race([given, this.#fail(statementMsMax)])
    const result = await process.in(limited)
    if (fault === 2) return process.in(this.#fail(this.#random(100)))
    return result
  }

  async #fail(ms: number): Promise<never> {
    await this.#world.wait(ms)
    throw new Error('no response')
  }

  async #commit<Result>(
    change: (state: State) => { readonly state: State; readonly result: Result },
  ): Promise<Result> {
    const generation = this.#generation
    const untilMs = this.#world.nowMs + lockMsMax
    // An earlier commit that waits for a standby holds the row.
    while (this.#visible < this.#states.length - 1) {
      await this.#world.wait(10)
      if (generation !== this.#generation || this.#world.nowMs > untilMs) throw new Error('no lock')
    }
    const { state, result } = change(this.#states.at(-1)!)
    this.#states.push(state)
    const mine = this.#states.length - 1
    while (!this.canReplicate) {
      await this.#world.wait(10)
      if (generation !== this.#generation) throw new Error('the connection has ended')
    }
    this.#durable = Math.max(this.#durable, mine)
    this.#visible = Math.max(this.#visible, mine)
    return result
  }
}
