/**
 * The log of one cycle: a line when it leaves the queue, and the members of its request line. It contains neither titles
 * nor other texts of a body.
 */
import type { Log } from '../base/index.js'
import type { StageName } from '../contract/index.js'
import { StageClock } from '../cycle/index.js'

export class CycleLog extends StageClock {
  #cycleId: string | null = null
  readonly #log: Log

  constructor(startedAtMs: number, log: Log) {
    super(startedAtMs)
    this.#log = log
  }

  /** The whole body has arrived. Null: it has no id where one is expected. */
  received(cycleId: string | null): void {
    this.lap('receive')
    this.#cycleId = cycleId
  }

  /** Null if the body has none, or was not received. */
  get cycleId(): string | null {
    return this.#cycleId
  }

  /** From the end of `wait` on, a cycle is finished and its response sent, even during a shutdown. */
  override lap(stage: StageName): void {
    super.lap(stage)
    if (stage === 'wait') this.#log.debug({}, 'cycle started')
  }

  /** Members of the request's log line: counts, warnings and versions of a new cycle, and the stages. */
  fields(): object {
    const stages_ms = stagesMs(this)
    if (this.summary === null) return { cycle_id: this.#cycleId ?? undefined, stages_ms }
    const { cycleId, counts, warnings, modelVersion, weightsVersion } = this.summary
    const { scored_now, waiting, not_scored, candidates, engagement, candidate_scores, removals } = counts
    return {
      cycle_id: cycleId,
      scored: scored_now,
      waiting,
      not_scored,
      candidates,
      engagement,
      candidate_scores,
      removals,
      warnings: warnings.length,
      warning_kinds: [...new Set(warnings.map(({ code }) => code))],
      model_version: modelVersion,
      weights_version: weightsVersion,
      stages_ms,
    }
  }
}

/** The stages that have ended. */
export function stagesMs({ ms }: StageClock): Record<string, number> {
  return Object.fromEntries([...ms].map(([stage, time]) => [stage, roundedMs(time)]))
}

/** Milliseconds with microseconds. */
export function roundedMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
