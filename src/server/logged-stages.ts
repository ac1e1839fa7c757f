/**
 * The stage clock of a cycle, with a log line when the cycle leaves the queue: from there on it is finished and answered,
 * even when the service is shutting down (decisions.md 40).
 */
import { StageClock, type StageName } from '../cycle/index.js'

interface Log {
  debug(fields: object, message: string): void
}

export class LoggedStages extends StageClock {
  readonly #log: Log

  constructor(startedAtMs: number, log: Log) {
    super(startedAtMs)
    this.#log = log
  }

  override lap(stage: StageName): void {
    super.lap(stage)
    if (stage === 'wait') this.#log.debug({}, 'a cycle begins')
  }
}
