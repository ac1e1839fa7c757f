/**
 * The scheduler of a simulated run. Everything asynchronous is one of its events, and the seed decides their order: one event,
 * then all microtasks that follow from it, then the next. A crash of the service drops its events.
 */
import { setImmediate as realImmediate } from 'node:timers'
import type { Random } from '../harness/rng.js'

/** Incarnation of the clients and of the driver. A crash of the service does not end it. */
export const clientIncarnation = 0

export interface EventOptions {
  readonly label: string
  readonly incarnation: number
  /** Events of one queue run in the order in which they were added; other events run in any order. */
  readonly queue?: string
  /** Steps to wait while other events are ready. */
  readonly delaySteps?: number
}

interface Event extends EventOptions {
  readonly readyAtStep: number
  readonly run: () => void
}

export class Scheduler {
  readonly random: Random
  /** FNV-1a over the labels of all steps: runs with equal sums took the same steps. */
  traceSum = 0x811c9dc5
  /** The last steps, for the failure message. */
  readonly lastSteps: string[] = []
  step = 0
  #events: Event[] = []

  constructor(random: Random) {
    this.random = random
  }

  add(options: EventOptions, run: () => void): void {
    this.#events.push({ ...options, run, readyAtStep: this.step + (options.delaySteps ?? 0) })
  }

  /** A promise that an event resolves. */
  after(options: EventOptions): Promise<void> {
    return new Promise((resolve) => this.add(options, resolve))
  }

  count(incarnation: number): number {
    return this.#events.reduce((sum, event) => sum + (event.incarnation === incarnation ? 1 : 0), 0)
  }

  /** Drops all events of an incarnation. */
  end(incarnation: number): void {
    this.#events = this.#events.filter((event) => event.incarnation !== incarnation)
  }

  note(text: string): void {
    for (let i = 0; i < text.length; i++)
      this.traceSum = Math.imul(this.traceSum ^ text.charCodeAt(i), 0x01000193) >>> 0
    this.lastSteps.push(`${this.step} ${text}`)
    if (this.lastSteps.length > 40) this.lastSteps.shift()
  }

  /** Runs one event and the microtasks that follow from it. False when there is none. */
  async next(): Promise<boolean> {
    const event = this.#choose()
    if (event === undefined) return false
    this.step++
    this.#events.splice(this.#events.indexOf(event), 1)
    this.note(event.label)
    event.run()
    await this.settle()
    return true
  }

  /**
   * Waits for all microtasks, by Node's own `setImmediate`: the global one is replaced. Then for the end of the turn, when
   * the memory that they have borrowed is overwritten.
   */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => realImmediate(resolve))
  }

  #choose(): Event | undefined {
    const queues = new Set<string>()
    const heads = this.#events.filter(({ queue, incarnation }) => {
      if (queue === undefined) return true
      const name = `${incarnation} ${queue}`
      if (queues.has(name)) return false
      queues.add(name)
      return true
    })
    const ready = heads.filter((event) => event.readyAtStep <= this.step)
    if (ready.length > 0) return this.random.pick(ready)
    return heads.sort((a, b) => a.readyAtStep - b.readyAtStep)[0]
  }
}
