/**
 * Outcomes that contradict the stored cycles and models. They are stored as they are; a warning in the log lists them, because the
 * contract has no place for them in the response.
 */
import { nextTurn } from '../base/index.js'
import { parseInstant, tierCodes, type Outcome } from '../contract/index.js'

/** What outcomes are compared with. */
export interface KnownFacts {
  /** True for a post that is pending, and for one that left the pool in the last seven days. */
  readonly isRecent: (gallId: string, postNo: number) => boolean
  /** True for a version that this data directory has loaded. */
  readonly isVersion: (modelVersion: string) => boolean
  /** A later `placed_at` is in the future. */
  readonly nowMs: number
}

/** Fields of the warning: how many outcomes have each contradiction, and the paths of the first ones. */
export interface Contradictions {
  readonly unknown_tier: number
  readonly unknown_post: number
  readonly unknown_model_version: number
  readonly placed_in_future: number
  readonly paths: readonly string[]
}

const pathsMax = 5
/** Outcomes that are checked between two turns of the event loop. */
const checkedPerTurn = 200

/** `records`: the outcomes of one body as JSON, in its order. Null when none contradicts. */
export async function findContradictions(
  records: readonly Uint8Array[],
  { isRecent, isVersion, nowMs }: KnownFacts,
): Promise<Contradictions | null> {
  const counts = { unknown_tier: 0, unknown_post: 0, unknown_model_version: 0, placed_in_future: 0 }
  const paths: string[] = []
  for (const [index, record] of records.entries()) {
    if (index % checkedPerTurn === 0) await nextTurn()
    const { tier, gall_id, post_no, picked_by, placed_at } = JSON.parse(
      Buffer.from(record).toString(),
    ) as Outcome
    const { model_version } = picked_by
    const note = (kind: keyof typeof counts, member: string): void => {
      counts[kind]++
      if (paths.length < pathsMax) paths.push(`outcomes[${index}].${member}`)
    }
    if (!tierCodes.includes(tier)) note('unknown_tier', 'tier')
    if (!isRecent(gall_id, post_no)) note('unknown_post', 'post_no')
    if (model_version !== undefined && !isVersion(model_version))
      note('unknown_model_version', 'picked_by.model_version')
    if ((parseInstant(placed_at)?.ms ?? 0) > nowMs) note('placed_in_future', 'placed_at')
  }
  return paths.length === 0 ? null : { ...counts, paths }
}
