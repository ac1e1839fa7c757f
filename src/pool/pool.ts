/**
 * The pending pool as the service holds it: the current state, what a cycle would change, and the change itself.
 */
import type { CycleColumns } from '../contract/index.js'
import { ColumnMemory } from './column-memory.js'
import { planCycle, type CyclePlan } from './plan.js'
import { emptyPool, type PoolState } from './state.js'
import { Tombstones } from './tombstones.js'

export class Pool {
  #state: PoolState
  readonly #tombstones: Tombstones
  /** Blocks of the current state and of the one before it, which no one uses any more. */
  #memory: ColumnMemory | null = null
  #spare: ColumnMemory | null = null
  readonly #plans = new WeakMap<CyclePlan, ColumnMemory>()

  constructor(state: PoolState = emptyPool, tombstones: Tombstones = new Tombstones()) {
    this.#state = state
    this.#tombstones = tombstones
  }

  get state(): PoolState {
    return this.#state
  }

  /**
   * What `cycle` would change, were it stored at `position`. Changes nothing. A plan that is not published may be used
   * until the pool is garbage; one that is, until the plan after the next: then the memory of its columns, slots and
   * rows is used again. Keys that left or entered stay.
   */
  plan(cycle: CycleColumns, position: number): CyclePlan {
    const memory = this.#spare ?? new ColumnMemory()
    this.#spare = null
    memory.reset()
    const plan = planCycle(this.#state, this.#tombstones, cycle, position, memory)
    this.#plans.set(plan, memory)
    return plan
  }

  /** Whether the post has left the pool in the last seven days, by cycle time. */
  remembers(gallId: string, postNo: number): boolean {
    return this.#tombstones.has(gallId, postNo)
  }

  /** Makes a plan of the current state the current state. */
  publish(plan: CyclePlan): void {
    if (plan.base !== this.#state) throw new Error('a plan of another state cannot be published')
    this.#state = plan.next
    this.#spare = this.#memory
    this.#memory = this.#plans.get(plan) ?? null
    this.#tombstones.revive(plan.entries.entered)
    this.#tombstones.bury(plan.entries.left, plan.leftAtMs)
  }
}
