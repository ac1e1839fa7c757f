/**
 * Client faults, drawn per cycle: lost responses, broken connections, duplicate calls, client restarts. They change
 * how a cycle is sent and never what it contains.
 */
import { Rng } from './rng.js'

/**
 * What happens to the first call of a cycle. response-lost: the response is read, dropped and requested again.
 * body-cut, response-unread: see `BrokenCall`. duplicate: the call is sent twice at the same time.
 */
export type DeliveryFault = 'none' | 'response-lost' | 'body-cut' | 'response-unread' | 'duplicate'

export interface CycleFaults {
  readonly delivery: DeliveryFault
  /** Repeated calls carry the same JSON value with its members in another order. */
  readonly reserialised: boolean
  /** The response is compared with that of `GET /v1/scores/{cycle_id}`. */
  readonly compared: boolean
  /** Which earlier response is read again, as a share of those recorded; null for none. */
  readonly reread: number | null
  /** After the cycle the client restarts: it closes its connections and repeats the last call. */
  readonly restarted: boolean
  /** The response to the first image of the cycle is lost. */
  readonly uploadLost: boolean
  /** Decides the rest, such as gzip. */
  readonly rng: Rng
}

const kinds: readonly DeliveryFault[] = ['none', 'response-lost', 'body-cut', 'response-unread', 'duplicate']
const kindWeights = [72, 10, 6, 7, 5]

export function drawFaults(seed: number | string, cycleIndex: number, enabled: boolean): CycleFaults {
  const rng = new Rng(seed, 'mishaps', cycleIndex)
  const drawn: CycleFaults = {
    delivery: kinds[rng.weighted(kindWeights)] as DeliveryFault,
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
export function reordered(value: unknown, rng: Rng): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, rng))
  if (typeof value !== 'object' || value === null) return value
  const members = rng.shuffled(Object.entries(value))
  return Object.fromEntries(members.map(([name, member]) => [name, reordered(member, rng)]))
}
