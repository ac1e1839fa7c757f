/**
 * The misfortunes of a client, drawn per cycle: answers lost on the way, calls sent twice, restarts. They change
 * how a cycle is sent and never what it says.
 */
import { Rng } from './rng.js'

/**
 * What happens to the first call of a cycle. discarded: its answer is read, lost, and asked for again. halfway,
 * unread: see `Abandonment`. twins: the call goes out twice at once.
 */
export type Mishap = 'none' | 'discarded' | 'halfway' | 'unread' | 'twins'

export interface CycleFaults {
  readonly mishap: Mishap
  /** Calls after a mishap carry the same value with its members in another order. */
  readonly reserialised: boolean
  /** The answer is compared with that of `GET /v1/scores/{cycle_id}`. */
  readonly compared: boolean
  /** An earlier answer is read again: which one, as a share of those there are. */
  readonly reread: number | null
  /** After the cycle, the client starts afresh: no connections, and the last call once more. */
  readonly restarted: boolean
  /** The answer to the first image of the cycle is lost. */
  readonly uploadLost: boolean
  /** Decides what remains, such as gzip. */
  readonly rng: Rng
}

const mishaps: readonly Mishap[] = ['none', 'discarded', 'halfway', 'unread', 'twins']
const mishapWeights = [72, 10, 6, 7, 5]

export function drawFaults(seed: number | string, cycleIndex: number, enabled: boolean): CycleFaults {
  const rng = new Rng(seed, 'mishaps', cycleIndex)
  const drawn: CycleFaults = {
    mishap: mishaps[rng.weighted(mishapWeights)] as Mishap,
    reserialised: rng.chance(0.5),
    compared: rng.chance(0.1),
    reread: rng.chance(0.2) ? rng.next() : null,
    restarted: rng.chance(0.05),
    uploadLost: rng.chance(0.1),
    rng,
  }
  return enabled ? drawn : { ...drawn, mishap: 'none', restarted: false, uploadLost: false }
}

/** The same JSON value with the members of every object in another order. */
export function reordered(value: unknown, rng: Rng): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, rng))
  if (typeof value !== 'object' || value === null) return value
  const members = rng.shuffled(Object.entries(value))
  return Object.fromEntries(members.map(([name, member]) => [name, reordered(member, rng)]))
}
