/**
 * Intake of cycles: recognises a repeat by its bytes; otherwise decodes the body, and handles it as a repeat of a known
 * cycle or as a new one. Read `submit` first.
 */
import { kibibyte, mebibyte, nextTurn, RecentBytes, Semaphore } from '../../base/index.js'
import { readCycle } from '../../codec/index.js'
import { assert, RetrySchedule, ServiceError, type CycleColumns } from '../../contract/index.js'
import type { Position, StoredCycle } from '../../store/index.js'
import type { StageClock } from '../stage-clock.js'
import { checkTimes } from './check-times.js'
import { KnownCycles, type CycleReader } from './known-cycles.js'
import {
  packRequest,
  peekCycleId,
  threadBytesMin,
  type PackedRequest,
  type RequestBody,
} from './request-body.js'
import type { AnsweredCycle } from './stored-responses.js'

export interface CycleLimits {
  /** How far in the future a `cycle_time` may be. */
  readonly clockSkewMs: number
  /** Cycles that wait behind the one in progress. A further one is refused, never queued. */
  readonly cyclesWaitingMax: number
  /** Absent: the default of the contract. */
  readonly pendingPostsMax?: number
}

/** A call with a new, valid cycle. */
export interface NewCycle {
  readonly cycle: CycleColumns
  /** It does not change while the call is in progress. */
  readonly body: RequestBody
  /** The body as the store keeps it. The first call compresses a small one, and starts a thread for a large one. */
  readonly packed: () => Promise<PackedRequest>
  readonly receivedAtMs: number
  readonly stages: StageClock
}

export interface IntakeParts {
  readonly store: CycleReader
  /** Read for each call: they may change. */
  readonly limits: () => CycleLimits
  /** Called before the times of a cycle are checked. */
  readonly onTimes: (cycle: CycleColumns, nowMs: number, skewMs: number) => void
  /** Scores and stores a new cycle. */
  readonly score: (call: NewCycle) => Promise<AnsweredCycle>
}

/** Decoding a larger body takes time from other cycles: it is refused before if its cycle would be. */
const smallBytesMax = 64 * kibibyte
/** For the bodies that arrived last. */
const repeatedBytesMax = 16 * mebibyte

export class Intake {
  readonly #parts: IntakeParts
  readonly #known: KnownCycles
  /** Bodies that have repeated a cycle, and gzip that was a new one, as they arrived. */
  readonly #repeated = new RecentBytes<{ readonly cycle: StoredCycle; readonly isGzip: boolean }>(
    repeatedBytesMax,
  )
  readonly #retrySchedule = new RetrySchedule()
  /** When the last cycle ended. */
  #endedAtMs = 0
  #isUsed = false
  /** One body is decoded per turn of the event loop: other requests are served in between. */
  readonly #decodeTurns = new Semaphore(1)

  constructor(parts: IntakeParts) {
    this.#parts = parts
    this.#known = new KnownCycles(parts.store)
  }

  /**
   * Refuses a large body while it arrives: throws `unavailable` if too many cycles wait. `start`: its first bytes, empty
   * when they are compressed. `bytesMax`: how long the body may become.
   */
  admit(start: Uint8Array, bytesMax: number): void {
    const peekedId = bytesMax > smallBytesMax ? peekCycleId(start) : null
    if (peekedId !== null && this.#isFull && this.#isUnknown(peekedId)) throw this.#tooManyCycles()
  }

  /**
   * The response to the body of a cycle: computed, or the stored one. Throws `ServiceError`: 400, 409, 422, 503. When the
   * promise has settled, nothing depends on `body`. When `signal` is aborted, because the client has
   * disconnected, the call leaves the queue in which it waits; a new cycle that was admitted is completed.
   */
  async submit(
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    this.#isUsed = true
    const submission = new Submission(body)
    try {
      const repeated = await this.#sameBytes(submission, signal)
      if (repeated !== null) return repeated
      const cycle = await this.#decode(submission, signal)
      stages.lap('decode')
      const known = this.#known.lookup(cycle.cycleId)
      if (known.kind === 'unknown') return await this.#score(submission, cycle, receivedAtMs, stages)
      return await this.#known.repeat(known, cycle.cycleId, body, signal)
    } finally {
      await submission.end()
    }
  }

  /** True once a body of a cycle has arrived. */
  get isUsed(): boolean {
    return this.#isUsed
  }

  /** The response of a stored cycle if it is in memory. Null: it must be read; undefined: there is none. */
  responseInMemory(cycleId: string): Uint8Array | null | undefined {
    return this.#known.responseInMemory(cycleId)
  }

  /** The response of a stored cycle. Throws `not_found`. */
  response(cycleId: string): Uint8Array {
    return this.#known.response(cycleId)
  }

  /** The bytes of this length that arrived a short time ago, JSON or gzip. They do not change. */
  repeatedBytes(length: number): Uint8Array | undefined {
    return this.#repeated.ofLength(length)
  }

  /**
   * The cycle that these bytes, JSON or gzip, were a short time ago, with its response: it is recognised without a hash, and gzip
   * without decompression. Bytes with another encoding than then are another body.
   */
  repeatedBefore(arrived: Uint8Array, isGzip: boolean): AnsweredCycle | undefined {
    const repeated = this.#repeated.find(arrived)
    return repeated?.isGzip === isGzip ? this.#known.storedAsBefore(repeated.cycle) : undefined
  }

  /** See `KnownCycles.cyclesExpire`. */
  cyclesExpire(position: Position): void {
    this.#known.cyclesExpire(position)
  }

  /** See `KnownCycles.forgetResponses`. */
  forgetResponses(): void {
    this.#known.forgetResponses()
  }

  /** The response to a body with the bytes of a known cycle; null for any other. */
  async #sameBytes(submission: Submission, signal: AbortSignal | undefined): Promise<Uint8Array | null> {
    const { body } = submission
    if (body.peekedId === null) return null
    const known = this.#known.lookup(body.peekedId)
    const response = await this.#known.responseToSameBytes(known, body, signal)
    if (response !== null && known.kind === 'stored')
      this.#repeated.keep(body.gzip ?? body.json, { cycle: known.cycle, isGzip: body.gzip !== null })
    return response
  }

  async #decode(submission: Submission, signal: AbortSignal | undefined): Promise<CycleColumns> {
    const { json, peekedId } = submission.body
    await this.#decodeTurns.run(nextTurn, signal)
    if (peekedId !== null && json.length > smallBytesMax && this.#isUnknown(peekedId)) {
      if (this.#isFull) throw this.#tooManyCycles()
      // A large body is compressed while it is decoded, a small one while the model computes.
      if (json.length >= threadBytesMin) submission.startPacking()
    }
    return readCycle(json, signal)
  }

  /** Scores and stores a new cycle. Calls with its id join it from now on. */
  async #score(
    submission: Submission,
    cycle: CycleColumns,
    receivedAtMs: number,
    stages: StageClock,
  ): Promise<Uint8Array> {
    this.#checkTimes(cycle, receivedAtMs)
    if (this.#isFull) throw this.#tooManyCycles()
    const { body } = submission
    const beganAtMs = performance.now()
    const stored = this.#parts.score({ cycle, body, packed: () => submission.packed(), receivedAtMs, stages })
    this.#known.begin({ cycleId: cycle.cycleId, json: body.json, stored })
    try {
      const { cycle: storedCycle, response } = await stored
      // A retry of it need not be decompressed. JSON shows its id, and is compared with the stored one.
      if (body.gzip !== null) this.#repeated.keep(body.gzip, { cycle: storedCycle, isGzip: true })
      return response
    } finally {
      this.#recordWork(beganAtMs)
    }
  }

  /** Only for an id that is not stored: a repeat gets its response whatever the clock says. */
  #checkTimes(cycle: CycleColumns, receivedAtMs: number): void {
    const skewMs = this.#parts.limits().clockSkewMs
    this.#parts.onTimes(cycle, receivedAtMs, skewMs)
    const refusal = checkTimes(cycle, { nowMs: receivedAtMs, skewMs })
    if (refusal !== null) throw refusal
  }

  /** 503 with the time after which to try again: without a reservation of that time, those refused return together. */
  #tooManyCycles(): ServiceError {
    const { cyclesWaitingMax } = this.#parts.limits()
    const retryAfterS = this.#retrySchedule.reserve(this.#known.inProgressCount, cyclesWaitingMax + 1)
    return new ServiceError({ code: 'too_many_cycles' }, { retryAfterS })
  }

  /** A cycle that was begun has ended. The time in which it waited for the one before it does not count as work. */
  #recordWork(beganAtMs: number): void {
    const nowMs = performance.now()
    this.#retrySchedule.recordWork(nowMs - Math.max(beganAtMs, this.#endedAtMs))
    this.#endedAtMs = nowMs
  }

  get #isFull(): boolean {
    return this.#known.inProgressCount > this.#parts.limits().cyclesWaitingMax
  }

  #isUnknown(cycleId: string): boolean {
    return this.#known.lookup(cycleId).kind === 'unknown'
  }
}

/** One call while it is in the intake, with what it holds until its end. */
class Submission {
  readonly body: RequestBody
  #packing: Promise<PackedRequest> | null = null
  #hasEnded = false

  constructor(body: RequestBody) {
    this.body = body
  }

  /** The body as the store keeps it, compressed when this is called first. */
  packed(): Promise<PackedRequest> {
    assert(!this.#hasEnded, 'a body is packed before the end of its call')
    return (this.#packing ??= packRequest(this.body))
  }

  startPacking(): void {
    // It may fail before it is awaited.
    this.packed().catch(() => undefined)
  }

  /** Resolves when nothing reads the body, also that of a refused cycle. */
  async end(): Promise<void> {
    assert(!this.#hasEnded, 'a call ends once')
    this.#hasEnded = true
    await this.#packing?.catch(() => undefined)
  }
}
