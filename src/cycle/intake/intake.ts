/**
 * Intake of cycles: admits a call, decodes its body, and handles it as a repeat of a known cycle or as a new one. Read
 * `submit` first.
 */
import type { Codec } from '../../codec/index.js'
import { ServiceError, type CycleColumns } from '../../contract/index.js'
import type { Store, StoredRequest } from '../../store/index.js'
import { nextTurn } from '../next-turn.js'
import { packRequest, threadBytesMin, type RequestBody } from '../request-body.js'
import type { StageClock } from '../stage-clock.js'
import { AdmissionSemaphore, type Slot } from './admission-semaphore.js'
import { checkTimes } from './check-times.js'
import { expiredCycle, Idempotency } from './idempotency.js'
import { peekCycleId } from './peek-cycle-id.js'
import { Semaphore } from './semaphore.js'

export interface CycleLimits {
  /** How far in the future a `cycle_time` may be (decisions.md 4). */
  readonly clockSkewMs: number
  /** Cycles that wait behind the one in progress. */
  readonly cyclesWaitingMax: number
  /** Absent: the default of the contract. */
  readonly pendingPostsMax?: number
}

/** A call with a new, valid cycle. */
export interface NewCycle {
  readonly cycle: CycleColumns
  /** The body. It does not change while the call is in progress. */
  readonly json: Uint8Array
  /** The body as the store keeps it. The first call compresses a small one, and starts a thread for a large one. */
  readonly packed: () => Promise<StoredRequest>
  readonly receivedAtMs: number
  readonly stages: StageClock
}

export interface IntakeParts {
  readonly codec: Codec
  readonly store: Store
  /** Read for each call: they may change. */
  readonly limits: () => CycleLimits
  /** Called before the times of a cycle are checked. */
  readonly onTimes: (cycle: CycleColumns, nowMs: number, skewMs: number) => void
  /** Scores and stores a new cycle. */
  readonly score: (call: NewCycle) => Promise<Uint8Array>
}

/** Decoding a body of this size costs little: such a body needs no slot before its cycle is known to be new. */
const bytesWithoutSlotMax = 64 * 1024
/** Bodies that may wait to be decoded. The server bounds their bytes. */
const decodesWaitingMax = 256

export class Intake {
  readonly #parts: IntakeParts
  readonly #idempotency: Idempotency
  readonly #slots: AdmissionSemaphore
  /** One body is decoded per turn of the event loop: other requests are served in between. */
  readonly #decodeTurns = new Semaphore(1)

  constructor(parts: IntakeParts) {
    this.#parts = parts
    this.#idempotency = new Idempotency(parts.store)
    this.#slots = new AdmissionSemaphore(() => parts.limits().cyclesWaitingMax)
  }

  /**
   * Refuses a body while it arrives: throws `unavailable` when it would find no slot. `start`: its first bytes, empty
   * when they are compressed. `bytesMax`: how long the body may become.
   */
  admit(start: Uint8Array, bytesMax: number): void {
    const peekedId = peekCycleId(start)
    if (peekedId !== null && bytesMax > bytesWithoutSlotMax && !this.#mayEnter(peekedId))
      throw this.#slots.refusal()
  }

  /**
   * The response to the body of a cycle: computed, or the stored one. Throws `ServiceError`: 400, 409, 422, 503. When the
   * promise has settled, nothing depends on `body`.
   */
  async submit(body: RequestBody, receivedAtMs: number, stages: StageClock): Promise<Uint8Array> {
    const { json } = body
    const peekedId = peekCycleId(json)
    const flight = peekedId === null ? null : this.#idempotency.flightOf(peekedId, json)
    if (flight !== null) return this.#idempotency.join(flight, json)
    let slot: Slot | null = null
    let packing: Promise<StoredRequest> | null = null
    const packed = (): Promise<StoredRequest> => {
      return (packing ??= packRequest(body))
    }
    try {
      slot = this.#slotBeforeDecoding(peekedId, json.length)
      // A large body is compressed while it is decoded, a small one while the model computes.
      // It may fail before it is awaited.
      if (slot !== null && json.length >= threadBytesMin) packed().catch(() => undefined)
      const cycle = await this.#decode(json, receivedAtMs)
      stages.lap('decode')
      const { cycleId } = cycle
      const known = this.#idempotency.lookup(cycleId)
      if (known.kind === 'unknown') {
        slot = this.#slotFor(cycleId, slot)
        const response = this.#parts.score({ cycle, json, packed, receivedAtMs, stages })
        this.#idempotency.begin(cycleId, json, response)
        return await response
      }
      slot?.release()
      if (known.kind === 'expired') throw expiredCycle(cycleId)
      return await (known.kind === 'stored'
        ? this.#idempotency.replay(known.cycle, json)
        : this.#idempotency.join(known.flight, json))
    } finally {
      // The compression reads the body, also that of a refused cycle.
      await (packing as Promise<StoredRequest> | null)?.catch(() => undefined)
      slot?.release()
    }
  }

  async #decode(json: Uint8Array, receivedAtMs: number): Promise<CycleColumns> {
    if (this.#decodeTurns.waitingCount >= decodesWaitingMax)
      throw new ServiceError('unavailable', 'too many cycles are waiting to be decoded', { retryAfterS: 1 })
    await this.#decodeTurns.run(nextTurn)
    const cycle = await this.#parts.codec.readCycle(json)
    const skewMs = this.#parts.limits().clockSkewMs
    this.#parts.onTimes(cycle, receivedAtMs, skewMs)
    const problems = checkTimes(cycle, { nowMs: receivedAtMs, skewMs })
    if (problems !== null)
      throw problems.toError('unprocessable', 'the cycle is well-formed, but its times are wrong')
    return cycle
  }

  /** Of a large body with an unknown id; null for others. Throws before the decoding takes time from other cycles. */
  #slotBeforeDecoding(peekedId: string | null, bytes: number): Slot | null {
    if (peekedId === null || bytes <= bytesWithoutSlotMax) return null
    return this.#idempotency.lookup(peekedId).kind === 'unknown' ? this.#slots.acquire(peekedId) : null
  }

  /** A repeat of a known cycle needs no slot. */
  #mayEnter(peekedId: string): boolean {
    return this.#slots.canAcquire(peekedId) || this.#idempotency.lookup(peekedId).kind !== 'unknown'
  }

  /** The slot of a new cycle. The one that its body has is for the peeked id, which may be another one. */
  #slotFor(cycleId: string, slot: Slot | null): Slot {
    if (slot?.cycleId === cycleId) return slot
    slot?.release()
    return this.#slots.acquire(cycleId)
  }
}
