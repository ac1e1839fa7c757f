/**
 * Calls that come more than once: the answer of a cycle that is stored or under way is given again to the same body,
 * byte for byte, and refused to another one. Identity is the body: bytes are compared first, then values.
 */
import { needsThread, sameJsonAtOnce, sameJsonOffThread } from '../codec/index.js'
import { ServiceError } from '../contract/index.js'
import type { Store, StoredRequest } from '../store/index.js'
import { FewAtATime } from './few-at-a-time.js'
import { unpackRequest } from './request-body.js'

/** Calls with the id of a cycle under way that may wait for its end. */
const followerCountMax = 1000
/** Stored bodies unpacked at a time to be compared byte for byte; past these a call stands in line. */
const unpackedMax = 8
/**
 * Stored bodies unpacked at a time to be compared by value. That may take a quarter of a second and goes on one by one:
 * without a bound, a crowd of small calls would have the large body that they name in memory once for each of them.
 */
const comparedMax = 4
/** The same for those that need a glance only, which do not wait behind the others. */
const glancesMax = 4

/** A cycle under way, for calls that bring the same id meanwhile. */
interface Leader {
  readonly body: Uint8Array
  readonly response: Promise<Uint8Array>
  followerCount: number
}

export class Repeats {
  readonly #store: Store
  readonly #leaders = new Map<string, Leader>()
  readonly #comparing = new FewAtATime(comparedMax)
  readonly #glancing = new FewAtATime(glancesMax)
  #unpackedCount = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** The cycle under way with this id. */
  leader(cycleId: string): Leader | undefined {
    return this.#leaders.get(cycleId)
  }

  /** From now on, and until it has its answer or fails, calls with this id follow this cycle. */
  lead(cycleId: string, body: Uint8Array, response: Promise<Uint8Array>): void {
    const leader: Leader = { body, response, followerCount: 0 }
    this.#leaders.set(cycleId, leader)
    const end = (): void => void this.#leaders.delete(cycleId)
    response.then(end, end)
  }

  /** The answer of a cycle under way, for a call that brings its id. Throws `conflict` for another body. */
  async follow(leader: Leader, cycleId: string, json: Uint8Array): Promise<Uint8Array> {
    if (leader.followerCount >= followerCountMax)
      throw new ServiceError('unavailable', 'too many calls wait for this cycle', { retryAfterS: 1 })
    leader.followerCount++
    // Now, for the leader's body is the server's to use again once it is answered.
    const isSame = Buffer.compare(leader.body, json) === 0
    const response = await leader.response
    if (isSame) return response
    // It may still mean the same.
    return this.replay(cycleId, json)
  }

  /** The answer of a stored cycle, for a call that brings its id. Throws `conflict` for another body. */
  async replay(cycleId: string, json: Uint8Array): Promise<Uint8Array> {
    const answer = await this.#glancing.run(() => this.#glance(cycleId, json))
    return answer ?? this.#comparing.run(() => this.#compare(cycleId, json))
  }

  /** As `replay`, or null where that would take long. */
  async #glance(cycleId: string, json: Uint8Array): Promise<Uint8Array | null> {
    const request = this.#request(cycleId)
    if (needsThread(request.bodyBytes, json.length)) return null
    const isSame = sameJsonAtOnce(await unpackRequest(request), json)
    if (isSame === false) throw otherBody(cycleId)
    return isSame === null ? null : this.#response(cycleId)
  }

  async #compare(cycleId: string, json: Uint8Array): Promise<Uint8Array> {
    const request = this.#request(cycleId)
    if (!(await sameJsonOffThread(await unpackRequest(request), json))) throw otherBody(cycleId)
    return this.#response(cycleId)
  }

  /**
   * The answer to a body that came before, byte for byte: cheap enough to be given while there is no place in the
   * line. Else null: it may still mean the same.
   */
  async sameBytes(cycleId: string, json: Uint8Array): Promise<Uint8Array | null> {
    const leader = this.#leaders.get(cycleId)
    if (leader !== undefined)
      return Buffer.compare(leader.body, json) === 0 ? this.follow(leader, cycleId, json) : null
    if (this.#store.findCycle(cycleId) === undefined || this.#unpackedCount >= unpackedMax) return null
    const request = this.#request(cycleId)
    if (request.bodyBytes !== json.length) return null
    this.#unpackedCount++
    try {
      return Buffer.compare(await unpackRequest(request), json) === 0 ? this.#response(cycleId) : null
    } finally {
      this.#unpackedCount--
    }
  }

  /** Of a cycle that was stored when the call came, as is the answer. It may expire while bodies are compared. */
  #request(cycleId: string): StoredRequest {
    const stored = this.#store.findCycle(cycleId)
    if (stored === undefined) throw expired(cycleId)
    return this.#store.readRequest(stored.position) ?? inPart(cycleId)
  }

  #response(cycleId: string): Uint8Array {
    if (this.#store.findCycle(cycleId) === undefined) throw expired(cycleId)
    return this.#store.readResponse(cycleId) ?? inPart(cycleId)
  }
}

function inPart(cycleId: string): never {
  throw new Error(`cycle ${cycleId} is stored in part`)
}

function otherBody(cycleId: string): ServiceError {
  return new ServiceError('conflict', `cycle ${cycleId} is stored with a different body`)
}

/** What was answered is not known any more, so it can be neither repeated nor compared; nor is it done twice. */
export function expired(cycleId: string): ServiceError {
  return new ServiceError('conflict', `cycle ${cycleId} was answered, and its record has expired`)
}
