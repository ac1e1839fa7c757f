/**
 * Idempotency of cycles (decisions.md 9, 10, 11): one lookup determines whether a cycle id is unknown, in progress, stored or
 * expired, and a repeated body gets the first response byte for byte. There is no hash: bodies are compared, bytes
 * first, then JSON values. Calls with the id of a cycle in progress are coalesced (single flight).
 */
import { runBodyTask } from '../../codec/index.js'
import { assert, ServiceError } from '../../contract/index.js'
import type { ExpiryRecords, Store, StoredCycle, StoredRequest } from '../../store/index.js'
import { unpackRequest } from '../request-body.js'
import { Semaphore } from './semaphore.js'

/** Calls that may wait for one cycle in progress. */
const waiterCountMax = 1000
/** Stored bodies that are decompressed at the same time to be compared byte by byte. */
const byteComparisonsMax = 4
/**
 * Stored bodies that are decompressed at the same time to be compared by value, which can take a quarter of a second.
 * Without a limit, many small calls that name one large cycle would hold its body in memory once each.
 */
const valueComparisonsMax = 4

/** A cycle in progress. */
export interface Flight {
  readonly cycleId: string
  readonly body: Uint8Array
  readonly response: Promise<Uint8Array>
  waiterCount: number
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
  readonly #byteComparisons = new Semaphore(byteComparisonsMax)
  readonly #valueComparisons = new Semaphore(valueComparisonsMax)

  constructor(store: CycleRecords) {
    this.#store = store
  }

  /** The only lookup of a cycle id. */
  lookup(cycleId: string): KnownCycle {
    const flight = this.#flights.get(cycleId)
    if (flight !== undefined) return { kind: 'in progress', flight }
    const cycle = this.#store.findCycle(cycleId)
    if (cycle !== undefined) return { kind: 'stored', cycle }
    return { kind: this.#store.expiry.isExpired(cycleId) ? 'expired' : 'unknown' }
  }

  /** The cycle in progress with this id and exactly these bytes. */
  flightOf(cycleId: string, body: Uint8Array): Flight | null {
    const flight = this.#flights.get(cycleId)
    return flight !== undefined && Buffer.compare(flight.body, body) === 0 ? flight : null
  }

  /** Registers a cycle as in progress until `response` settles. */
  begin(cycleId: string, body: Uint8Array, response: Promise<Uint8Array>): void {
    assert(!this.#flights.has(cycleId), 'one cycle id has one flight')
    this.#flights.set(cycleId, { cycleId, body, response, waiterCount: 0 })
    const end = (): void => {
      this.#flights.delete(cycleId)
    }
    response.then(end, end)
  }

  /** The response of a cycle in progress, when it is stored. Throws `conflict` for a different body. */
  async join(flight: Flight, body: Uint8Array): Promise<Uint8Array> {
    if (flight.waiterCount >= waiterCountMax)
      throw new ServiceError('unavailable', 'too many calls wait for this cycle', { retryAfterS: 1 })
    flight.waiterCount++
    // Compared now: the first body may be reused as soon as its call has its response.
    const isSame = Buffer.compare(flight.body, body) === 0
    const response = await flight.response
    if (isSame) return response
    // The value may still be the same.
    const known = this.lookup(flight.cycleId)
    if (known.kind !== 'stored') throw expiredCycle(flight.cycleId)
    return this.replay(known.cycle, body)
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
  async replay(cycle: StoredCycle, body: Uint8Array): Promise<Uint8Array> {
    const hasSameBytes = await this.#byteComparisons.run(() => this.#hasSameBytes(cycle, body))
    if (!hasSameBytes) await this.#valueComparisons.run(() => this.#checkValue(cycle, body))
    return this.#store.readResponse(cycle.cycleId) ?? this.#missing(cycle)
  }

  async #hasSameBytes(cycle: StoredCycle, body: Uint8Array): Promise<boolean> {
    const request = this.#request(cycle)
    if (request.bodyBytes !== body.length) return false
    return Buffer.compare(await unpackRequest(request), body) === 0
  }

  async #checkValue(cycle: StoredCycle, body: Uint8Array): Promise<void> {
    const stored = await unpackRequest(this.#request(cycle))
    const fields = await runBodyTask('differences', [stored, body])
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
