/**
 * Saves the pool: every few cycles after a response has been sent, while no cycle is in progress if possible,
 * and at shutdown. A failure costs time at the next start, and nothing else. Logs the head of the chain
 * of hashes each time and once a day: where the logs go, it proves later what the data directory was.
 */
import { dayMs, nextTurn, type Log } from '../../base/index.js'
import type { PoolState } from '../../pool/index.js'
import type { Position, Store } from '../../store/index.js'
import { packPool } from './saved-pool.js'

export interface PoolSaverParts {
  readonly store: Store
  /** The saved pool that was loaded; 0: none. */
  readonly loaded: Position
  /** The pool after the newest cycle. */
  readonly state: () => PoolState
  /** True while no cycle is in progress or waits. */
  readonly isIdle: () => boolean
  readonly log: Pick<Log, 'error' | 'info'>
}

/**
 * The pool is saved after this many cycles if the service is idle, and after `cyclesMax` in any case. Planning a cycle
 * again takes 10 to 30 ms at 5,000 posts, and a save 2 ms of the event loop.
 */
const cyclesMin = 6
const cyclesMax = 8

export class PoolSaver {
  readonly #parts: PoolSaverParts
  /** The newest saved pool that is known to be good: others that the store has may be damaged. */
  #good: Position
  #writing: Promise<void> | null = null
  readonly #daily = setInterval(() => this.#logHead(), dayMs).unref()

  constructor(parts: PoolSaverParts) {
    this.#parts = parts
    this.#good = parts.loaded
  }

  /** At startup, and when a cycle is stored. Returns immediately; the work runs in a later turn of the event loop. */
  wake(): void {
    this.#writing ??= this.#writeIfDue()
  }

  /** Resolves when a saved pool contains the cycle at `position`. Rejects when it cannot be written. */
  async cover(position: Position): Promise<void> {
    if (this.#newest() < position) await this.#write()
  }

  /** Resolves when nothing is being saved. */
  async done(): Promise<void> {
    await this.#writing
  }

  /** Saves the pool for the last time, so that the next start plans nothing again. */
  async close(): Promise<void> {
    clearInterval(this.#daily)
    const { store, state } = this.#parts
    await this.#writing
    if (store.closed || !store.mayWrite || state().position <= this.#newest()) return
    await this.#write().catch((error: unknown) => this.#failed(error))
  }

  /** Never rejects: it logs a failure. */
  async #writeIfDue(): Promise<void> {
    const { store, state, isIdle } = this.#parts
    try {
      await nextTurn()
      if (store.closed || !store.mayWrite) return
      // Most cycles need not read the store. The pool is behind the saved one if the store was replaced by an earlier one.
      if (Math.abs(state().position - this.#good) < cyclesMin) return
      const cycles = state().position - this.#newest()
      if (cycles >= cyclesMax || (cycles >= cyclesMin && isIdle())) await this.#write()
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#writing = null
    }
  }

  #failed(error: unknown): void {
    const { store, log } = this.#parts
    if (!store.closed) log.error({ err: error }, 'the pool could not be saved')
  }

  /** 0 also when the store has been replaced by what others have written. */
  #newest(): Position {
    return this.#parts.store.savedPools().includes(this.#good) ? this.#good : 0
  }

  async #write(): Promise<void> {
    const state = this.#parts.state()
    await this.#parts.store.savePool(state.position, packPool(state), this.#newest())
    this.#good = state.position
    this.#logHead()
  }

  #logHead(): void {
    const { store, log } = this.#parts
    if (store.closed || !store.mayWrite) return
    try {
      const head = store.chainHead()
      if (head !== undefined)
        log.info({ position: head.position, head: head.hash }, 'head of the chain of hashes')
    } catch (error) {
      log.error({ err: error }, 'the head of the chain of hashes cannot be read')
    }
  }
}
