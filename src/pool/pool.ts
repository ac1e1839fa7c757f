/**
 * The pending pool as the service holds it: the current state, the plan of a cycle, and the change to the next state.
 */
import { Arena, assert, type CycleColumns } from '../contract/index.js'
import { planCycle, type CyclePlan } from './plan.js'
import { emptyPool, stateProblem, type PoolState } from './state.js'
import { Tombstones } from './tombstones.js'

export class Pool {
  #state: PoolState
  readonly #tombstones: Tombstones
  /** Holds the columns of the current state; null for a state that was loaded. */
  #arena: Arena | null = null

  constructor(state: PoolState = emptyPool, tombstones: Tombstones = new Tombstones()) {
    this.#state = state
    this.#tombstones = tombstones
  }

  /** Its columns may be read until the next cycle is published: not across an `await`. */
  get state(): PoolState {
    return this.#state
  }

  /**
   * What `cycle` would change if the store kept it at `position`. Changes nothing. The plan is valid while its `arena` is
   * held; the pool retains that of its current state.
   */
  plan(cycle: CycleColumns, position: number, arena = new Arena()): CyclePlan {
    const plan = planCycle(this.#state, this.#tombstones, cycle, position, arena)
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
    this.#state = plan.next
    plan.arena.retain()
    this.#arena?.release()
    this.#arena = plan.arena
    this.#tombstones.delete(plan.entries.entered)
    this.#tombstones.add(plan.entries.left, plan.leftAtMs)
  }
}
