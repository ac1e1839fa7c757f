/**
 * The pending pool as the service holds it: the current state, what a cycle would change, and the change itself.
 */
import type { CycleColumns } from '../contract/index.js'
import { planCycle, type CyclePlan } from './plan.js'
import { emptyPool, type PoolState } from './state.js'
import { Tombstones } from './tombstones.js'

export class Pool {
  #state: PoolState
  readonly #tombstones: Tombstones

  constructor(state: PoolState = emptyPool, tombstones: Tombstones = new Tombstones()) {
    this.#state = state
    this.#tombstones = tombstones
  }

  get state(): PoolState {
    return this.#state
  }

  /** What `cycle` would change, were it stored at `position`. Changes nothing. */
  plan(cycle: CycleColumns, position: number): CyclePlan {
    return planCycle(this.#state, this.#tombstones, cycle, position)
  }

  /** Makes a plan of the current state the current state. */
  publish(plan: CyclePlan): void {
    if (plan.base !== this.#state) throw new Error('a plan of another state cannot be published')
    this.#state = plan.next
    this.#tombstones.revive(plan.entries.entered)
    this.#tombstones.bury(plan.entries.left, plan.leftAtMs)
  }
}
