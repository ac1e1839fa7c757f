/**
 * Idempotency of cycles (decisions.md 9, 10, 11): one lookup determines whether a cycle id is unknown, in progress, stored or
 * expired, and a repeated body gets the first response byte for byte. There is no hash: bodies are compared, bytes
 * first, then JSON values. Calls with the id of a cycle in progress are coalesced (single flight). A call whose client
 * has disconnected stops waiting.
 */
import { abortable, Semaphore } from '../../base/index.js'
import { runBodyTask } from '../../codec/index.js'
import { assert, ServiceError } from '../../contract/index.js'
import type { ExpiryRecords, Store, StoredCycle, StoredRequest } from '../../store/index.js'
import { unpackRequest } from '../request-body.js'

/** Calls that may wait for cycles in progress. */
const coalescedMax = 1000
/** Stored bodies that are decompressed at the same time to be compared byte by byte. */
const byteComparisonsMax = 4
/**
 * Stored bodies that are decompressed at the same time to be compared by value, which can take a quarter of a second.
 * Without a limit, many small calls that name one large cycle would hold its body in memory once each.
 */
const valueComparisonsMax = 4
const comparisonsWaiting = {
  waitingMax: 256,
  refusal: () => tooMany('too many repeated cycles are waiting to be compared'),
}

/** A cycle in progress. */
export interface Flight {
  readonly cycleId: string
  readonly body: Uint8Array
  readonly response: Promise<Uint8Array>
}

export type KnownCycle =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'in progress'; readonly flight: Flight }
  | { readonly kind: 'stored'; readonly cycle: StoredCycle }
  | { readonly kind: 'expired' }

/** What is read of stored cycles. */
export type CycleRecords = Pick<Store, 'findCycle' | 'readRequest' | 'readResponse'> & {
  readonly expiry: Pick<ExpiryRecords, 'isExpired'>
}

export class Idempotency {
  readonly #store: CycleRecords
  readonly #flights = new Map<string, Flight>()
  readonly #byteComparisons = new Semaphore(byteComparisonsMax, comparisonsWaiting)
  readonly #valueComparisons = new Semaphore(valueComparisonsMax, comparisonsWaiting)
  #coalescedCount = 0

  constructor(store: CycleRecords) {
    this.#store = store
  }

  /** Calls that wait for a cycle in progress. */
  get coalescedCount(): number {
    return this.#coalescedCount
  }

  /** Calls that are compared with a stored cycle, and that wait for it. */
  get comparingCount(): number {
    return this.#byteComparisons.count + this.#valueComparisons.count
  }

  /** The only lookup of a cycle id. */
  lookup(cycleId: string): KnownCycle {
    const flight = this.#flights.get(cycleId)
    if (flight !== undefined) return { kind: 'in progress', flight }
    const cycle = this.#store.findCycle(cycleId)
    if (cycle !== undefined) return { kind: 'stored', cycle }
    return { kind: this.#store.expiry.isExpired(cycleId) ? 'expired' : 'unknown' }
  }

  /** The cycle in progress with this id. */
  flightOf(cycleId: string): Flight | null {
    return this.#flights.get(cycleId) ?? null
  }

  /** Registers a cycle as in progress until `response` settles. */
  begin(cycleId: string, body: Uint8Array, response: Promise<Uint8Array>): void {
    assert(!this.#flights.has(cycleId), 'one cycle id has one flight')
    this.#flights.set(cycleId, { cycleId, body, response })
    const end = (): void => {
      this.#flights.delete(cycleId)
    }
    response.then(end, end)
  }

  /** The response of a cycle in progress to a call with the same bytes, when it is stored. */
  async join(flight: Flight, signal?: AbortSignal): Promise<Uint8Array> {
    if (this.#coalescedCount >= coalescedMax) throw tooMany('too many calls wait for a cycle in progress')
    this.#coalescedCount++
    try {
      return await abortable(flight.response, signal)
    } finally {
      this.#coalescedCount--
    }
  }

  /** As `join`, for a call with other bytes, whose value may still be the same. Throws `conflict` for a different body. */
  async joinOther(flight: Flight, body: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    await this.join(flight, signal)
    const known = this.lookup(flight.cycleId)
    if (known.kind !== 'stored') throw expiredCycle(flight.cycleId)
    return this.replay(known.cycle, body, signal)
  }

  /**
   * True for a stored cycle with this body, false for an unknown id. Throws `conflict` for a different body, and for a cycle
   * whose record has expired.
   */
  async findRepeat(cycleId: string, body: Uint8Array): Promise<boolean> {
    const known = this.lookup(cycleId)
    if (known.kind === 'expired') throw expiredCycle(cycleId)
    if (known.kind === 'stored') await this.replay(known.cycle, body)
    return known.kind !== 'unknown'
  }

  /** The response of a stored cycle. Throws `conflict` for a different body, and for a cycle that expires meanwhile. */
  async replay(cycle: StoredCycle, body: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    const hasSameBytes = await this.#byteComparisons.run(() => this.#hasSameBytes(cycle, body), signal)
    if (!hasSameBytes) await this.#valueComparisons.run(() => this.#checkValue(cycle, body, signal), signal)
    return this.#store.readResponse(cycle.cycleId) ?? this.#missing(cycle)
  }

  async #hasSameBytes(cycle: StoredCycle, body: Uint8Array): Promise<boolean> {
    const request = this.#request(cycle)
    if (request.bodyBytes !== body.length) return false
    return Buffer.compare(await unpackRequest(request), body) === 0
  }

  async #checkValue(cycle: StoredCycle, body: Uint8Array, signal?: AbortSignal): Promise<void> {
    const stored = await unpackRequest(this.#request(cycle))
    const fields = await runBodyTask('differences', [stored, body], { signal })
    if (fields.length > 0)
      throw new ServiceError('conflict', `cycle ${cycle.cycleId} is stored with a different body`, { fields })
  }

  #request(cycle: StoredCycle): StoredRequest {
    return this.#store.readRequest(cycle.position) ?? this.#missing(cycle)
  }

  /** A cycle can expire between its lookup and a read. */
  #missing({ cycleId }: StoredCycle): never {
    assert(this.#store.expiry.isExpired(cycleId), `cycle ${cycleId} has its request and its response`)
    throw expiredCycle(cycleId)
  }
}

/** The record has been deleted: the response cannot be repeated, the body cannot be compared, and the cycle is not scored again. */
export function expiredCycle(cycleId: string): ServiceError {
  return new ServiceError('conflict', `cycle ${cycleId} has already been scored, and its record has expired`)
}

function tooMany(message: string): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterS: 1 })
}
