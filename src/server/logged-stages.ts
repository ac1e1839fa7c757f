/**
 * The stages of a cycle, with a line in the log when its turn comes: from there on it is finished and answered, even
 * when the service is told to end (decisions.md 40).
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
