/**
 * Scores of each post in the newest cycles. The page's ranking, sparklines and timelines read them. A track refers to the
 * columns of its cycle, which never change, so it costs the cycle nothing; whatever is derived from them is made when
 * somebody looks. Bounded by cycles and by rows, and lost at a restart; the store keeps all cycles.
 */
import {
  assert,
  averageRank,
  countsInSorted,
  GalleryTable,
  headNames,
  outcomeCodeOf,
  type CounterName,
  type CycleResponse,
  type HeadColumns,
  type HeadName,
} from '../contract/index.js'
import type { CycleStored } from '../cycle/index.js'
import { SlotIndex, type PostKeys } from '../pool/index.js'

export const trackCounters = ['views', 'up', 'down', 'comment_cnt'] as const satisfies readonly CounterName[]
export type TrackCounter = (typeof trackCounters)[number]

interface TrackParts {
  readonly cycleId: string
  readonly cycleTime: string
  readonly modelVersion: string
  readonly weightsVersion: string
  readonly keys: PostKeys & { readonly index: SlotIndex }
  /** Index into `outcomeCodes`, by slot. */
  readonly outcomes: Uint8Array
  /** The slots that were scored; the other columns have a row for each. */
  readonly scoredSlots: ArrayLike<number>
  readonly scores: Float32Array
  readonly heads: HeadColumns
  /** Latest readings by slot; null: the response of a stored cycle does not have them. */
  readonly counters: Readonly<Record<TrackCounter, Float64Array>> | null
}

export interface Rank {
  /** 1 is the highest score, equal scores share their average rank; null: the post has no score. */
  readonly rank: number | null
  /** Posts that have a score. */
  readonly of: number
}

/** The pending posts after one cycle: slots in order of entry. A value that is missing is null. */
export class Track {
  readonly #parts: TrackParts
  /** One per slot; -1 for none. */
  #scoredRows: Int32Array | null = null
  #ascending: Float32Array | null = null

  constructor(parts: TrackParts) {
    const { keys, outcomes, scoredSlots, scores, counters } = parts
    assert(keys.postNo.length === outcomes.length, 'a track has an outcome for each post')
    assert(scoredSlots.length === scores.length, 'a track has a score for each scored post')
    assert(
      counters === null || counters.views.length === outcomes.length,
      'a track has counters of each post',
    )
    this.#parts = parts
  }

  get cycleId(): string {
    return this.#parts.cycleId
  }

  get cycleTime(): string {
    return this.#parts.cycleTime
  }

  get modelVersion(): string {
    return this.#parts.modelVersion
  }

  get weightsVersion(): string {
    return this.#parts.weightsVersion
  }

  /** Pending posts. */
  get count(): number {
    return this.#parts.outcomes.length
  }

  get scores(): Float32Array {
    return this.#parts.scores
  }

  /** The slot of a post; -1 for none. */
  find(gallId: string, postNo: number): number {
    return this.#parts.keys.index.findPost(gallId, postNo)
  }

  /** `find` with a hint: the slot that the post has in most cases. */
  findNear(gallId: string, postNo: number, hint: number): number {
    const { keys } = this.#parts
    const isThere = keys.postNo[hint] === postNo && keys.galleries[keys.gallery[hint]!] === gallId
    return isThere ? hint : this.find(gallId, postNo)
  }

  /** Index into `outcomeCodes`. */
  outcomeAt(slot: number): number {
    return this.#parts.outcomes[slot]!
  }

  scoreAt(slot: number): number | null {
    return this.#valueAt(this.#parts.scores, slot)
  }

  headAt(name: HeadName, slot: number): number | null {
    return this.#valueAt(this.#parts.heads[name], slot)
  }

  counterAt(name: TrackCounter, slot: number): number | null {
    return numberOrNull(this.#parts.counters?.[name][slot])
  }

  rankAt(slot: number): Rank {
    this.#ascending ??= this.#parts.scores.slice().sort()
    const score = this.scoreAt(slot)
    const of = this.#ascending.length
    if (score === null) return { rank: null, of }
    return { rank: averageRank(countsInSorted(this.#ascending, score)), of }
  }

  #valueAt(column: Float32Array | null, slot: number): number | null {
    this.#scoredRows ??= rowsBySlot(this.#parts.scoredSlots, this.count)
    const row = this.#scoredRows[slot] ?? -1
    return row < 0 ? null : numberOrNull(column?.[row])
  }
}

const trackCountMax = 48
/** About 70 bytes each. */
const rowCountMax = 400_000

export class ScoreTracks {
  #tracks: readonly Track[] = []

  /** Adds it in order of `cycle_time`: a late cycle does not replace the newest scores. */
  add(track: Track): void {
    const time = Date.parse(track.cycleTime)
    const at = this.#tracks.findLastIndex(({ cycleTime }) => Date.parse(cycleTime) <= time) + 1
    const kept = this.#tracks.toSpliced(at, 0, track)
    let rows = kept.reduce((sum, { count }) => sum + count, 0)
    while (kept.length > 1 && (kept.length > trackCountMax || rows > rowCountMax))
      rows -= kept.shift()?.count ?? 0
    this.#tracks = kept
  }

  /** Oldest `cycle_time` first. */
  get all(): readonly Track[] {
    return this.#tracks
  }

  get last(): Track | undefined {
    return this.#tracks.at(-1)
  }
}

function rowsBySlot(slots: ArrayLike<number>, count: number): Int32Array {
  const rows = new Int32Array(count).fill(-1)
  for (let row = 0; row < slots.length; row++) rows[slots[row]!] = row
  return rows
}

/** JSON has neither NaN nor infinities. */
export function numberOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null
}

export function trackOf({ plan, response }: CycleStored): Track {
  const { next, outcomes, scoring } = plan
  const { cycleId, cycleTime, modelVersion, weightsVersion, results } = response
  const { galleries, gallery, postNo, index, latest } = next
  const { views, up, down, comment_cnt } = latest
  return new Track({
    cycleId,
    cycleTime,
    modelVersion,
    weightsVersion,
    // Not the state itself: it has dozens of columns more.
    keys: { galleries, gallery, postNo, index },
    outcomes,
    scoredSlots: scoring.slots,
    scores: results.score,
    heads: results.heads,
    counters: { views, up, down, comment_cnt },
  })
}

/** The track of a stored response, for the time until the next cycle. */
export function trackOfResponse(response: CycleResponse): Track {
  // Unknown posts follow the pending ones.
  const pending = response.results.filter(({ reason }) => reason !== 'unknown_post')
  const galleryTable = new GalleryTable()
  const gallery = Uint32Array.from(pending, ({ gall_id }) => galleryTable.code(gall_id))
  const postNo = Float64Array.from(pending, ({ post_no }) => post_no)
  const keys = { galleries: galleryTable.ids, gallery, postNo }
  const scoredSlots = [...pending.keys()].filter((slot) => pending[slot]?.status === 'scored')
  const column = (name: HeadName | 'score'): Float32Array =>
    Float32Array.from(scoredSlots, (slot) => pending[slot]?.[name] ?? NaN)
  return new Track({
    cycleId: response.cycle_id,
    cycleTime: response.cycle_time,
    modelVersion: response.model_version,
    weightsVersion: response.weights_version,
    keys: { ...keys, index: new SlotIndex(keys) },
    outcomes: Uint8Array.from(pending, outcomeCodeOf),
    scoredSlots,
    scores: column('score'),
    heads: Object.fromEntries(headNames.map((name) => [name, column(name)])) as Record<
      HeadName,
      Float32Array
    >,
    counters: null,
  })
}
