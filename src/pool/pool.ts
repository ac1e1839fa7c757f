/**
 * The pending pool as the service holds it: the current state, the plan of a cycle, and the change to the next state.
 */
import { assert, type CycleColumns } from '../contract/index.js'
import { planCycle, type CyclePlan } from './plan.js'
import { emptyPool, stateProblem, type PoolState } from './state.js'
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

  /** What `cycle` would change if the store kept it at `position`. Changes nothing. */
  plan(cycle: CycleColumns, position: number): CyclePlan {
    const plan = planCycle(this.#state, this.#tombstones, cycle, position)
    const problem = stateProblem(plan.next)
    assert(problem === null, problem ?? '')
    return plan
  }

  /** Whether the post has left the pool in the last seven days, by cycle time. */
  hasTombstone(gallId: string, postNo: number): boolean {
    return this.#tombstones.has(gallId, postNo)
  }

  /** Makes the next state of a plan the current state. The plan must be one of the current state. */
  publish(plan: CyclePlan): void {
    assert(plan.base === this.#state, 'a plan is published to the state that it was made for')
    assert(plan.next.newestCycleMs >= plan.base.newestCycleMs, 'the newest cycle time never falls')
    this.#state = plan.next
    this.#tombstones.delete(plan.changes.entered)
    this.#tombstones.add(plan.changes.departed, plan.leftAtMs)
  }
}
