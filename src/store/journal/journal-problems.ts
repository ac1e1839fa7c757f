/**
 * What keeps a process of an environment from using the journal, as health, readiness and metrics report it.
 */
import { firstLineOf, type Log, messageOf } from '../../base/index.js'
import { StoreError } from '../store-error.js'
import type { Journal, Refusal } from './journal.js'

export class JournalProblems {
  readonly #log: Log
  /** What the last use of the journal ended with; null: it succeeded. */
  #lastUse: string | null = null
  /** Why the last takeover failed; null: another one can succeed. */
  #takeover: string | null = null
  /** What the server has refused since the last commit. */
  #refusal: Refusal | null = null

  constructor(log: Log) {
    this.#log = log
  }

  /** Null: there is none. */
  get message(): string | null {
    return this.#lastUse ?? this.#takeover ?? this.#refusal?.message ?? null
  }

  get hasLastUseFailed(): boolean {
    return this.#lastUse !== null
  }

  get hasTakeoverFailed(): boolean {
    return this.#takeover !== null
  }

  get refusesAllWrites(): boolean {
    return this.#refusal?.isOfAllWrites === true
  }

  useSucceeded(): void {
    if (this.#lastUse !== null) this.#log.info({}, 'journal available again')
    this.#lastUse = null
  }

  useFailed(error: unknown): void {
    const problem = messageOf(error)
    if (problem !== this.#lastUse) this.#log.warn({ err: error }, 'journal unavailable; retrying')
    this.#lastUse = problem
  }

  takeoverFailed(error: unknown): void {
    this.#takeover = `an attempt to become the owner failed: ${firstLineOf(error)}`
  }

  takeoverCanSucceed(): void {
    this.#takeover = null
  }

  writeRefused(refusal: Refusal): void {
    this.#log.error({ err: refusal }, 'the journal refused a write; nothing of it was stored')
    this.#refusal = refusal
  }

  /** Called after a commit, or when this process is no owner. */
  endRefusal(): void {
    this.#refusal = null
  }

  /** A refusal of all writes is over once nothing prevents them. Throws a StoreError that names it otherwise. */
  async checkRefusal(journal: Pick<Journal, 'state'>): Promise<void> {
    const { problem } = await journal.state()
    if (problem !== null) throw new StoreError('unusable', problem)
    this.#refusal = null
  }
}
