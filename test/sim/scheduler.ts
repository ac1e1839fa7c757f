/**
 * Who goes next. Everything in a simulated run that could happen now or later is an event of this scheduler, and the
 * seed decides the order: one event, then all microtasks that follow from it, then the next. A crash of the service
 * is that its events never happen.
 */
import { setImmediate as realImmediate } from 'node:timers'
import type { Random } from '../fuzz/random.js'

/** Life of the clients and of the driver: no crash of the service ends it. */
export const clientLife = 0

export interface EventOptions {
  readonly label: string
  readonly life: number
  /** Events of one queue happen in the order in which they were added; of others in any. */
  readonly queue?: string
  /** Steps to let pass first, while there is anything else to do. */
  readonly delaySteps?: number
}

interface Event extends EventOptions {
  readonly readyAtStep: number
  readonly run: () => void
}

export class Scheduler {
  readonly random: Random
  /** FNV-1a over the labels of all steps: two runs with the same sum went the same way. */
  traceSum = 0x811c9dc5
  /** The last steps, for a report. */
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

  count(life: number): number {
    return this.#events.reduce((sum, event) => sum + (event.life === life ? 1 : 0), 0)
  }

  /** Nothing of this life happens any more. */
  end(life: number): void {
    this.#events = this.#events.filter((event) => event.life !== life)
  }

  note(text: string): void {
    for (let i = 0; i < text.length; i++)
      this.traceSum = Math.imul(this.traceSum ^ text.charCodeAt(i), 0x01000193) >>> 0
    this.lastSteps.push(`${this.step} ${text}`)
    if (this.lastSteps.length > 40) this.lastSteps.shift()
  }

  /** Runs one event and what follows from it at once. False when there is none. */
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

  /** After an immediate, all microtasks have run. Not the global one, which is replaced. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => realImmediate(resolve))
  }

  #choose(): Event | undefined {
    const queues = new Set<string>()
    const heads = this.#events.filter(({ queue, life }) => {
      if (queue === undefined) return true
      const name = `${life} ${queue}`
      if (queues.has(name)) return false
      queues.add(name)
      return true
    })
    const ready = heads.filter((event) => event.readyAtStep <= this.step)
    if (ready.length > 0) return this.random.pick(ready)
    return heads.sort((a, b) => a.readyAtStep - b.readyAtStep)[0]
  }
}
