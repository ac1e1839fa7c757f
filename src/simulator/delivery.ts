/**
 * Sends one cycle to the service, with client faults: lost responses, broken connections, duplicate calls, client
 * restarts. They change how a cycle is sent and never what it contains, so all responses to it must be the same bytes.
 */
import { createHash } from 'node:crypto'
import { mebibyte } from '../base/index.js'
import type { Call, Reply } from '../client/index.js'
import type { CycleRequest, PostKey } from '../contract/index.js'
import { textOf, type Api } from './api.js'
import { ContractViolation, SimulationError } from './errors.js'
import { Rng } from './rng.js'

/** Larger bodies are not indented: they could exceed the size limit of a body. */
const indentedCharsMax = mebibyte

/**
 * What happens to the first call of a cycle. response-lost: the response is read, dropped and requested again.
 * body-cut, response-unread: see `AbortedCall`. duplicate: the call is sent twice at the same time.
 */
export type DeliveryFault = 'none' | 'response-lost' | 'body-cut' | 'response-unread' | 'duplicate'

const kinds: readonly DeliveryFault[] = ['none', 'response-lost', 'body-cut', 'response-unread', 'duplicate']
const kindWeights = [72, 10, 6, 7, 5]

export interface CycleFaults {
  readonly delivery: DeliveryFault
  /** Repeated calls carry the same JSON value with its members in another order. */
  readonly reserialised: boolean
  /** The response is compared with that of `GET /v1/scores/{cycle_id}`. */
  readonly compared: boolean
  /** Which earlier response is read again, as a share of those recorded; null for none. */
  readonly reread: number | null
  /** The client restarts after the cycle: it repeats the last call. */
  readonly restarted: boolean
  /** The response to the first image of the cycle is lost. */
  readonly uploadLost: boolean
  /** Decides the rest, such as gzip. */
  readonly rng: Rng
}

export function drawFaults(seed: number | string, cycleIndex: number, enabled: boolean): CycleFaults {
  const rng = new Rng(seed, 'faults', cycleIndex)
  const drawn: CycleFaults = {
    delivery: kinds[rng.weighted(kindWeights)]!,
    reserialised: rng.chance(0.5),
    compared: rng.chance(0.1),
    reread: rng.chance(0.2) ? rng.next() : null,
    restarted: rng.chance(0.05),
    uploadLost: rng.chance(0.1),
    rng,
  }
  return enabled ? drawn : { ...drawn, delivery: 'none', restarted: false, uploadLost: false }
}

/** The same JSON value with the members of every object in another order. */
export function reorder(value: unknown, rng: Rng): unknown {
  if (Array.isArray(value)) return value.map((item) => reorder(item, rng))
  if (typeof value !== 'object' || value === null) return value
  const members = rng.shuffled(Object.entries(value))
  return Object.fromEntries(members.map(([name, member]) => [name, reorder(member, rng)]))
}

export interface DeliveryTools {
  readonly api: Api
  readonly responses: ResponseDigests
  readonly isOwn: (post: PostKey) => boolean
}

/** The response, and the duration of the call in ms; null if a fault makes the duration meaningless. */
export async function deliver(
  { api, responses, isOwn }: DeliveryTools,
  request: CycleRequest,
  faults: CycleFaults,
): Promise<{ readonly response: Uint8Array; readonly tookMs: number | null }> {
  const { cycle_id: cycleId } = request
  const call = await api.cycleCall(JSON.stringify(request), faults.rng)
  const send = async (sent: Call, context: string): Promise<Reply> => {
    const reply = await api.sendCycle(sent)
    if (reply.status === 409) {
      // Another client owns the cycle id, or the service takes two spellings of one value for two values.
      const stored = await api.storedResult(cycleId)
      if (stored !== null && !stored.posts.some(isOwn))
        throw new SimulationError('occupied', `cycle ${cycleId} belongs to another client`)
      api.fail(call, 'status', 200, `409 ${textOf(reply.body)}`)
    }
    responses.check(cycleId, reply.body, context)
    return reply
  }
  const repeated = async (): Promise<Call> => (faults.reserialised ? reserialize(api, request, faults) : call)

  switch (faults.delivery) {
    case 'body-cut':
    case 'response-unread':
      await api.abortCall(call, faults.delivery)
      return { response: (await send(await repeated(), 'after a broken call')).body, tookMs: null }
    case 'duplicate': {
      const duplicate = await repeated()
      const [first] = await Promise.all([send(call, 'of a duplicate'), send(duplicate, 'of a duplicate')])
      return { response: first.body, tookMs: null }
    }
    case 'response-lost':
    case 'none': {
      const { body, ms, retryCount } = await send(call, 'first call')
      if (faults.delivery === 'response-lost') await send(await repeated(), 'sent again')
      return { response: body, tookMs: retryCount === 0 ? ms : null }
    }
  }
}

/** The same request, written in another way. */
function reserialize(api: Api, request: CycleRequest, faults: CycleFaults): Promise<Call> {
  const value = reorder(request, faults.rng)
  const json = JSON.stringify(value)
  const indented = json.length < indentedCharsMax && faults.rng.chance(0.5)
  return api.cycleCall(indented ? JSON.stringify(value, null, 1) : json, faults.rng)
}

/**
 * Responses of past cycles never change (docs/contract.md, Idempotency). This keeps a digest of each response and
 * compares every later response for the same cycle with it.
 */
export class ResponseDigests {
  private readonly digests = new Map<string, string>()
  /** Stored responses read again and found unchanged. */
  rereadCount = 0

  /** Records the first response of a cycle; throws when a later one differs from it in any byte. */
  check(cycleId: string, response: Uint8Array, context: string): void {
    const digest = createHash('sha256').update(response).digest('hex')
    const known = this.digests.get(cycleId) ?? digest
    this.digests.set(cycleId, known)
    if (known === digest) return
    const received = `${digest} (${response.length} bytes)`
    throw new ContractViolation(`SHA-256 of the response, ${context}`, known, received, cycleId)
  }

  /** Reads a stored response again. */
  async reread(api: Api, cycleId: string): Promise<void> {
    const response = await api.storedResponse(cycleId)
    if (response === null) {
      const path = `GET /v1/scores/${cycleId}: status`
      throw new ContractViolation(path, 200, '404: a stored response is lost', cycleId)
    }
    this.check(cycleId, response, 'read again')
    this.rereadCount++
  }

  /** Reads again the response at `share`, 0 ≤ share < 1, of those recorded so far. */
  async rereadAt(api: Api, share: number): Promise<void> {
    const cycleId = [...this.digests.keys()][Math.floor(share * this.digests.size)]
    if (cycleId !== undefined) await this.reread(api, cycleId)
  }

  /** Reads again the latest responses, up to `countMax`. */
  async rereadLatest(api: Api, countMax: number): Promise<void> {
    for (const cycleId of [...this.digests.keys()].slice(-countMax)) await this.reread(api, cycleId)
  }
}
