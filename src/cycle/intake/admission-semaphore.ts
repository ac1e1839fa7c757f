/**
 * The admission semaphore of cycles: one slot for the cycle in progress, and one for each cycle that may wait behind it.
 * Calls with the same cycle id share a slot. A call without a slot is refused, never queued.
 */
import { assert, RetrySchedule, ServiceError } from '../../contract/index.js'

export class AdmissionSemaphore {
  readonly #waitingMax: () => number
  readonly #retrySchedule = new RetrySchedule()
  /** Calls that hold a slot, by the cycle id of the slot. */
  readonly #holderCounts = new Map<string, number>()
  #releasedAtMs = 0

  /** `waitingMax`, which may change: cycles that wait behind the one in progress. */
  constructor(waitingMax: () => number) {
    this.#waitingMax = waitingMax
  }

  /** Slots that are held, each by one or more calls. */
  get heldCount(): number {
    return this.#holderCounts.size
  }

  /** True when `acquire` would succeed now. */
  canAcquire(cycleId: string): boolean {
    return this.#holderCounts.size <= this.#waitingMax() || this.#holderCounts.has(cycleId)
  }

  /** The slot of one call, which releases it when its work ends. */
  open(): CallSlot {
    return new CallSlot(this)
  }

  /** For a `CallSlot`. Throws `unavailable` when no slot is free. */
  hold(cycleId: string): HeldSlot {
    if (!this.canAcquire(cycleId)) throw this.refusal()
    this.#holderCounts.set(cycleId, (this.#holderCounts.get(cycleId) ?? 0) + 1)
    return { cycleId, acquiredAtMs: performance.now() }
  }

  /** For the `CallSlot` that holds it. */
  release({ cycleId, acquiredAtMs }: HeldSlot): void {
    const holderCount = this.#holderCounts.get(cycleId) ?? 0
    assert(holderCount > 0, 'a slot that is released is held')
    if (holderCount > 1) {
      this.#holderCounts.set(cycleId, holderCount - 1)
      return
    }
    this.#holderCounts.delete(cycleId)
    const nowMs = performance.now()
    this.#retrySchedule.recordWork(nowMs - Math.max(acquiredAtMs, this.#releasedAtMs))
    this.#releasedAtMs = nowMs
  }

  /** 503 with the time after which to try again. */
  refusal(): ServiceError {
    const retryAfterS = this.#retrySchedule.reserve(this.#holderCounts.size, this.#waitingMax() + 1)
    return new ServiceError({ code: 'too_many_cycles' }, { retryAfterS })
  }
}

interface HeldSlot {
  readonly cycleId: string
  readonly acquiredAtMs: number
}

/** The slot of one call, which holds at most one. */
export class CallSlot {
  readonly #slots: AdmissionSemaphore
  #held: HeldSlot | null = null

  constructor(slots: AdmissionSemaphore) {
    this.#slots = slots
  }

  get isHeld(): boolean {
    return this.#held !== null
  }

  /** Holds a slot for this cycle, and no longer one for another cycle. Throws `unavailable` when no slot is free. */
  acquire(cycleId: string): void {
    if (this.#held?.cycleId === cycleId) return
    this.release()
    this.#held = this.#slots.hold(cycleId)
  }

  /** Idempotent. */
  release(): void {
    if (this.#held !== null) this.#slots.release(this.#held)
    this.#held = null
  }
}
