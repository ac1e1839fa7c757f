/**
 * The service up to the plan, for bodies that are only checked (`understudy check`): its intake and its plan, over the cycles
 * of a store and those of this run. Nothing is scored, and nothing stored.
 */
import { pendingPostsMax, type CycleColumns } from '../contract/index.js'
import type { CyclePlan, Pool } from '../pool/index.js'
import type { Position, Store, StoredCycle, StoredRequest } from '../store/index.js'
import {
  Intake,
  RequestBody,
  type AnsweredCycle,
  type CycleLimits,
  type CycleReader,
} from './intake/index.js'
import { planNewCycle } from './pipeline.js'
import { StageClock } from './stage-clock.js'

export interface PlanOnlyParts {
  /** null: there are no other cycles than those of this run. */
  readonly store: Store | null
  /** As `loadPool` returns it; null: cycles are not planned. */
  readonly pool: Pool | null
  readonly limits: CycleLimits
}

/** A new cycle, which is now known. */
export interface PlannedBody {
  readonly cycle: CycleColumns
  /** null without a pool. */
  readonly plan: CyclePlan | null
}

export class PlanOnly {
  readonly #parts: PlanOnlyParts
  readonly #intake: Intake
  readonly #cycles = new Map<string, StoredCycle>()
  readonly #requests = new Map<Position, StoredRequest>()
  #lastPosition: Position
  #planned: PlannedBody | null = null

  constructor(parts: PlanOnlyParts) {
    this.#parts = parts
    this.#lastPosition = parts.store?.lastCycle()?.position ?? 0
    this.#intake = new Intake({
      store: this.#records(),
      limits: () => parts.limits,
      onTimes: () => undefined,
      score: async ({ cycle, packed }) => {
        const plan = this.#plan(cycle)
        this.#planned = { cycle, plan }
        return this.#keep(cycle, await packed())
      },
    })
  }

  /** One body after the other. Null: a repeat of a known cycle. Rejects with the `ServiceError` of the service. */
  async submit(json: Uint8Array, nowMs: number): Promise<PlannedBody | null> {
    this.#planned = null
    await this.#intake.submit(new RequestBody(json), nowMs, new StageClock(0))
    return this.#planned
  }

  #plan(cycle: CycleColumns): CyclePlan | null {
    const { pool, limits } = this.#parts
    if (pool === null) return null
    const plan = planNewCycle(pool, cycle, limits.pendingPostsMax ?? pendingPostsMax)
    pool.publish(plan)
    return plan
  }

  #keep({ cycleId, cycleAt }: CycleColumns, request: StoredRequest): AnsweredCycle {
    const position = ++this.#lastPosition
    const labels = { receivedAt: '', modelVersion: '', weightsVersion: '' }
    const cycle = { position, cycleId, cycleAtMs: cycleAt.ms, ...labels }
    this.#cycles.set(cycleId, cycle)
    this.#requests.set(position, request)
    return { cycle, response: noResponse }
  }

  #records(): CycleReader {
    const { store } = this.#parts
    return {
      findCycle: (cycleId) => this.#cycles.get(cycleId) ?? store?.findCycle(cycleId),
      readRequest: (position) => this.#requests.get(position) ?? store?.readRequest(position),
      readResponse: (cycleId) => (this.#cycles.has(cycleId) ? noResponse : store?.readResponse(cycleId)),
      expiry: { isExpired: (cycleId) => store?.expiry.isExpired(cycleId) ?? false },
    }
  }
}

const noResponse = new Uint8Array()
