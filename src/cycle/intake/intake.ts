/**
 * Intake of cycles: admits a call, decodes its body, and handles it as a repeat of a known cycle or as a new one. Read
 * `submit` first.
 */
import { kibibyte, Semaphore } from '../../base/index.js'
import type { Codec } from '../../codec/index.js'
import { ServiceError, type CycleColumns } from '../../contract/index.js'
import type { Store } from '../../store/index.js'
import { nextTurn } from '../next-turn.js'
import { packRequest, threadBytesMin, type PackedRequest, type RequestBody } from '../request-body.js'
import type { StageClock } from '../stage-clock.js'
import { AdmissionSemaphore, type CallSlot } from './admission-semaphore.js'
import { checkTimes } from './check-times.js'
import { expiredCycle, Idempotency, type Flight, type KnownCycle } from './idempotency.js'
import { peekCycleId } from './peek-cycle-id.js'

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
  /** The body as the store keeps it. The first call compresses and hashes a small one, and starts threads for a large one. */
  readonly packed: () => Promise<PackedRequest>
  readonly receivedAtMs: number
  readonly stages: StageClock
}

export interface IntakeCounts {
  /** Cycles that hold a slot. */
  readonly slots: number
  readonly decoding: number
  readonly comparing: number
  /** Calls that wait for a cycle in progress with the same id. */
  readonly coalesced: number
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
const bytesWithoutSlotMax = 64 * kibibyte
/** Bodies that may wait to be decoded. The server bounds their bytes. */
const decodesWaitingMax = 256

export class Intake {
  readonly #parts: IntakeParts
  readonly #idempotency: Idempotency
  readonly #slots: AdmissionSemaphore
  /** One body is decoded per turn of the event loop: other requests are served in between. */
  readonly #decodeTurns = new Semaphore(1, {
    waitingMax: decodesWaitingMax,
    refusal: () =>
      new ServiceError('unavailable', 'too many cycles are waiting to be decoded', { retryAfterS: 1 }),
  })

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
   * promise has settled, nothing depends on `body`. When `signal` is aborted, because the client has disconnected, the call
   * leaves the queue in which it waits; a new cycle that has a slot is completed.
   */
  async submit(
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    const { json } = body
    const peekedId = peekCycleId(json)
    const flight = peekedId === null ? null : this.#idempotency.flightOf(peekedId)
    if (flight !== null && Buffer.compare(flight.body, json) === 0)
      return this.#idempotency.join(flight, signal)
    const slot = this.#slots.open()
    const packing = new RequestPacking(body)
    try {
      this.#acquireBeforeDecoding(slot, peekedId, json.length)
      // A large body is compressed while it is decoded, a small one while the model computes.
      if (slot.isHeld && json.length >= threadBytesMin) packing.start()
      const cycle = await this.#decode(json, signal)
      stages.lap('decode')
      const known = this.#idempotency.lookup(cycle.cycleId)
      if (known.kind === 'unknown') {
        this.#checkTimes(cycle, receivedAtMs)
        slot.acquire(cycle.cycleId)
        const packed = (): Promise<PackedRequest> => packing.packed()
        const response = this.#parts.score({ cycle, json, packed, receivedAtMs, stages })
        this.#idempotency.begin(cycle.cycleId, json, response)
        return await response
      }
      slot.release()
      return await this.#repeat(known, flight, cycle, json, signal)
    } finally {
      // The compression reads the body, also that of a refused cycle.
      await packing.settled()
      slot.release()
    }
  }

  /** Calls that hold a slot or wait, by what they wait for. */
  get counts(): IntakeCounts {
    return {
      slots: this.#slots.heldCount,
      decoding: this.#decodeTurns.count,
      comparing: this.#idempotency.comparingCount,
      coalesced: this.#idempotency.coalescedCount,
    }
  }

  /** `compared`: a flight whose body has other bytes. */
  async #repeat(
    known: Exclude<KnownCycle, { kind: 'unknown' }>,
    compared: Flight | null,
    { cycleId }: CycleColumns,
    json: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    if (known.kind === 'expired') throw expiredCycle(cycleId)
    if (known.kind === 'stored') return this.#idempotency.replay(known.cycle, json, signal)
    const { flight } = known
    const isSame = flight !== compared && Buffer.compare(flight.body, json) === 0
    return isSame ? this.#idempotency.join(flight, signal) : this.#idempotency.joinOther(flight, json, signal)
  }

  async #decode(json: Uint8Array, signal: AbortSignal | undefined): Promise<CycleColumns> {
    await this.#decodeTurns.run(nextTurn, signal)
    return this.#parts.codec.readCycle(json, signal)
  }

  /** Only for an id that is not stored: a repeat gets its response whatever the clock says. */
  #checkTimes(cycle: CycleColumns, receivedAtMs: number): void {
    const skewMs = this.#parts.limits().clockSkewMs
    this.#parts.onTimes(cycle, receivedAtMs, skewMs)
    const problems = checkTimes(cycle, { nowMs: receivedAtMs, skewMs })
    if (problems !== null)
      throw problems.toError('unprocessable', 'the cycle is well-formed, but its times are wrong')
  }

  /** A slot for a large body with an unknown id. Throws before the decoding takes time from other cycles. */
  #acquireBeforeDecoding(slot: CallSlot, peekedId: string | null, bytes: number): void {
    if (peekedId === null || bytes <= bytesWithoutSlotMax) return
    if (this.#idempotency.lookup(peekedId).kind === 'unknown') slot.acquire(peekedId)
  }

  /** A repeat of a known cycle needs no slot. */
  #mayEnter(peekedId: string): boolean {
    return this.#slots.canAcquire(peekedId) || this.#idempotency.lookup(peekedId).kind !== 'unknown'
  }
}

/** The compression of a body for the store, started at most once. */
class RequestPacking {
  readonly #body: RequestBody
  #packed: Promise<PackedRequest> | null = null

  constructor(body: RequestBody) {
    this.#body = body
  }

  start(): void {
    // It may fail before it is awaited.
    this.packed().catch(() => undefined)
  }

  packed(): Promise<PackedRequest> {
    return (this.#packed ??= packRequest(this.#body))
  }

  /** Resolves when the body is no longer read. */
  async settled(): Promise<void> {
    await this.#packed?.catch(() => undefined)
  }
}
