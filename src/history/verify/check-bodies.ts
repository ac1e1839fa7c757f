/**
 * Checks request bodies without a server, by the server's own code up to the plan, and against a store says what each cycle
 * would do to its pool. Bodies are applied in order to a copy in memory; nothing is stored. Read `check` first.
 */
import { readCycle, runBodyTask } from '../../codec/index.js'
import {
  formatInstant,
  outcome,
  outcomeCodes,
  removalReasonCodes,
  tierCodes,
  warningText,
  type CycleColumns,
  type PostKey,
  type WeightsRequest,
} from '../../contract/index.js'
import { changeWeights, loadPool, PlanOnly } from '../../cycle/index.js'
import {
  gallIdAt,
  weightsInForce,
  type CyclePlan,
  type Pool,
  type PostKeys,
  type WeightsSetting,
} from '../../pool/index.js'
import type { Store } from '../../store/index.js'

export interface BodyCheckerOptions {
  /** Time of the service's clock when a body arrives. */
  readonly nowMs: number
  readonly clockSkewMs: number
  readonly pendingPostsMax: number
  /** Without a store, only the bodies themselves are checked. */
  readonly store: Store | null
}

export type BodyKind = BodyEffect['kind']

/** What the server would do with a valid body. */
export type BodyEffect =
  | { readonly kind: 'outcomes'; readonly outcomes: number }
  | { readonly kind: 'weights'; readonly version: string; readonly first_cycle_time: string | null }
  | CycleEffect

export interface CycleEffect {
  readonly kind: 'cycle'
  readonly cycle_id: string
  /** Rows received. */
  readonly candidates: number
  readonly engagement: number
  readonly candidate_scores: number
  readonly removals: number
  /** repeat: the id is known with this body, and the server returns its stored response. Null without a store. */
  readonly effect: 'new' | 'repeat' | null
  /** Effect of a new cycle. */
  readonly change: PoolEffect | null
}

/** What a new cycle does to the pool. */
export interface PoolEffect {
  /** An older cycle than the newest one that is stored. */
  readonly late: boolean
  readonly weights_version: string | null
  readonly pending_before: number
  readonly pending_after: number
  readonly entering: readonly PostKey[]
  readonly leaving: readonly (PostKey & {
    readonly reason: string
    readonly tier: string | null
    readonly decided_at: string
  })[]
  readonly scored: readonly PostKey[]
  /** Pending posts without a reading in this call. */
  readonly waiting: readonly PostKey[]
  readonly not_scored: readonly (PostKey & { readonly reason: string })[]
  /** Warnings of the response that follow from the request. */
  readonly warnings: readonly string[]
}

/** Reads and applies bodies in order. */
export class BodyChecker {
  readonly #options: BodyCheckerOptions
  readonly #pool: Pool | null
  /** Weights of the store, and those of this run, as if they were stored after them. */
  readonly #weights: WeightsSetting[]
  readonly #cycles: PlanOnly

  /** Loads the pool of the store. */
  static async open(options: BodyCheckerOptions): Promise<BodyChecker> {
    const { store } = options
    // `understudy verify` reports what is damaged.
    const log = { warn: () => undefined }
    return new BodyChecker(options, store && (await loadPool({ store, log })).pool)
  }

  private constructor(options: BodyCheckerOptions, pool: Pool | null) {
    const { store } = options
    this.#options = options
    this.#pool = pool
    this.#weights = [...(store?.listWeights() ?? [])]
    const { clockSkewMs, pendingPostsMax } = options
    this.#cycles = new PlanOnly({
      store,
      pool,
      limits: { clockSkewMs, pendingPostsMax, cyclesWaitingMax: 0 },
    })
  }

  /** What the server would do with a body. Rejects with the `ServiceError` of the server. */
  async check(json: Uint8Array, kind: BodyKind): Promise<BodyEffect> {
    if (kind === 'cycle') return this.#checkCycle(json)
    if (kind === 'weights') return this.#checkWeights(await runBodyTask(kind, [json]))
    return { kind, outcomes: (await runBodyTask(kind, [json])).length }
  }

  async #checkCycle(json: Uint8Array): Promise<CycleEffect> {
    const planned = await this.#cycles.submit(json, this.#options.nowMs)
    const cycle = planned?.cycle ?? (await readCycle(json))
    const { cycleId, candidates, engagement, candidateScores, removals } = cycle
    const received = {
      kind: 'cycle' as const,
      cycle_id: cycleId,
      candidates: candidates.count,
      engagement: engagement.count,
      candidate_scores: candidateScores.count,
      removals: removals.count,
    }
    if (this.#pool === null) return { ...received, effect: null, change: null }
    const plan = planned?.plan ?? null
    if (plan === null) return { ...received, effect: 'repeat', change: null }
    return { ...received, effect: 'new', change: this.#changeOf(cycle, plan) }
  }

  #changeOf(cycle: CycleColumns, plan: CyclePlan): PoolEffect {
    const { base, next, changes } = plan
    return {
      late: cycle.cycleAt.ms < base.newestCycleMs,
      weights_version: weightsInForce(this.#weights, cycle.cycleAt.ms)?.version ?? null,
      pending_before: base.count,
      pending_after: next.count,
      entering: Array.from(changes.entered.postNo, (_, row) => keyAt(changes.entered, row)),
      leaving: leavingPosts(cycle, plan),
      ...results(cycle, plan),
      warnings: plan.warnings.map(warningText),
    }
  }

  #checkWeights(request: WeightsRequest): BodyEffect {
    const { nowMs, store } = this.#options
    const newestCycleMs = this.#pool?.state.newestCycleMs ?? -Infinity
    const note = request.note ?? ''
    const { kind, setting } = changeWeights(this.#weights, { ...request, note }, { nowMs, newestCycleMs })
    if (kind === 'appended') this.#weights.push(setting)
    const first = store === null ? null : formatInstant(setting.firstCycleMs)
    return { kind: 'weights', version: request.version, first_cycle_time: first }
  }
}

function leavingPosts({ removals }: CycleColumns, { changes }: CyclePlan): PoolEffect['leaving'] {
  return Array.from(changes.departedRows, (row, index) => ({
    ...keyAt(changes.departed, index),
    reason: removalReasonCodes[removals.reason[row]!] ?? '',
    tier: tierCodes[removals.tier[row]!] ?? null,
    decided_at: formatInstant(removals.decidedAtMs[row]!),
  }))
}

function results(
  { galleries, engagement }: CycleColumns,
  { next, outcomes, unknownRows }: CyclePlan,
): Pick<PoolEffect, 'scored' | 'waiting' | 'not_scored'> {
  const scored: PostKey[] = []
  const waiting: PostKey[] = []
  const notScored: (PostKey & { reason: string })[] = []
  for (let slot = 0; slot < next.count; slot++) {
    const code = outcomes[slot]!
    if (code === outcome.scored) scored.push(keyAt(next, slot))
    else if (code === outcome.waiting) waiting.push(keyAt(next, slot))
    else notScored.push({ ...keyAt(next, slot), reason: outcomeCodes[code]?.reason ?? '' })
  }
  for (const row of unknownRows)
    notScored.push({ ...keyAt({ galleries, ...engagement }, row), reason: 'unknown_post' })
  return { scored, waiting, not_scored: notScored }
}

function keyAt(posts: PostKeys, row: number): PostKey {
  return { gall_id: gallIdAt(posts, row), post_no: posts.postNo[row]! }
}

/** The kind of a body by its members; a cycle if they are ambiguous. */
export function kindOfBody(json: Uint8Array): BodyKind {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.length).toString())
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return 'cycle'
  }
  const has = (member: string): boolean => typeof value === 'object' && value !== null && member in value
  if (has('cycle_id') || has('cycle_time')) return 'cycle'
  if (has('outcomes')) return 'outcomes'
  return has('weights') ? 'weights' : 'cycle'
}
