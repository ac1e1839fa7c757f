/**
 * Idempotency of cycles (docs/contract.md): one lookup determines whether a cycle id is unknown, in progress, stored or
 * expired, and a repeated body gets the first response byte for byte. A body with other bytes than the stored one is
 * compared with it as a JSON value. Calls with the id of a cycle in progress are coalesced (single
 * flight). A call whose client has disconnected stops waiting.
 */
import { abortable, clipText, mebibyte, Semaphore } from '../../base/index.js'
import { runBodyTask } from '../../codec/index.js'
import { assert, ServiceError } from '../../contract/index.js'
import type { ExpiryRecords, Position, Store, StoredCycle, StoredRequest } from '../../store/index.js'
import { unpackRequest, type RequestBody } from './request-body.js'
import { StoredResponses, type AnsweredCycle } from './stored-responses.js'

/** For the responses in memory: some thirty with 5,000 posts each. */
const responseBytesMax = 32 * mebibyte

/** A cycle in progress. */
export interface Flight {
  readonly cycleId: string
  /** Its body, which does not change meanwhile. */
  readonly json: Uint8Array
  readonly stored: Promise<AnsweredCycle>
}

export type KnownCycle =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'in progress'; readonly flight: Flight }
  | { readonly kind: 'stored'; readonly cycle: StoredCycle }
  | { readonly kind: 'expired' }

/** What is read of stored cycles. */
export type CycleReader = Pick<Store, 'findCycle' | 'readRequest' | 'readResponse'> & {
  readonly expiry: Pick<ExpiryRecords, 'isExpired'>
}

export class KnownCycles {
  readonly #store: CycleReader
  readonly #flights = new Map<string, Flight>()
  readonly #responses: StoredResponses
  /**
   * One stored body at a time is decompressed to be compared by value, which can take a quarter of a second: many small
   * calls that name one large cycle would hold its body in memory once each.
   */
  readonly #valueComparisons = new Semaphore(1)

  constructor(store: CycleReader) {
    this.#store = store
    this.#responses = new StoredResponses(responseBytesMax)
  }

  /** The cycle that is being scored, and those that wait for it. */
  get inProgressCount(): number {
    return this.#flights.size
  }

  /** The only lookup of a cycle id. */
  lookup(cycleId: string): KnownCycle {
    const flight = this.#flights.get(cycleId)
    if (flight !== undefined) return { kind: 'in progress', flight }
    const cycle = this.#responses.find(cycleId)?.cycle ?? this.#store.findCycle(cycleId)
    if (cycle !== undefined) return { kind: 'stored', cycle }
    return { kind: this.#store.expiry.isExpired(cycleId) ? 'expired' : 'unknown' }
  }

  /** Registers a cycle as in progress until `stored` settles, and then keeps its response in memory as the newest one. */
  begin(flight: Flight): void {
    const { cycleId, stored } = flight
    assert(!this.#flights.has(cycleId), 'one cycle id has one flight')
    this.#flights.set(cycleId, flight)
    const end = (): void => {
      this.#flights.delete(cycleId)
    }
    stored.then((newest) => {
      end()
      this.#responses.keepNewest(newest)
    }, end)
  }

  /** The response of a cycle in progress to a call with the same bytes, when it is stored. */
  async join(flight: Flight, signal?: AbortSignal): Promise<Uint8Array> {
    const { response } = await abortable(flight.stored, signal)
    return response
  }

  /**
   * The response to a body with the bytes of a known cycle: when the cycle in progress is stored, at once for a stored one.
   * Null for other bytes, which may still have the same value.
   */
  async responseToSameBytes(
    known: KnownCycle,
    body: RequestBody,
    signal?: AbortSignal,
  ): Promise<Uint8Array | null> {
    if (known.kind === 'in progress')
      return Buffer.compare(known.flight.json, body.json) === 0 ? this.join(known.flight, signal) : null
    if (known.kind !== 'stored') return null
    const { cycle } = known
    const stored = this.#request(cycle)
    if (stored.bodyBytes !== body.json.length) return null
    // The call holds a body of this size itself: this needs no limit of its own.
    return (await unpackRequest(stored)).equals(body.json) ? this.#response(cycle) : null
  }

  /** The response to a repeat of a known cycle. Throws `conflict` for a different body, and for a cycle that has expired. */
  async repeat(
    known: Exclude<KnownCycle, { kind: 'unknown' }>,
    cycleId: string,
    body: RequestBody,
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    const response = await this.responseToSameBytes(known, body, signal)
    if (response !== null) return response
    const cycle = known.kind === 'in progress' ? await this.#stored(known.flight, signal) : known
    if (cycle.kind !== 'stored') throw expiredCycle(cycleId)
    await this.#valueComparisons.run(() => this.#checkValue(cycle.cycle, body.json, signal), signal)
    return this.#response(cycle.cycle)
  }

  /** The response of a stored cycle. Undefined: there is none; null: there is one, but not in memory. */
  responseInMemory(cycleId: string): Uint8Array | null | undefined {
    const kept = this.#responses.find(cycleId)
    return kept?.response ?? (this.#store.findCycle(cycleId) && null)
  }

  /** The response of a stored cycle. Throws `not_found`. */
  response(cycleId: string): Uint8Array {
    const cycle = this.#responses.find(cycleId)?.cycle ?? this.#store.findCycle(cycleId)
    const response = cycle && this.#read(cycle)
    if (response === undefined)
      throw new ServiceError({ code: 'unknown_cycle', cycle_id: clipText(cycleId, 40) })
    return response
  }

  /** The cycle that was known as `before`, with its response, unless another has taken its place. */
  storedAsBefore(before: StoredCycle): AnsweredCycle | undefined {
    const known = this.lookup(before.cycleId)
    if (known.kind !== 'stored') return undefined
    const { cycle } = known
    // A cycle that another has replaced in the journal may have the same id.
    const isSame = cycle.position === before.position && cycle.receivedAt === before.receivedAt
    return isSame ? { cycle, response: this.#response(cycle) } : undefined
  }

  /** The cycles up to a position are about to be removed: from now on, the store decides whether they have responses. */
  cyclesExpire(position: Position): void {
    this.#responses.expireUpTo(position)
  }

  /** Any cycles may have been replaced. */
  forgetResponses(): void {
    this.#responses.dropUpTo(Infinity)
  }

  #response(cycle: StoredCycle): Uint8Array {
    return this.#read(cycle) ?? this.#missing(cycle)
  }

  #read(cycle: StoredCycle): Uint8Array | undefined {
    const known = this.#responses.find(cycle.cycleId)
    if (known !== undefined) return known.response
    const response = this.#store.readResponse(cycle.cycleId)
    if (response !== undefined) this.#responses.keep(cycle, response)
    return response
  }

  /** What a cycle in progress has become. */
  async #stored(flight: Flight, signal?: AbortSignal): Promise<KnownCycle> {
    await this.join(flight, signal)
    return this.lookup(flight.cycleId)
  }

  async #checkValue(cycle: StoredCycle, body: Uint8Array, signal?: AbortSignal): Promise<void> {
    const stored = await unpackRequest(this.#request(cycle))
    const fields = await runBodyTask('differences', [stored, body], { signal })
    if (fields.length > 0) throw new ServiceError({ code: 'other_body', cycle_id: cycle.cycleId }, { fields })
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
  return new ServiceError({ code: 'expired_cycle', cycle_id: cycleId })
}
